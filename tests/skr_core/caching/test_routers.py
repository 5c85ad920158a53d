"""A cached router decides nothing twice, also where it looks at the direct answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from skr_core.caching import CachedRouter, SqliteCache
from skr_core.errors import ModelError
from skr_core.ports import DraftRouter, Router
from skr_core.routers import PromptRouter, UncertaintyRouter
from skr_core.testing import BrokenModel, ScriptedModel
from skr_core.types import Generation


@pytest.fixture(params=["blocking", "awaited"])
def awaited(request: pytest.FixtureRequest) -> bool:
    return request.param == "awaited"


def decide(router: Router, question: str, awaited: bool):
    return asyncio.run(router.adecide(question)) if awaited else router.decide(question)


def test_a_question_is_decided_once(tmp_path: Path, awaited: bool) -> None:
    with SqliteCache(tmp_path / "c") as cache:
        model = ScriptedModel(["Yes, I know.", "No, I do not."])
        router = CachedRouter(PromptRouter(model), cache, name="prompt v1")
        first, second = decide(router, "Who?", awaited), decide(router, "Who?", awaited)
        assert len(model.prompts) == 1
        assert (first.retrieve, first.reason) == (second.retrieve, second.reason)
        assert (second.usage.calls, second.usage.cached_calls) == (0, 1)
        assert second.usage.uncached == first.usage
        assert decide(router, "Where?", awaited).usage.calls == 1


def test_another_name_is_another_router(tmp_path: Path) -> None:
    with SqliteCache(tmp_path / "c") as cache:
        model = ScriptedModel(["Yes, I know.", "No, I do not."])
        one, other = (CachedRouter(PromptRouter(model), cache, name=name) for name in "ab")
        assert one.decide("Who?").retrieve is not other.decide("Who?").retrieve


def test_the_direct_answer_counts(tmp_path: Path, awaited: bool) -> None:
    def decide_on(direct: str):
        said = Generation(direct)
        if awaited:
            return asyncio.run(router.adecide_on("Who?", said))
        return router.decide_on("Who?", said)

    with SqliteCache(tmp_path / "c") as cache:
        model = ScriptedModel(["Ada."])
        router = CachedRouter(UncertaintyRouter(model, samples=2), cache, name="samples")
        assert isinstance(router, DraftRouter)
        assert router.drafts
        assert decide_on("Ada.").retrieve is False
        assert decide_on("Ada.").usage.cached_calls == 1
        assert decide_on("Bob.").retrieve is True
        assert len(model.prompts) == 2


def test_a_router_without_drafts_says_so(tmp_path: Path) -> None:
    with SqliteCache(tmp_path / "c") as cache:
        assert not CachedRouter(PromptRouter(ScriptedModel()), cache, name="prompt").drafts


def test_a_failure_is_not_kept(tmp_path: Path, awaited: bool) -> None:
    with SqliteCache(tmp_path / "c") as cache:
        with pytest.raises(ModelError):
            decide(CachedRouter(PromptRouter(BrokenModel()), cache, name="a"), "Who?", awaited)
        model = ScriptedModel(["Yes, I know."])
        assert decide(CachedRouter(PromptRouter(model), cache, name="a"), "Who?", awaited)
        assert len(model.prompts) == 1
