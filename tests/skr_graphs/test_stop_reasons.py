"""Every way out of the loop, sync and async, with the exact number of the model's calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skr_core import (
    Action,
    Budget,
    CandidateAnswer,
    Decision,
    Generation,
    Price,
    Prompt,
    Reference,
    Reflector,
    Router,
    SKRError,
    Usage,
)
from skr_core.errors import ModelError
from skr_core.prompts import REFUSAL
from skr_core.reflectors import JudgeReflector
from skr_core.replies import say_partial
from skr_core.routers import AlwaysRetrieve, NeverRetrieve
from skr_core.settings import WhenInsufficient
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import StopReason
from skr_graphs import answer_of, create_self_completion_graph
from tests.skr_graphs.doubles import (
    PARIS,
    QUESTION,
    FailingModel,
    Invoke,
    NeverSatisfied,
    SlowRetriever,
    both,
    refusing,
    searchable,
)


@dataclass
class Case:
    stop_reason: str
    model: ScriptedModel
    calls: int
    text: str
    retriever: Any = field(default_factory=lambda: searchable("one", "two"))
    router: Router | None = None
    budget: Budget | None = None
    reflector: Reflector | None = None
    id: str = ""


class CostlyRouter:
    """Spends two calls on its decision."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision

    def decide(self, question: str) -> Decision:
        return self._decision

    async def adecide(self, question: str) -> Decision:
        return self._decision


class OneRoundIsEnough(AlwaysRetrieve):
    """Decides again after the first round: it was the last."""

    drafts, actions = False, ("direct", "single", "loop")

    def decide_on(self, question: str, direct: Generation) -> Decision:
        return Decision(True)

    async def adecide_on(self, question: str, direct: Generation) -> Decision:
        return Decision(True)

    def decide_after(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Decision:
        return Decision(True, max_rounds=1)

    async def adecide_after(
        self, question: str, answers: Mapping[Action, CandidateAnswer]
    ) -> Decision:
        return Decision(True, max_rounds=1)


class WhatIsFoundIsEnough(OneRoundIsEnough):
    """Looks at what the first search found, and serves the direct answer."""

    drafts, searches = True, True

    def decide_on(self, question: str, direct: Generation) -> Decision:
        return Decision(True, usage=direct.usage)

    async def adecide_on(self, question: str, direct: Generation) -> Decision:
        return self.decide_on(question, direct)

    def decide_after(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Decision:
        assert answers["direct"].confirmation is not None
        return Decision(False)

    async def adecide_after(
        self, question: str, answers: Mapping[Action, CandidateAnswer]
    ) -> Decision:
        return self.decide_after(question, answers)


DEADLINES = (0.5, 5.0, 50.0)
"""Each is tried where a busy machine let the one before pass earlier than the case has it."""


def cases(deadline_s: float = DEADLINES[0]) -> list[Case]:
    uncited = {
        "answer_with_references": ["SUFFICIENT\nParis."],
        "answer_anyway": ["Perhaps Paris."],
    }
    known = Decision(False, usage=Usage(10, 1, 2))
    single = Decision(True, max_rounds=1)
    two_calls = Budget(max_calls=2)
    return [
        Case("known", ScriptedModel(["Paris."]), 1, "Paris.", router=NeverRetrieve()),
        Case("sufficient", ScriptedModel(["Paris [1]."]), 1, "Paris [1]."),
        Case("confirmed", ScriptedModel(["Paris."]), 1, "Paris. [1]", router=WhatIsFoundIsEnough()),
        # Refused, asked, answered anyway.
        Case("no_new_queries", refusing(QUESTION), 3, "Perhaps Paris."),
        Case("no_new_queries", refusing("???"), 3, "Perhaps Paris.", id="unreadable"),
        Case(
            "no_new_references",
            refusing("again"),
            3,
            "Perhaps Paris.",
            retriever=MappingRetriever({QUESTION: [PARIS], "again": [PARIS]}),
        ),
        Case(
            "no_new_references",
            refusing("again"),
            3,
            "Perhaps Paris.",
            retriever=MappingRetriever({QUESTION: [PARIS, PARIS], "again": [PARIS]}),
            id="twice",
        ),
        # Nothing to answer from: asked for other queries, and answered anyway.
        Case("no_new_queries", refusing(), 2, "Perhaps Paris.", MappingRetriever({}), id="nothing"),
        Case(
            "max_rounds",
            refusing("a", "b"),
            3,
            "Perhaps Paris.",
            retriever=MappingRetriever({}),
            id="nothing",
        ),
        # Three refusals and two requests for queries, then answered anyway.
        Case("max_rounds", refusing("one", "two"), 6, "Perhaps Paris."),
        Case(
            "max_rounds", refusing("one"), 2, "Perhaps Paris.", budget=Budget(max_rounds=1), id="1"
        ),
        Case(
            "max_rounds",
            refusing("one"),
            2,
            "Perhaps Paris.",
            router=CostlyRouter(single),
            id="decision",
        ),
        Case("not_worth_it", refusing("one"), 2, "Perhaps Paris.", router=OneRoundIsEnough()),
        Case("uncited", ScriptedModel(uncited), 2, "Perhaps Paris."),
        Case("max_calls", refusing("one"), 1, REFUSAL, budget=Budget(max_calls=1)),
        Case("max_calls", refusing("one"), 2, "Perhaps Paris.", budget=two_calls, id="anyway"),
        Case("max_calls", refusing("one", "two"), 3, REFUSAL, budget=Budget(max_calls=3), id="3"),
        Case(
            "max_calls",
            ScriptedModel(["Paris."]),
            2,
            f"{REFUSAL}.",
            router=CostlyRouter(known),
            budget=two_calls,
            id="router",
        ),
        Case("max_tokens", refusing("one"), 1, REFUSAL, budget=Budget(max_tokens=1)),
        Case(
            "deadline",
            refusing("one"),
            2,
            REFUSAL,
            retriever=SlowRetriever({"one": 600}),
            budget=Budget(deadline_s=deadline_s),
        ),
        Case(
            "max_spend",
            refusing("one"),
            1,
            REFUSAL,
            budget=Budget(max_spend=0.01, price=Price(1_000.0, 1_000.0)),
        ),
        Case(
            "retriever_failed",
            refusing("one"),
            1,
            "Perhaps Paris.",
            retriever=searchable(failing=[QUESTION]),
        ),
        Case("retriever_failed", refusing(), 1, "Perhaps Paris.", retriever=None, id="none"),
        # A judge sends the first draft back, and then the model fails.
        Case(
            "model_failed",
            FailingModel({"answer_with_references": ["Paris [1]."]}, fails="self_complete"),
            1,
            say_partial(QUESTION, "Paris [1]."),
            reflector=NeverSatisfied(),
        ),
        Case(
            "retriever_failed",
            refusing("one"),
            3,
            "Perhaps Paris.",
            retriever=searchable(failing=["one"]),
            id="later",
        ),
    ]


def test_no_stop_reason_is_forgotten():
    assert {case.stop_reason for case in cases()} == set(get_args(StopReason))


@both
@pytest.mark.parametrize(
    "number", range(len(cases())), ids=[f"{case.stop_reason}{case.id}" for case in cases()]
)
def test_every_stop_reason(number: int, invoke: Invoke):
    for deadline_s in DEADLINES:
        case = cases(deadline_s)[number]
        graph = create_self_completion_graph(
            model=case.model,
            retriever=case.retriever,
            router=case.router,
            budget=case.budget,
            reflector=case.reflector,
            # A last call for the best there is, and failed searches as a reason to stop.
            when_insufficient="own_knowledge",
            on_retriever_error="continue",
        ).compile()
        answer = answer_of(invoke(graph))  # type: ignore[arg-type]
        if answer.stop_reason != "deadline" or answer.total_usage.calls == case.calls:
            break
    assert answer.stop_reason == case.stop_reason
    assert answer.text == case.text
    assert answer.total_usage.calls == case.calls
    by_others = isinstance(case.router, CostlyRouter)
    routed = answer.usage.get("route", Usage()).calls if by_others else 0
    assert len(case.model.prompts) == case.calls - routed


@both
@pytest.mark.parametrize(
    ("budget", "calls", "stop_reason"),
    [
        # A round is an answer and a judgement; between two rounds the model is asked for queries.
        (Budget(), 8, "max_rounds"),
        (Budget(max_rounds=1), 2, "max_rounds"),
        (Budget(max_rounds=50), 149, "max_rounds"),
        (Budget(max_rounds=50, max_calls=1), 1, "max_calls"),
        (Budget(max_rounds=50, max_calls=2), 2, "max_calls"),
        (Budget(max_rounds=50, max_calls=4), 4, "max_calls"),
        (Budget(max_rounds=50, max_calls=10), 10, "max_calls"),
    ],
)
def test_a_judge_that_always_says_no_ends_within_the_budget(
    budget: Budget, calls: int, stop_reason: str, invoke: Invoke
):
    queries = [f"query {number}" for number in range(60)]
    model = ScriptedModel(
        {"answer_with_references": ["Paris [1]."], "self_complete": queries}, otherwise="?"
    )
    judge = ScriptedModel(["insufficient: everything"])
    graph = create_self_completion_graph(
        model=model,
        retriever=searchable(*queries),
        reflector=JudgeReflector(judge),
        budget=budget,
    ).compile()
    answer = answer_of(invoke(graph))  # type: ignore[arg-type]
    assert len(model.prompts) + len(judge.prompts) == answer.total_usage.calls == calls
    assert budget.max_calls is None or calls <= budget.max_calls
    assert answer.stop_reason == stop_reason
    # The last draft may be one for whose judgement no call was left.
    is_judged = answer.rounds[-1].reflection is not None
    part = say_partial(QUESTION, "Paris [1].", "everything")
    assert answer.text == (part if is_judged else "Paris [1].")
    assert (answer.sufficient, answer.grounded) == (False, False)


@both
@pytest.mark.parametrize(
    ("queries", "stop_reason"),
    [(["one", "two"], "max_rounds"), ([QUESTION], "no_new_queries")],
)
def test_a_caller_may_prefer_silence(queries: list[str], stop_reason: str, invoke: Invoke):
    graph = create_self_completion_graph(
        model=refusing(*queries), retriever=searchable("one", "two"), when_insufficient="refuse"
    ).compile()
    output = invoke(graph)
    assert (output["answer"], output["stop_reason"]) == (REFUSAL, stop_reason)
    assert "answer_anyway" not in output["usage"]


@both
def test_silence_does_not_touch_a_sufficient_answer(invoke: Invoke):
    graph = create_self_completion_graph(
        model=ScriptedModel(["Paris [1]."]), retriever=searchable(), when_insufficient="refuse"
    ).compile()
    assert invoke(graph)["answer"] == "Paris [1]."


# Whatever a model answers, a question ends within its budget: with a stop reason or one error.

CAPITAL = "What is the capital of France?"
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
    """Says what it was given to say, or fails, and finds something for any query."""

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
    asked: Any = {"question": CAPITAL}
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
            usage = answer_of(graph.invoke({"question": CAPITAL})).total_usage
        except ModelError:
            assert calls == 1
        else:
            assert usage.calls == calls
        assert model.calls == asked
