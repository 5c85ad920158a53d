"""Whatever a model answers, a question ends within its budget: with a stop reason or one error."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from skr_core.budget import Budget, Price
from skr_core.errors import ModelError, SKRError
from skr_core.settings import WhenInsufficient
from skr_core.testing import ScriptedModel
from skr_core.types import Generation, Prompt, Reference, StopReason, Usage
from skr_graphs import answer_of, create_self_completion_graph

QUESTION = "What is the capital of France?"
PRICE = Price(1_000_000.0, 1_000_000.0)
"""A dollar a token."""

REPLIES = st.one_of(
    st.sampled_from(
        [
            "SUFFICIENT\nParis [1].",
            "SUFFICIENT\nParis.",
            "INSUFFICIENT\nPerhaps Paris [1].\nSearch: France",
            "INSUFFICIENT\nSearch: a\nSearch: b\nSearch: c",
            "INSUFFICIENT",
            "I don't know.",
            "<think>" * 50,
            "",
            "Search: " + "x" * 5_000,
        ]
    ),
    st.text(max_size=200),
    st.sampled_from(
        [ModelError("out of order"), ModelError("the maximum context length is 10 tokens")]
    ),
)
BUDGETS = st.builds(
    Budget,
    max_rounds=st.integers(1, 3),
    max_references=st.integers(1, 4),
    max_calls=st.none() | st.integers(1, 5),
    max_tokens=st.none() | st.integers(1, 3_000),
    max_spend=st.none() | st.floats(1, 3_000),
    price=st.just(PRICE),
)


class Whatever:
    """Says what it is told to, or fails, and finds something for any query."""

    name = "whatever"

    def __init__(self, replies: list[str | Exception]) -> None:
        self.replies = replies
        self.usages: list[Usage] = []
        self.calls = 0

    def generate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        reply = self.replies[self.calls % len(self.replies)]
        self.calls += 1
        if isinstance(reply, Exception):
            raise reply
        made = ScriptedModel([reply]).generate(prompt, on_token=on_token)
        self.usages.append(made.usage)
        return made

    async def agenerate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        return self.generate(prompt, on_token=on_token)

    def retrieve(self, query: str) -> list[Reference]:
        return [Reference.of(f"Passage {number} on {query}") for number in range(3)]

    async def aretrieve(self, query: str) -> list[Reference]:
        return self.retrieve(query)


@settings(max_examples=60)
@given(
    replies=st.lists(REPLIES, min_size=1, max_size=6),
    budget=BUDGETS,
    decompose=st.booleans(),
    when_insufficient=st.sampled_from(get_args(WhenInsufficient)),
    blocking=st.booleans(),
    streamed=st.booleans(),
)
def test_a_question_ends_within_its_budget(
    replies: list[str | Exception],
    budget: Budget,
    decompose: bool,
    when_insufficient: Any,
    blocking: bool,
    streamed: bool,
) -> None:
    model = Whatever(replies)
    graph = create_self_completion_graph(
        model=model,
        retriever=model,
        budget=budget,
        decompose=decompose,
        when_insufficient=when_insufficient,
    ).compile()
    asked: Any = {"question": QUESTION}
    context: Any = {"stream": streamed}
    try:
        if blocking:
            output = graph.invoke(asked, context=context)
        else:
            output = asyncio.run(graph.ainvoke(asked, context=context))
    except SKRError:
        pass
    else:
        answer = answer_of(output)
        assert answer.stop_reason in get_args(StopReason)
        assert len(answer.rounds) <= budget.max_rounds
        assert len(answer.references) <= budget.max_references
    if budget.max_calls is not None:
        assert model.calls <= budget.max_calls
    before_the_last = sum((each.total_tokens for each in model.usages[:-1]), 0)
    for limit in (budget.max_tokens, budget.max_spend):
        assert limit is None or before_the_last < limit


def test_a_prompt_that_is_refused_for_its_length_is_a_call() -> None:
    for calls, asked in ((1, 1), (2, 2)):
        model = Whatever([ModelError("the maximum context length is 10 tokens"), "Paris [1]."])
        graph = create_self_completion_graph(
            model=model, retriever=model, budget=Budget(max_calls=calls)
        ).compile()
        try:
            usage = answer_of(graph.invoke({"question": QUESTION})).total_usage
        except ModelError:
            assert calls == 1
        else:
            assert usage.calls == calls
        assert model.calls == asked
