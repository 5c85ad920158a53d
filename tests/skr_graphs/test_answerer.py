"""GraphAnswerer: the served graph, by its router or by an action, and the cost of its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, get_args

import pytest

from skr_core import Action, ActionAnswerer, Answer, Budget, Settings
from skr_core.errors import ModelError, RetrieverError
from skr_core.prompts import REFUSAL
from skr_core.reflectors import JudgeReflector
from skr_core.routers import AlwaysRetrieve, NeverRetrieve, PromptRouter
from skr_core.settings import WhenInsufficient
from skr_core.testing import BrokenModel, MappingRetriever, ScriptedModel
from skr_core.types import ACTIONS
from skr_graphs import GraphAnswerer
from skr_learn.reply_cache import CachedModel, ReplyCache
from tests.skr_graphs.doubles import QUESTION, searchable

Each = Callable[[GraphAnswerer], dict[Action, Answer]]


def blocking(answerer: GraphAnswerer) -> Any:
    return answerer.answer_each(QUESTION)


def awaited(answerer: GraphAnswerer) -> Any:
    return asyncio.run(answerer.aanswer_each(QUESTION))


both = pytest.mark.parametrize("each", [blocking, awaited])


def script(*drafts: str) -> dict[str, list[str]]:
    return {
        "answer_directly": ["Lyon."],
        "answer_with_references": list(drafts),
        "self_complete": ["one"],
        "answer_anyway": ["Perhaps Paris."],
    }


def test_it_is_what_collection_asks():
    assert isinstance(GraphAnswerer(Settings(ScriptedModel())), ActionAnswerer)


@pytest.mark.parametrize("action", [None, *ACTIONS])
def test_both_colours_answer_the_same(action: Action | None):
    def made() -> GraphAnswerer:
        model = ScriptedModel(script(REFUSAL, "Paris [1]."))
        return GraphAnswerer(Settings(model, searchable("one")))

    assert made().answer(QUESTION, action) == asyncio.run(made().aanswer(QUESTION, action))


@pytest.mark.parametrize(
    ("action", "text", "stop_reason"),
    [
        ("direct", "Lyon.", "known"),
        ("single", REFUSAL, "max_rounds"),
        ("loop", "Paris [1].", "sufficient"),
    ],
)
def test_an_action_overrides_the_router(action: Action, text: str, stop_reason: str):
    for router in (AlwaysRetrieve(), NeverRetrieve()):
        model = ScriptedModel(script(REFUSAL, "Paris [1]."))
        settings = Settings(model, searchable("one"), router=router)
        answer = GraphAnswerer(settings).answer(QUESTION, action)
        assert (answer.text, answer.stop_reason) == (text, stop_reason)
        assert answer.decision.action == action


def test_without_an_action_the_router_decides():
    model = ScriptedModel(script("Paris [1]."))
    settings = Settings(model, searchable())
    assert GraphAnswerer(settings).answer(QUESTION).text == "Paris [1]."
    assert GraphAnswerer(settings.but(router=NeverRetrieve())).answer(QUESTION).text == "Lyon."


@both
@pytest.mark.parametrize("when", get_args(WhenInsufficient))
@pytest.mark.parametrize(
    "drafts",
    [
        ["Paris [1]."],
        [REFUSAL, "Paris [1]."],
        [REFUSAL],
        ["Paris, surely."],
        ["INSUFFICIENT\nIt is in France [1].\nSearch: one", "SUFFICIENT\nParis [1]."],
        [f"INSUFFICIENT\nIt is in France [1].\nSearch: {QUESTION}"],
    ],
)
def test_every_action_is_as_if_asked_alone(each: Each, drafts: list[str], when: Any):
    def made() -> GraphAnswerer:
        model = ScriptedModel(script(*drafts))
        return GraphAnswerer(Settings(model, searchable("one"), when_insufficient=when))

    answers = each(made())
    assert list(answers) == list(ACTIONS)
    for action in ACTIONS:
        alone = made().answer(QUESTION, action)
        assert answers[action].text == alone.text
        assert answers[action].stop_reason == alone.stop_reason
        assert answers[action].total_usage == alone.total_usage
        assert answers[action].citations == alone.citations
        assert answers[action].references == alone.references
        assert answers[action].grounded == alone.grounded
        assert answers[action].decision.action == action


@both
def test_a_single_round_keeps_to_the_budget_of_calls(each: Each):
    model = ScriptedModel(script(REFUSAL))
    settings = Settings(model, searchable("one"), budget=Budget(max_calls=1))
    assert each(GraphAnswerer(settings))["single"].text == f"{REFUSAL}"
    assert "answer_anyway" not in {prompt.task for prompt in model.prompts}


@both
def test_a_retriever_that_is_down_teaches_nothing(each: Each):
    model = ScriptedModel(script("Paris."))
    with pytest.raises(RetrieverError, match="no connection"):
        each(GraphAnswerer(Settings(model, searchable(failing=[QUESTION]))))


@both
def test_a_broken_model_is_an_error(each: Each):
    with pytest.raises(ModelError):
        each(GraphAnswerer(Settings(BrokenModel(), searchable())))


def test_the_probability_of_a_direct_answer_is_handed_on():
    class Sure(ScriptedModel):
        def generate(self, prompt: Any, *, on_token: Any = None) -> Any:
            from dataclasses import replace

            return replace(super().generate(prompt), logprobs=(-0.5, -1.5))

    answerer = GraphAnswerer(Settings(Sure(["Paris."]), searchable()))
    assert answerer.answer(QUESTION, "direct").logprob == -1.0
    assert answerer.answer(QUESTION, "loop").logprob is None


# What a cache replied is in the usage of every step, and in none of what it spent.

Ask = Callable[[Settings, bool], dict[str, Answer]]
SEARCH = MappingRetriever({"Capital?": ["Paris is large."], "capital city": ["Lyon is small."]})


def system(cache: ReplyCache, draft: str) -> Settings:
    """One that asks a model at every step."""
    replies = {
        "answer_directly": ["It is Lyon."],
        "answer_with_references": [draft],
        "self_complete": ["Search: capital city"],
        "answer_anyway": ["Paris, I believe."],
    }
    judge = ScriptedModel(["Insufficient: the capital"], name="judge")
    router = PromptRouter(CachedModel(ScriptedModel(["Yes, I do."], name="router"), cache))
    return Settings(
        CachedModel(ScriptedModel(replies), cache),
        SEARCH,
        router=router,
        reflector=JudgeReflector(CachedModel(judge, cache)),
        when_insufficient="own_knowledge",
    )


def routed(settings: Settings, awaited: bool) -> dict[str, Answer]:
    answerer = GraphAnswerer(settings)
    if awaited:
        return {"routed": asyncio.run(answerer.aanswer("Capital?"))}
    return {"routed": answerer.answer("Capital?")}


def by_action(settings: Settings, awaited: bool) -> dict[str, Answer]:
    answerer = GraphAnswerer(settings)
    if awaited:
        return dict(asyncio.run(answerer.aanswer_each("Capital?")))
    return dict(answerer.answer_each("Capital?"))


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("ask", [routed, by_action])
@pytest.mark.parametrize(
    ("draft", "tasks"),
    [
        ("SUFFICIENT\nIt is Paris [1].", {"answer_with_references", "reflect"}),
        ("INSUFFICIENT\nNothing is known.", {"answer_with_references", "answer_anyway"}),
    ],
    ids=["cited", "uncited"],
)
def test_every_step_counts_what_a_cache_replied_apart(
    draft: str, tasks: set[str], ask: Ask, awaited: bool
) -> None:
    cache = ReplyCache(":memory:")
    first = ask(system(cache, draft), awaited)
    again = ask(system(cache, draft), awaited)
    last = "routed" if ask is routed else "loop"
    assert tasks <= first[last].usage.keys()
    for name, answer in again.items():
        assert answer.total_usage.calls == answer.total_usage.total_tokens == 0
        costs = {task: usage.uncached for task, usage in answer.usage.items()}
        assert costs == {task: usage.uncached for task, usage in first[name].usage.items()}
