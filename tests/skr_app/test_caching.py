"""``--cache``: the second run asks no model, and measures the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from skr_learn.self_knowledge import read_self_knowledge
from tests.servers import OpenAIServer
from tests.skr_app.conftest import Skr


@pytest.fixture
def model(skr: Skr):
    """A server, and the options that name it."""
    with OpenAIServer(lambda _: "SUFFICIENT\nCincinnati [1].", keep_alive=False) as server:
        yield server, ("--model", "openai:tiny", "--base-url", server.url)


def test_collect_asks_nothing_twice_and_records_what_it_costs(
    skr: Skr, questions: Path, corpus: Path, tmp_path: Path, model
):
    server, named = model
    records = []
    for out in (tmp_path / "one.jsonl", tmp_path / "two.jsonl"):
        options = ("--corpus", corpus, "--out", out, "--cache", tmp_path / "cache", *named)
        result = skr("collect", questions, *options, "--ask", "prompt:can_answer", "--json")
        assert result.code == 0, result.err
        records.append(read_self_knowledge(out))
        spent = result.json["usage"]
        if len(records) == 1:
            asked = server.calls
            assert spent["calls"] == asked > 0
    assert server.calls == asked
    assert (spent["calls"], spent["cached_calls"]) == (0, asked)
    assert records[0] == records[1]


def test_a_judge_is_asked_through_the_cache_too(
    skr: Skr, questions: Path, corpus: Path, tmp_path: Path, model
):
    server, named = model
    server.reply = lambda messages: "Right, it was Ohio."  # an answer, and a verdict
    calls = []
    for name in ("one", "two"):
        options = ("--corpus", corpus, "--out", tmp_path / name, "--cache", tmp_path / "c", *named)
        result = skr("collect", questions, *options, "--judge", "openai:tiny")
        assert result.code == 0, result.err
        calls.append(server.calls)
    assert calls[0] == calls[1] > 0
    assert "replies from the cache" in result.out.replace("\n", " ")


def test_evaluate_shows_the_same_table_and_how_much_was_kept(
    skr: Skr, questions: Path, corpus: Path, tmp_path: Path, model
):
    server, named = model
    options = ("--corpus", corpus, "--cache", tmp_path / "cache", "--json", *named)
    first = skr("evaluate", questions, *options).json
    asked = server.calls
    second = skr("evaluate", questions, *options).json
    assert server.calls == asked > 0
    for system in ("single_shot", "loop"):
        assert second[system]["cached_calls"] == second[system]["calls"] > 0
        for result in (first, second):
            result[system] = {
                name: value
                for name, value in result[system].items()
                if name not in ("seconds", "cached_calls")
            }
        assert first[system] == second[system]


def test_a_damaged_cache_is_a_new_one(
    skr: Skr, questions: Path, corpus: Path, tmp_path: Path, model
):
    server, named = model
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "replies.sqlite").write_bytes(b"not a database " * 1000)
    options = ("--corpus", corpus, "--cache", cache, *named)
    assert skr("evaluate", questions, *options).code == 0
    asked = server.calls
    assert skr("evaluate", questions, *options).code == 0
    assert server.calls == asked > 0


def test_a_folder_that_cannot_be_is_one_line(
    skr: Skr, questions: Path, corpus: Path, tmp_path: Path
):
    result = skr("evaluate", questions, "--corpus", corpus, "--cache", questions)
    assert result.code == 2
    assert "cannot be used as a cache" in result.err.replace("\n", " ")
