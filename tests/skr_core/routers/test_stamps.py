"""A router is refused for another model or retriever; smaller differences are told once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skr_core import Budget, Decision, Settings
from skr_core.errors import StampMismatch, StampWarning, tell_once
from skr_core.prompts import PromptTemplates
from skr_core.routers.saving import SavedRouter
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Stamp

LIBRARY = MappingRetriever({})
CALLED = ScriptedModel(name="openai:gpt-4.1")


class Learnt:
    """A router that knows the system it was made with."""

    def __init__(self, stamp: Stamp) -> None:
        self.stamp = stamp

    def decide(self, question: str) -> Decision:
        return Decision(True)

    async def adecide(self, question: str) -> Decision:
        return Decision(True)


@pytest.fixture(autouse=True)
def _nothing_told() -> Iterator[None]:
    tell_once.cache_clear()
    yield
    tell_once.cache_clear()


def told(work: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    assert {each.category for each in found} <= {StampWarning}
    return [str(each.message) for each in found]


def test_the_same_system_is_taken_in_silence():
    made = Settings.of(CALLED, LIBRARY, budget=Budget(max_rounds=2))
    router = Learnt(made.stamp())
    assert (
        told(lambda: Settings.of(CALLED, LIBRARY, router=router, budget=Budget(max_rounds=2))) == []
    )
    unstamped = Learnt(Stamp(model="openai:gpt-4.1"))
    assert told(lambda: Settings.of(CALLED, LIBRARY, router=unstamped)) == []


class Warm(ScriptedModel):
    temperature = 1.0


class Many(MappingRetriever):
    version = "k=20"


@pytest.mark.parametrize(
    "changed",
    [
        {"budget": Budget(max_rounds=1)},
        {"when_insufficient": "refuse"},
        {"templates": PromptTemplates(answer_directly="Say: {question}")},
        {"model": Warm(name="openai:gpt-4.1")},
        {"retriever": Many({})},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_another_system_is_told_once_and_not_refused(changed: dict[str, Any]):
    router = Learnt(Settings.of(CALLED, LIBRARY).stamp())
    given: dict[str, Any] = {"model": CALLED, "retriever": LIBRARY, **changed}

    def twice() -> None:
        Settings.of(router=router, **given)
        Settings.of(router=router, **given)

    (said,) = told(twice)
    assert "words, limits, temperature or settings of the retriever" in said
    assert "\n" not in said


def test_each_system_that_differs_is_told_by_its_name():
    router = Learnt(Settings.of(CALLED, LIBRARY).stamp())
    systems = [{"budget": Budget(max_rounds=1)}, {"when_insufficient": "refuse"}]
    said = told(lambda: [Settings.of(CALLED, LIBRARY, router=router, **each) for each in systems])
    assert len({*said}) == 2
    assert all(router.stamp.system in each for each in said)


def test_what_only_routes_has_no_words_that_could_differ():
    router = Learnt(Settings.of(CALLED, LIBRARY, budget=Budget(max_rounds=1)).stamp())
    assert told(lambda: Settings.of(CALLED, router=router)) == []


@pytest.mark.parametrize(
    ("made", "now"),
    [
        ("openai:gpt-4.1", "openai:gpt-4.1-2025-04-14"),
        ("openai:gpt-4.1-2025-04-14", "openai:gpt-4.1"),
        ("anthropic:claude-3-5-sonnet-20241022", "anthropic:claude-3-5-sonnet-latest"),
        ("vertex:claude-3-5-sonnet@20240620", "vertex:claude-3-5-sonnet"),
        ("openai:gpt-3.5-turbo-0125", "openai:gpt-3.5-turbo"),
    ],
)
def test_a_dated_model_is_told_and_not_refused(made: str, now: str):
    saved = SavedRouter("knn", {}, stamp=Stamp(model=made))
    (said,) = told(lambda: [saved.check(ScriptedModel(name=now)) for _ in range(2)])
    assert said == f"this knn router was made with the model {made!r}, not {now!r}"
    assert told(lambda: saved.check(ScriptedModel(name=now), force=True)) == []


@pytest.mark.parametrize(
    ("made", "now"),
    [
        ("openai:gpt-4.1", "openai:gpt-4.1-mini"),
        ("openai:gpt-4.1", "openai:gpt-4"),
        ("openai:gpt-4.1-2025-04-14", "openai:gpt-4.1-mini-2025-04-14"),
        ("ollama:qwen3:8b", "ollama:qwen3:4b"),
        ("openai:gpt-4.1", "azure:gpt-4.1"),
    ],
)
def test_another_model_is_refused(made: str, now: str):
    saved = SavedRouter("knn", {}, stamp=Stamp(model=made))
    with pytest.raises(StampMismatch, match="use that model"):
        saved.check(ScriptedModel(name=now))


def test_another_k_of_the_store_is_told_and_another_store_is_refused(tmp_path: Path):
    saved = SavedRouter("knn", {}, stamp=Stamp(retriever="chroma:hybrid:k=10:none"))
    search = MappingRetriever({})
    search.name = "chroma:hybrid:k=5:none"
    assert len(told(lambda: saved.check(None, search))) == 1
    search.name = "chroma:dense:k=10:none"
    with pytest.raises(StampMismatch, match="retriever"):
        saved.check(None, search)
