"""Errors of a command name its flags, and no keyword of Python's."""

from __future__ import annotations

from pathlib import Path

import orjson

from skr_core import HashingEmbedder, Reference
from skr_core.types import Stamp
from skr_learn import Record, Records
from skr_learn.records import row_of
from skr_learn.routers import KNNRouter
from skr_store import Store
from tests.skr_app.conftest import Skr


def recorded(model: str) -> list[Record]:
    return [
        Record.of(
            f"What is {n} of {model}?",
            ["x"],
            direct=("", n % 2),
            single=("", 1),
            stamp=Stamp(model),
        )
        for n in range(30)
    ]


def line_of(skr: Skr, *command: object) -> str:
    refused = skr(*command)
    assert refused.code == 2, refused
    return " ".join(refused.err.split())


def test_a_router_of_another_model(skr: Skr, tmp_path: Path):
    KNNRouter.fit(recorded("other")).save(tmp_path / "router")
    said = line_of(skr, "route", "Who?", "--router", tmp_path / "router")
    assert said.endswith("use that model, make it anew, or load it with --force")


def test_a_router_of_an_embedder_that_only_its_maker_has(skr: Skr, tmp_path: Path):
    class Mine(HashingEmbedder):
        name = "mine"

    KNNRouter.fit(recorded("extractive"), embedder=Mine()).save(tmp_path / "router")
    said = line_of(skr, "route", "Who?", "--router", tmp_path / "router")
    assert said.endswith("it can be used from Python, with the embedder it was fitted with")


def test_a_store_that_is_open_elsewhere_is_asked_all_the_same(skr: Skr, tmp_path: Path):
    with Store.open(tmp_path / "store") as store:
        store.add([Reference.of("The ferry of Lorn is red.", "Ferry")])
        asked = skr("ask", "Which colour has the ferry of Lorn?", "--store", tmp_path / "store")
    assert asked.code == 0


def test_records_of_two_models(skr: Skr, tmp_path: Path):
    mixed = tmp_path / "mixed.jsonl"
    Records([*recorded("one"), *recorded("two")]).write(mixed)
    said = line_of(skr, "calibrate", mixed, "--out", tmp_path / "router")
    assert said.endswith("keep those of one, or name them: --where FIELD=VALUE")


def test_records_of_another_model_in_the_file(skr: Skr, questions: Path, tmp_path: Path):
    out = tmp_path / "records.jsonl"
    rows = [{"key": each.question, **row_of(each)} for each in recorded("other")]
    out.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"title": "A", "text": "It is."}\n')
    said = line_of(skr, "collect", questions, "--corpus", corpus, "--out", out)
    assert said.endswith("keep those of one, or give another --out")


def test_a_model_of_openai_without_a_key(skr: Skr, tmp_path: Path):
    with Store.open(tmp_path / "store") as store:
        store.add([Reference.of("It is.", "A")])
    said = line_of(skr, "ask", "What?", "--store", tmp_path / "store", "--model", "openai:x")
    assert said.endswith("set OPENAI_API_KEY, or give the --base-url of a server of yours")
