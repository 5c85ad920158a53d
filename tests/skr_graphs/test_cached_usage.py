"""What a cache replied is in the usage of every step, and in none of what it spent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from skr_core.reflectors import JudgeReflector
from skr_core.routers import PromptRouter
from skr_core.settings import Settings
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Answer
from skr_graphs import GraphAnswerer
from skr_learn.reply_cache import CachedModel, ReplyCache

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
    draft: str, tasks: set[str], ask: Ask, awaited: bool, tmp_path: Path
) -> None:
    cache = ReplyCache(tmp_path / "replies.sqlite")
    first = ask(system(cache, draft), awaited)
    again = ask(system(cache, draft), awaited)
    last = "routed" if ask is routed else "loop"
    assert tasks <= first[last].usage.keys()
    for name, answer in again.items():
        assert answer.total_usage.calls == answer.total_usage.total_tokens == 0
        costs = {task: usage.uncached for task, usage in answer.usage.items()}
        assert costs == {task: usage.uncached for task, usage in first[name].usage.items()}
