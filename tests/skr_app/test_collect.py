"""``skr collect`` with a store and the extractive model."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
import typer
from typer.testing import CliRunner

from skr_app import models
from skr_app.commands import collect as command
from skr_app.models import Limits, Models
from skr_app.opening import open_settings
from skr_app.options import BatchOptions
from skr_core import Reference
from skr_core.errors import BudgetError, InputError, ModelError
from skr_core.testing import BrokenModel, ScriptedModel
from skr_learn import Records
from skr_learn.scoring import Judge
from skr_store import Store
from tests.skr_app.conftest import Skr

app = typer.Typer()
app.command()(command.collect)


@pytest.fixture
def store(skr: Skr, corpus: Path, tmp_path: Path) -> Path:
    path = tmp_path / "store"
    assert skr("ingest", corpus, "--store", path).code == 0
    return path


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    path = tmp_path / "asked.jsonl"
    rows = [
        {"question": "Who directed the film Jaws?", "answers": ["Steven Spielberg"]},
        {"question": "Where was Steven Spielberg born?", "answers": ["Cincinnati"]},
        {"question": "Why?", "answers": []},
    ]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def invoke(*arguments: object) -> object:
    named = [] if "--model" in arguments else ["--model", "extractive"]
    return CliRunner().invoke(app, [*map(str, arguments), *named], catch_exceptions=False)


def test_collects_and_goes_on(asked: Path, store: Path, tmp_path: Path):
    out = tmp_path / "records.jsonl"
    first = invoke(asked, "--store", store, "--out", out, "--limit", 1, "--json")
    assert first.exit_code == 0
    found = orjson.loads(first.stdout)
    assert (found["n"], found["reused"], found["unscored"]) == (1, 0, 0)
    found = orjson.loads(invoke(asked, "--store", store, "--out", out, "--json").stdout)
    assert (found["n"], found["reused"], found["unscored"], found["failed"]) == (2, 1, 1, 0)
    assert sum(found["effects"].values()) == 2
    assert found["accuracy"]["loop"] > found["accuracy"]["direct"] == 0.0
    assert found["best_of_all"] >= found["accuracy"]["loop"]
    assert found["retrievals"]["single"] == 1.0
    records = Records.read(out)
    assert len(records) == 2
    assert records[0].stamp.model
    assert records[0].stamp.corpus == "store"


def test_the_questions_own_contexts_are_searched(tmp_path: Path):
    questions = tmp_path / "questions.jsonl"
    row = {"question": "Who directed Jaws?", "answer": "Steven Spielberg"}
    row["contexts"] = [{"title": "Jaws", "text": "Jaws was directed by Steven Spielberg."}]
    questions.write_bytes(orjson.dumps(row))
    out = tmp_path / "records.jsonl"
    found = orjson.loads(invoke(questions, "--out", out, "--json").stdout)
    assert (found["n"], found["accuracy"]["single"]) == (1, 1.0)
    assert Records.read(out)[0].stamp.corpus.startswith("contexts (1 passages")


def test_questions_without_answers_are_not_asked(skr: Skr, store: Path, tmp_path: Path):
    questions, out = tmp_path / "why.jsonl", tmp_path / "records.jsonl"
    questions.write_bytes(orjson.dumps({"question": "Why?", "answers": []}))
    result = skr("collect", questions, "--store", store, "--out", out)
    assert (result.code, "no question has a right answer" in result.err) == (2, True)
    assert not out.exists()


def test_for_people_it_says_what_retrieval_did(asked: Path, store: Path, tmp_path: Path):
    result = invoke(asked, "--store", store, "--out", tmp_path / "r.jsonl", "--metric", "f1")
    assert result.exit_code == 0
    assert "from memory" in result.stdout
    assert "(from memory)\t0.000\t" in result.stdout
    assert "2 records in" in result.stdout.replace("\n", " ")
    assert "no right answer is given" in result.stdout
    assert Records.read(tmp_path / "r.jsonl")[0].stamp.metric == "f1"


def test_a_judge_takes_the_metrics_place(
    asked: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked_for = {"student": ScriptedModel(["Spielberg"]), "judge": ScriptedModel(["right"])}
    monkeypatch.setattr(models, "make_model", lambda name, *_: asked_for[name])
    out = tmp_path / "r.jsonl"
    options = ("--model", "student", "--judge", "judge", "--json")
    assert invoke(asked, "--store", store, "--out", out, *options).exit_code == 0
    assert {record.stamp.metric for record in Records.read(out)} == {Judge(asked_for["judge"]).name}


def test_a_model_that_never_answers_is_an_error(
    asked: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(models, "make_model", lambda *_: BrokenModel())
    with pytest.raises(ModelError, match="every question failed"):
        invoke(asked, "--store", store, "--out", tmp_path / "r.jsonl")


def test_some_failures_are_told_of(
    asked: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class Moody(ScriptedModel):
        def generate(self, prompt, *, on_token=None):
            if "born" in prompt.question:
                raise ModelError("overloaded")
            return super().generate(prompt)

    monkeypatch.setattr(models, "make_model", lambda *_: Moody(["Spielberg"]))
    result = invoke(asked, "--store", store, "--out", tmp_path / "r.jsonl")
    assert result.exit_code == 0
    assert "1 question failed" in result.stderr
    assert "overloaded" in result.stderr


def test_a_missing_file_is_an_error(store: Path, tmp_path: Path):
    with pytest.raises(InputError, match="no file"):
        invoke(tmp_path / "missing.jsonl", "--store", store)


OPTIONS = BatchOptions(
    model="extractive", search="bm25", max_rounds=2, when_insufficient="refuse", deadline=7.0
)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    command._opened().close()


def test_a_recipe_travels_and_is_opened_within_its_limits(tmp_path: Path):
    with Store.open(tmp_path / "store", search="bm25") as store:
        store.add([Reference.of("Jaws was directed by Steven Spielberg.", "Jaws")])
        words = tmp_path / "words.json"
        words.write_text('{"answer_directly": "In one word: {question}"}')
        mine = replace(OPTIONS, templates=words)
        here = open_settings(mine, Models(limits=Limits.of(OPTIONS.deadline)), store)
    prices = tmp_path / "prices.json"
    prices.write_text('{"extractive": {"prompt": 1e6, "completion": 1e6}}')
    options = replace(mine, max_spend=0.5, prices=prices)
    recipe = command.SystemRecipe(options, str(tmp_path / "store"))
    there = pickle.loads(pickle.dumps(recipe)).answerer()
    assert there.settings.stamp() == here.stamp()
    assert there.settings.budget.deadline_s == 7.0
    assert there.answer("Who directed Jaws?", "direct").text
    with pytest.raises(BudgetError, match="US dollars are spent"):
        there.answer("Who directed Jaws?", "direct")


def test_a_cluster_shares_a_store_by_its_address(skr: Skr, questions: Path, tmp_path: Path):
    cluster: Any = SimpleNamespace(is_local=False, count=2)
    options = replace(OPTIONS, store=str(tmp_path))
    with ExitStack() as stack, pytest.raises(InputError, match="give --store http://HOST:8000"):
        command._for_workers(stack, cluster, options, [])


def test_each_worker_has_an_equal_share_of_what_may_be_spent():
    cluster: Any = SimpleNamespace(is_local=False, count=4)
    options = replace(OPTIONS, store="http://host:8000", max_spend=2.0, requests_per_second=8.0)
    with ExitStack() as stack:
        recipe, searched = command._for_workers(stack, cluster, options, [])
    assert (recipe.options.max_spend, recipe.options.requests_per_second) == (0.5, 2.0)
    assert searched == "http://host:8000"


@pytest.mark.parametrize("kind", ["", "ray://"])
def test_a_cluster_that_is_not_there_is_said_at_once(
    skr: Skr, questions: Path, kind: str, port: int
):
    pytest.importorskip("ray")
    address = f"{kind}127.0.0.1:{port}"
    result = skr("collect", questions, "--engine", "ray", "--address", address)
    assert (result.code, result.out) == (1, "")
    assert f"no Ray answers at {address}: " in " ".join(result.err.split())


@pytest.mark.parametrize(
    "option",
    [("--workers", 2), ("--address", "localhost:6379"), ("--engine", "local", "--workers", 1)],
)
def test_options_of_another_engine_are_refused(
    skr: Skr, questions: Path, option: tuple[object, ...]
):
    result = skr("collect", questions, *option)
    assert (result.code, "is for --engine ray" in result.err) == (2, True)


def test_requests_a_second(skr: Skr, corpus: Path, questions: Path, tmp_path: Path):
    options = [questions, "--corpus", corpus, "--out", tmp_path / "records.jsonl"]
    result = skr("collect", *options, "--requests-per-second", "0")
    assert (result.code, result.out) == (2, "")
    assert "requests_per_second must be above 0" in result.err
    assert skr("collect", *options, "--requests-per-second", "1000").code == 0
