"""The models that options name: their cache, their limits and their reflectors."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skr_app.models import Limits, Models
from skr_core import Answer, Question
from skr_core.errors import InputError
from skr_core.flow import Flow, arun, call
from skr_core.testing import ScriptedModel
from skr_core.types import Stamp
from skr_learn import LearnedReflector, Records
from skr_learn.evaluate import System
from tests.servers import OpenAIServer
from tests.skr_app.conftest import Skr
from tests.skr_learn.routers.facts import records


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
        records.append(Records.read(out))
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


pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("refusal", "refusal"),
        ("judge", "judge:mine"),
        ("judge:extractive", "judge:extractive"),
        ("entailment:lexical", "entailment:lexical"),
        ("entailment:judge:extractive", "entailment:judge:extractive"),
    ],
)
def test_an_option_names_a_reflector(spec: str, name: str):
    assert str(Models().reflector(spec, ScriptedModel(name="mine")).name).startswith(name)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("magic", "--reflector magic: give refusal, judge, judge:MODEL"),
        ("entailment", "--reflector entailment: give"),
        ("learned", "or learned:FILE"),
        ("entailment:magic", "no entailment model is 'magic': give lexical"),
        ("learned:no/such/folder", "no saved router or reflector at no/such/folder"),
    ],
)
def test_what_names_none_is_told(spec: str, message: str):
    with pytest.raises(InputError, match=message):
        Models().reflector(spec, ScriptedModel())


@pytest.fixture
def learned(skr: Skr, tmp_path: Path) -> Callable[..., Path]:
    def learned(stamp: Stamp = Stamp()) -> Path:
        path, out = tmp_path / "records.jsonl.gz", tmp_path / "my router"
        Records([replace(each, stamp=stamp) for each in records(30)]).write(path)
        options = ("--out", out, "--router", "question", "--reflector", "--json")
        result = skr("calibrate", path, *options)
        assert result.code == 0, result.err
        return out

    return learned


def test_what_calibrate_saves_judges_what_is_asked(
    skr: Skr, corpus: Path, tmp_path: Path, learned: Callable[..., Path]
):
    store = tmp_path / "store"
    assert skr("ingest", corpus, "--store", store, "--json").code == 0
    question = "Who directed Jaws?"
    option = ("--reflector", f"learned:{learned()}")
    output = skr("ask", question, "--store", store, *option, "--json").json
    reasons = [each["reflection"]["reason"] for each in output["rounds"] if each["reflection"]]
    assert any("the draft is right with an estimated chance of" in reason for reason in reasons)
    plain = skr("ask", question, "--store", store, "--json").json
    assert "chance" not in str([each["reflection"] for each in plain["rounds"]])


def test_one_of_another_model_is_refused_unless_forced(
    skr: Skr, corpus: Path, tmp_path: Path, learned: Callable[..., Path]
):
    store, folder = tmp_path / "store", learned(Stamp(model="another"))
    assert skr("ingest", corpus, "--store", store, "--json").code == 0
    asked = ("ask", "Who directed Jaws?", "--store", store, "--reflector", f"learned:{folder}")
    refused = skr(*asked, "--json")
    assert refused.code == 2
    assert "made with the model 'another', not 'extractive'" in refused.err
    assert skr(*asked, "--force", "--json").code == 0


def test_records_and_runs_of_another_reflector_are_told_apart(
    skr: Skr, corpus: Path, questions: Path, tmp_path: Path, learned: Callable[..., Path]
):
    stamps = set()
    for option in ("refusal", "entailment:lexical", f"learned:{learned()}"):
        out = tmp_path / f"{len(stamps)}.jsonl"
        asked = ("--corpus", corpus, "--reflector", option, "--json")
        assert skr("collect", questions, *asked, "--out", out).code == 0
        stamps |= {each.stamp for each in Records.read(out)}
        found = skr("evaluate", questions, *asked, "--systems", "loop")
        assert found.code == 0, found.err
    assert len(stamps) == 3


def test_for_people_calibrate_says_how_to_use_it(skr: Skr, tmp_path: Path):
    path, out = tmp_path / "records.jsonl.gz", tmp_path / "my router"
    Records(records(30)).write(path)
    options = ("--out", out, "--router", "question")
    assert "reflector" not in skr("calibrate", path, *options).out
    with pytest.raises(InputError, match="holds no reflector"):
        LearnedReflector.load(out)
    *_, use = skr("calibrate", path, *options, "--reflector").out.splitlines()
    assert shlex.split(use)[-4:] == ["--router", str(out), "--reflector", f"learned:{out}"]


def test_a_system_keeps_to_the_seconds_of_a_question():
    def never(question: Question) -> Flow[Answer]:
        return call(lambda _: time.sleep(60), lambda _: asyncio.sleep(60), question)

    late = Limits(seconds=1e-9).system(System("late", never))
    with pytest.raises(TimeoutError):
        asyncio.run(arun(late.ask(Question("1", "Who directed Jaws?", ()))))
    assert Limits().system(late) is late
