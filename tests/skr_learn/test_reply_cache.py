"""A cached model asks nothing twice, and answers all the same where its cache does not.

The cache itself has many users at a time.
"""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from skr_core import Budget, Generation, Prompt, Reference, Usage
from skr_core.errors import ModelError, StoreError
from skr_core.prompts import answer_directly, answer_with_references
from skr_core.routers import UncertaintyRouter
from skr_core.testing import BrokenModel, ScriptedModel
from skr_learn.reply_cache import CachedModel, ReplyCache

ASKED = answer_directly("What is the capital of France?")


Ask = Callable[..., Generation]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "replies.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[ReplyCache]:
    with ReplyCache(path) as opened:
        yield opened


def texts_in(cache: ReplyCache) -> int:
    with sqlite3.connect(cache.path) as connection:
        (count,) = connection.execute("SELECT count(*) FROM texts").fetchone()
    connection.close()
    return int(count)


@pytest.fixture(params=["blocking", "awaited"])
def ask(request: pytest.FixtureRequest) -> Ask:
    def asked(model: CachedModel, prompt: Prompt = ASKED, **options) -> Generation:
        if request.param == "blocking":
            return model.generate(prompt, **options)
        return asyncio.run(model.agenerate(prompt, **options))

    return asked


def test_what_was_asked_before_costs_nothing(ask: Ask, cache: ReplyCache) -> None:
    inner = ScriptedModel(["Paris.", "Lyon."])
    model = CachedModel(inner, cache)
    first, second = ask(model), ask(model)
    assert (first.text, second.text) == ("Paris.", "Paris.")
    assert len(inner.prompts) == 1
    assert (first.usage.calls, first.usage.cached_calls) == (1, 0)
    assert (second.usage.calls, second.usage.total_tokens, second.usage.cached_calls) == (0, 0, 1)
    assert second.usage.uncached == first.usage
    known = replace(first.usage, cache_read_tokens=1)  # a provider's own cache is another matter
    assert known.from_cache().cache_read_tokens == 0
    assert (known + known.from_cache()).uncached == known + known
    assert replace(second, usage=first.usage) == first


def test_a_stream_gets_the_kept_reply_in_one_piece(ask: Ask, cache: ReplyCache) -> None:
    model = CachedModel(ScriptedModel(["It is Paris."]), cache)
    pieces: list[str] = []
    ask(model, on_token=pieces.append)
    assert pieces == ["It", " is", " Paris."]
    pieces.clear()
    ask(model, on_token=pieces.append)
    assert pieces == ["It is Paris."]


def test_other_words_another_model_or_other_settings_are_asked(ask: Ask, cache: ReplyCache) -> None:

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


def test_how_well_a_reference_was_liked_is_not_shown_so_it_does_not_count(
    ask: Ask, cache: ReplyCache
) -> None:
    model = CachedModel(ScriptedModel(["a", "b"]), cache)
    found = Reference.of("Paris is the capital.", "Paris")
    ask(model, answer_with_references("Capital?", [replace(found, score=0.3)]))
    again = ask(model, answer_with_references("Capital?", [replace(found, score=0.4)]))
    assert again.text == "a"


def test_a_failure_is_never_kept(ask: Ask, cache: ReplyCache) -> None:
    with pytest.raises(ModelError):
        ask(CachedModel(BrokenModel(), cache))
    assert texts_in(cache) == 0


@pytest.mark.parametrize(
    "reply",
    [Generation("Paris is", Usage(calls=1), finish_reason="length"), Generation(" ")],
    ids=["cut off", "blank"],
)
def test_what_is_no_whole_reply_is_not_kept(ask: Ask, cache: ReplyCache, reply: Generation) -> None:
    class Same(ScriptedModel):
        def generate(self, prompt, *, on_token=None):
            super().generate(prompt)
            return reply

    assert ask(CachedModel(Same(), cache)) == reply
    assert texts_in(cache) == 0


@pytest.mark.parametrize(
    "kept", ["", "{", "[]", '{"text": 3, "usage": 4}', '{"other": "x"}', "[" * 100_000]
)
def test_what_cannot_be_read_is_asked_again_and_mended(
    ask: Ask, cache: ReplyCache, kept: str
) -> None:
    model = CachedModel(ScriptedModel(["Paris.", "Lyon."]), cache)
    ask(model)
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE texts SET value = ?", [kept])
    connection.close()
    assert ask(model).text == "Lyon."
    assert ask(model).text == "Lyon."


def test_a_cache_that_fails_is_passed_over(ask: Ask, cache: ReplyCache) -> None:
    cache.close()
    model = CachedModel(ScriptedModel(["Paris.", "Lyon."]), cache)
    assert [ask(model).text, ask(model).text] == ["Paris.", "Lyon."]


def test_samples_are_told_apart_and_are_the_same_again(cache: ReplyCache) -> None:
    inner = ScriptedModel(["Paris.", "Lyon.", "Rome.", "Bonn."])
    model = CachedModel(inner, cache)
    first = UncertaintyRouter(model, samples=3).decide("Capital?")
    second = UncertaintyRouter(model, samples=3).decide("Capital?")
    assert len(inner.prompts) == 3
    assert first.score == second.score == 1.0  # three answers, none like another
    assert (second.usage.calls, second.usage.cached_calls) == (0, 3)


def test_no_budget_counts_what_a_cache_replied(ask: Ask, cache: ReplyCache) -> None:
    model = CachedModel(ScriptedModel(["Paris."]), cache)
    spent = ask(model).usage
    assert Budget(max_calls=1).spent(spent, seconds=0) == "max_calls"
    assert Budget(max_calls=1, max_tokens=1).spent(ask(model).usage, seconds=0) is None


def test_its_name_and_version_are_the_models(cache: ReplyCache) -> None:
    class Set(ScriptedModel):
        version = "temperature 0"

    model = CachedModel(Set(name="mine"), cache)
    assert (model.name, model.version) == ("mine", "temperature 0")
    assert CachedModel(ScriptedModel(), cache).version == ""


def test_what_is_put_is_there_after_closing_sync_and_async(path: Path) -> None:
    async def awaited(cache: ReplyCache) -> str | None:
        await cache.aput("b", "two")
        return await cache.aget("a")

    with ReplyCache(path) as cache:
        cache.put("a", "one")
        assert asyncio.run(awaited(cache)) == "one"
    with ReplyCache(path) as cache:
        assert [cache.get(key) for key in "abc"] == ["one", "two", None]
        cache.put("a", "other")
        assert cache.get("a") == "other"
    cache.close()  # twice does nothing


def test_threads_and_a_second_user_share_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skr_learn.reply_cache.PATIENCE_S", 100)
    with ReplyCache(path) as one, ReplyCache(path) as other:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: (one, other)[n % 2].put(str(n), f"text {n}"), range(40)))
        assert [other.get(str(n)) for n in range(40)] == [f"text {n}" for n in range(40)]


def test_another_process_finds_it(path: Path) -> None:
    with ReplyCache(path) as cache:
        cache.put("a", "näïve ☃")
        code = (
            "import sys; from skr_learn.reply_cache import ReplyCache\n"
            "cache = ReplyCache(sys.argv[1]); cache.put('b', ascii(cache.get('a'))); cache.close()"
        )
        subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=150)
        assert cache.get("b") == ascii("näïve ☃")


@pytest.mark.parametrize("content", [b"no database at all, but long enough " * 100, b"\x00" * 999])
def test_a_file_of_another_kind_is_put_aside(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with ReplyCache(path) as cache:
        assert cache.get("a") is None
        cache.put("a", "one")
        assert cache.get("a") == "one"
    assert path.with_name("replies.sqlite.damaged").read_bytes() == content


def test_a_file_damaged_while_it_is_open_is_a_miss(path: Path) -> None:
    with ReplyCache(path) as cache:
        for number in range(200):
            cache.put(str(number), "text " * 100)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with ReplyCache(path) as cache:
        assert [cache.get(str(number)) for number in range(200)] == [None] * 200
        cache.put("0", "anew")
        assert cache.get("0") == "anew"


def test_where_there_can_be_no_file_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "replies.sqlite", tmp_path):
        with pytest.raises(StoreError, match="cannot be used as a cache"):
            ReplyCache(path)


def test_a_file_that_somebody_holds_keeps_nobody_from_an_answer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skr_learn.reply_cache.PATIENCE_S", 0)
    with ReplyCache(path) as cache:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        cache.put("a", "one")
        assert cache.get("a") is None
        holder.execute("ROLLBACK")
        holder.close()
        cache.put("a", "one")
        assert cache.get("a") == "one"
    assert not path.with_name("replies.sqlite.damaged").exists()
