"""A cached model asks nothing twice, and answers all the same where its cache does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from skr_core.budget import Budget
from skr_core.caching import CachedModel, as_cache
from skr_core.errors import InputError, ModelError
from skr_core.prompts.asking import answer_directly, answer_with_references
from skr_core.routers import UncertaintyRouter
from skr_core.testing import BrokenModel, ScriptedModel
from skr_core.types import Generation, Prompt, Reference, Usage

ASKED = answer_directly("What is the capital of France?")


class Texts:
    """A cache in memory that counts who asks it in which colour."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.blocking = self.awaited = 0

    def get(self, key: str) -> str | None:
        self.blocking += 1
        return self.texts.get(key)

    async def aget(self, key: str) -> str | None:
        self.awaited += 1
        return self.texts.get(key)

    def put(self, key: str, value: str) -> None:
        self.blocking += 1
        self.texts[key] = value

    async def aput(self, key: str, value: str) -> None:
        self.awaited += 1
        self.texts[key] = value


class Failing(Texts):
    """A cache whose server is down."""

    def get(self, key: str) -> str | None:
        raise ConnectionError("no route to host")

    async def aget(self, key: str) -> str | None:
        raise ConnectionError("no route to host")

    def put(self, key: str, value: str) -> None:
        raise ConnectionError("no route to host")

    async def aput(self, key: str, value: str) -> None:
        raise ConnectionError("no route to host")


Ask = Callable[..., Generation]


@pytest.fixture(params=["blocking", "awaited"])
def ask(request: pytest.FixtureRequest) -> Ask:
    def asked(model: CachedModel, prompt: Prompt = ASKED, **options) -> Generation:
        if request.param == "blocking":
            return model.generate(prompt, **options)
        return asyncio.run(model.agenerate(prompt, **options))

    return asked


def test_what_was_asked_before_costs_nothing(ask: Ask) -> None:
    inner = ScriptedModel(["Paris.", "Lyon."])
    model = CachedModel(inner, Texts())
    first, second = ask(model), ask(model)
    assert (first.text, second.text) == ("Paris.", "Paris.")
    assert len(inner.prompts) == 1
    assert (first.usage.calls, first.usage.cached_calls) == (1, 0)
    assert (second.usage.calls, second.usage.total_tokens, second.usage.cached_calls) == (0, 0, 1)
    assert second.usage.uncached == first.usage
    assert replace(second, usage=first.usage) == first


def test_each_colour_asks_the_cache_in_its_own(ask: Ask, request: pytest.FixtureRequest) -> None:
    cache = Texts()
    ask(CachedModel(ScriptedModel(["Paris."]), cache))
    used = (cache.blocking, cache.awaited)
    assert used == ((2, 0) if "blocking" in request.node.name else (0, 2))


def test_a_stream_gets_the_kept_reply_in_one_piece(ask: Ask) -> None:
    model = CachedModel(ScriptedModel(["It is Paris."]), Texts())
    pieces: list[str] = []
    ask(model, on_token=pieces.append)
    assert pieces == ["It", " is", " Paris."]
    pieces.clear()
    ask(model, on_token=pieces.append)
    assert pieces == ["It is Paris."]


def test_other_words_another_model_or_other_settings_are_asked(ask: Ask) -> None:
    cache = Texts()

    class Set(ScriptedModel):
        version = "temperature 0"

    said = [
        ask(CachedModel(ScriptedModel(["a"]), cache)),
        ask(CachedModel(ScriptedModel(["b"], name="another"), cache)),
        ask(CachedModel(Set(["c"]), cache)),
        ask(CachedModel(ScriptedModel(["d"]), cache), answer_directly("And of Spain?")),
        ask(CachedModel(ScriptedModel(["e"]), cache), replace(ASKED, system="Be brief.")),
        ask(CachedModel(ScriptedModel(["f"]), cache), replace(ASKED, history=("Hi", "Hello"))),
    ]
    assert [each.text for each in said] == ["a", "b", "c", "d", "e", "f"]


def test_how_well_a_reference_was_liked_is_not_shown_so_it_does_not_count(ask: Ask) -> None:
    model = CachedModel(ScriptedModel(["a", "b"]), Texts())
    found = Reference.of("Paris is the capital.", "Paris")
    ask(model, answer_with_references("Capital?", [replace(found, score=0.3)]))
    again = ask(model, answer_with_references("Capital?", [replace(found, score=0.4)]))
    assert again.text == "a"


def test_a_failure_is_never_kept(ask: Ask) -> None:
    cache = Texts()
    with pytest.raises(ModelError):
        ask(CachedModel(BrokenModel(), cache))
    assert cache.texts == {}


@pytest.mark.parametrize(
    "reply",
    [Generation("Paris is", Usage(calls=1), finish_reason="length"), Generation(" ")],
    ids=["cut off", "blank"],
)
def test_what_is_no_whole_reply_is_not_kept(ask: Ask, reply: Generation) -> None:
    class Same(ScriptedModel):
        def generate(self, prompt, *, on_token=None):
            super().generate(prompt)
            return reply

    cache = Texts()
    assert ask(CachedModel(Same(), cache)) == reply
    assert cache.texts == {}


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"text": 3, "usage": 4}', '{"other": "x"}'])
def test_what_is_damaged_is_asked_again_and_mended(ask: Ask, kept: str) -> None:
    cache = Texts()
    model = CachedModel(ScriptedModel(["Paris.", "Lyon."]), cache)
    ask(model)
    (key,) = cache.texts
    cache.texts[key] = kept
    assert ask(model).text == "Lyon."
    assert ask(model).text == "Lyon."


def test_a_cache_that_fails_is_passed_over(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    model = CachedModel(ScriptedModel(["Paris.", "Lyon."]), Failing())
    assert [ask(model).text, ask(model).text] == ["Paris.", "Lyon."]
    assert len(caplog.records) <= 1  # told once in a process


def test_samples_are_told_apart_and_are_the_same_again() -> None:
    inner = ScriptedModel(["Paris.", "Lyon.", "Rome.", "Bonn."])
    model = CachedModel(inner, Texts())
    first = UncertaintyRouter(model, samples=3).decide("Capital?")
    second = UncertaintyRouter(model, samples=3).decide("Capital?")
    assert len(inner.prompts) == 3
    assert first.score == second.score == 1.0  # three answers, none like another
    assert (second.usage.calls, second.usage.cached_calls) == (0, 3)


def test_no_budget_counts_what_a_cache_replied(ask: Ask) -> None:
    model = CachedModel(ScriptedModel(["Paris."]), Texts())
    spent = ask(model).usage
    assert Budget(max_calls=1).spent(spent, seconds=0) == "max_calls"
    assert Budget(max_calls=1, max_tokens=1).spent(ask(model).usage, seconds=0) is None


def test_its_name_and_version_are_the_models() -> None:
    class Set(ScriptedModel):
        version = "temperature 0"

    model = CachedModel(Set(name="mine"), Texts())
    assert (model.name, model.version) == ("mine", "temperature 0")
    assert CachedModel(ScriptedModel(), Texts()).version == ""


def test_only_a_cache_is_one() -> None:
    with pytest.raises(InputError, match="a cache is wanted, not dict"):
        as_cache({})  # type: ignore[arg-type]
