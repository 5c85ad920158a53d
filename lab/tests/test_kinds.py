"""Ten questions of ten kinds: how ours answers them, and how the model behind them reads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest

from benchmarks import island, kinds, page
from benchmarks.island import QUESTIONS, Asked
from benchmarks.reader import CANNOT_TELL, Request, reply
from benchmarks.reading import understood
from skr_core.models.embedders import HashingEmbedder

BY_KIND = {asked.kind: asked for asked in QUESTIONS}
# Two hops by each way: a search for the first, one for the second, and the answer.
CALLS = {
    "create_retrieval_chain": (1, False),
    "create_agent with a search tool": (3, True),
    "a ReAct loop after FrugalRAG": (3, True),
    "RetrieverQueryEngine": (1, False),
    "SubQuestionQueryEngine": (4, False),
    "MultiStepQueryEngine": (6, True),
    "CitationQueryEngine": (1, False),
    "ReActAgent with a search tool": (3, True),
}


@pytest.fixture(scope="module")
def world() -> Iterator[kinds.Scripted]:
    world = kinds.Scripted(HashingEmbedder())
    with world.server:
        yield world


def test_ours_answers_the_ten(world: kinds.Scripted) -> None:
    for name, ask in kinds.ours(world):
        costs = {asked.kind: world.cost(ask, asked) for asked in QUESTIONS}
        wrong = {kind for kind, cost in costs.items() if not cost.right}
        # Nobody routes here, so that what no passage tells is not known either.
        assert wrong == {"known"}, name
        assert sum(cost.calls for cost in costs.values()) <= 18, name


@pytest.mark.filterwarnings("ignore:is_running called:DeprecationWarning")  # ReActAgent's own
def test_the_model_answers_the_prompts_of_each_way(world: kinds.Scripted) -> None:
    ways = dict([*kinds.langchain_ways(world), *kinds.llamaindex_ways(world)])
    assert ways.keys() == CALLS.keys()
    with ThreadPoolExecutor(1) as thread:  # where LlamaIndex closes the event loop it makes
        for name, ask in ways.items():
            cost = thread.submit(world.cost, ask, BY_KIND["two hops"]).result()
            assert (cost.calls, cost.right) == CALLS[name], name


def request(text: str) -> Request:
    return Request([{"role": "user", "content": text}])


def test_every_question_is_understood_and_answered_by_its_passages() -> None:
    told = "\n\n".join(island.PASSAGES)
    for asked in QUESTIONS:
        turns = [f"{('user', 'assistant')[n % 2]}: {turn}" for n, turn in enumerate(asked.history)]
        said = reply(request("\n".join([*turns, told, asked.question])))
        assert isinstance(said, str)
        assert kinds.is_right(said, asked), said
    assert all(understood(question) for question, _ in island.TO_LEARN_FROM)
    asked_already = {asked.question for asked in QUESTIONS}
    assert asked_already.isdisjoint(question for question, _ in island.TO_LEARN_FROM)


def test_the_model_says_no_more_than_it_was_shown() -> None:
    two_hops, known = BY_KIND["two hops"], BY_KIND["known"].question
    shown = "The lighthouse of Gull Rock was designed by Ada Quill."
    assert reply(request(f"{shown}\n{two_hops.question}")) == f"{shown} {CANNOT_TELL}"
    assert reply(request(known)) == "Paris is the capital of France."
    assert "Paris" not in str(reply(request(f"{known} Use context and not prior knowledge.")))


@pytest.mark.parametrize(
    ("answer", "kind", "right"),
    [
        ("He was born in Port Elm.", "two hops", True),
        ("He was born in Port Elm, or I cannot tell.", "two hops", False),
        ("Hugo Brandt was born in Garrow.", "ambiguous", False),
        ("The painter was born in Lowmoor, the engineer in Garrow.", "ambiguous", True),
        ("The lighthouse of Fallow Head was designed by Amy Lark.", "unanswerable", False),
        ("It was designed by Amy Lark. Her prizes cannot be told.", "unanswerable", True),
    ],
)
def test_what_is_right(answer: str, kind: str, right: bool) -> None:
    assert kinds.is_right(answer, BY_KIND[kind]) == right


def test_the_table_counts_what_is_right_and_strikes_what_is_wrong() -> None:
    costs = {"easy": kinds.Cost(True, 1, 10), "hard": kinds.Cost(False, 2, 1_000)}
    row = kinds.Way("one", {kind: vars(cost) for kind, cost in costs.items()})
    head, _, told = page.table([asdict(row)])
    assert head == "| calls · tokens | right | calls | tokens | easy | hard |"
    assert told == "| one | 1 of 2 | 3 | 1,010 | 1 · 10 | ~~2 · 1,000~~ |"


def test_an_answer_without_gold_is_one_that_nobody_can_give() -> None:
    assert [asked.kind for asked in QUESTIONS if not asked.gold] == ["unanswerable"]
    assert len({asked.kind for asked in QUESTIONS}) == 10
    assert Asked("kind", "Who?").history == ()
