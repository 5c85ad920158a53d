"""From questions to a served router, over a real socket, in worlds of known knowledge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skr_core.arbiters import Arbiter
from skr_core.routers import AlwaysRetrieve
from skr_core.self_knowledge.importers import read_self_knowledge
from tests import worlds
from tests.servers import OpenAIServer
from tests.skr_app.conftest import Skr

pytestmark = pytest.mark.integration

TRAIN, TEST = 80, 60
CONSTANTS = ("never", "single_shot", "always")


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    # A command leaves its connections to the end of its process, which here goes on.
    with OpenAIServer(worlds.reply, keep_alive=False) as server:
        yield server


def checked(result: Any) -> Any:
    assert result.code == 0, result.err
    return result.json


@pytest.mark.parametrize("state", ["right", "half out of date", "wrong"])
def test_a_calibrated_router_is_never_below_the_best_constant(
    state: worlds.State, skr: Skr, server: OpenAIServer, tmp_path: Path
):
    train = worlds.half_known(TRAIN, state)
    test = worlds.half_known(TEST, state, first=TRAIN)
    store, records, router = tmp_path / "store", tmp_path / "r.jsonl", tmp_path / "router"
    model = ("--model", "openai:test", "--base-url", server.url, "--store", store)
    corpus = worlds.write_corpus(tmp_path, [*train, *test])
    checked(skr("ingest", corpus, "--store", store, "--json"))
    asked = worlds.write(tmp_path, "train.jsonl", train)
    collected = checked(skr("collect", asked, *model, "--out", records, "--json"))["accuracy"]
    found = checked(skr("calibrate", records, "--out", router, "--json"))
    assert found["sentence"]
    judged = checked(
        skr(
            *("evaluate", worlds.write(tmp_path, "test.jsonl", test), *model, "--json"),
            *("--systems", "never,single_shot,always,adaptive", "--router", router),
        )
    )
    accuracy = {name: judged[name]["answer_accuracy"] for name in (*CONSTANTS, "adaptive")}
    best = max(accuracy[name] for name in CONSTANTS)
    assert accuracy["adaptive"] >= best
    if state == "half out of date":
        assert accuracy["adaptive"] >= best + 0.3
        assert (collected["direct"], collected["loop"]) == (0.5, 0.5)
    elif state == "right":
        assert collected["loop"] == accuracy["always"] == 1.0
    else:
        assert accuracy["always"] == 0.0
        assert accuracy["adaptive"] == accuracy["never"] == 0.5


def test_what_is_collected_is_what_is_evaluated(skr: Skr, server: OpenAIServer, tmp_path: Path):
    facts = [
        *(worlds.office_fact(name, "right") for name in worlds.NAMES[:20]),
        *worlds.half_known(20, "half out of date", first=20),
    ]
    store = tmp_path / "store"
    model = ("--model", "openai:test", "--base-url", server.url, "--store", store)
    checked(skr("ingest", worlds.write_corpus(tmp_path, facts), "--store", store, "--json"))
    asked = worlds.write(tmp_path, "asked.jsonl", facts)
    collected = checked(skr("collect", asked, *model, "--out", tmp_path / "r.jsonl", "--json"))
    judged = checked(skr("evaluate", asked, *model, "--systems", ",".join(CONSTANTS), "--json"))
    assert collected["n"] == len(facts)
    assert collected["accuracy"] == {
        action: judged[name]["answer_accuracy"]
        for action, name in zip(("direct", "single", "loop"), CONSTANTS, strict=True)
    }
    assert collected["accuracy"]["loop"] > collected["accuracy"]["single"]


def test_an_arbiter_alone_serves_more_right_answers_than_either_constant(
    skr: Skr, server: OpenAIServer, tmp_path: Path
):
    """Every question is searched, and the model's own answer stands beside what was found."""
    state: worlds.State = "half out of date"
    train = worlds.half_known(TRAIN, state)
    test = worlds.half_known(TEST, state, first=TRAIN)
    store, records, always = tmp_path / "store", tmp_path / "r.jsonl", tmp_path / "always"
    model = ("--model", "openai:test", "--base-url", server.url, "--store", store)
    checked(
        skr("ingest", worlds.write_corpus(tmp_path, [*train, *test]), "--store", store, "--json")
    )
    checked(
        skr("collect", worlds.write(tmp_path, "a.jsonl", train), *model, "--out", records, "--json")
    )
    AlwaysRetrieve().save(always)
    Arbiter.fit(read_self_knowledge(records)).save(always)
    judged = checked(
        skr(
            *("evaluate", worlds.write(tmp_path, "b.jsonl", test), *model, "--json"),
            *("--systems", "never,single_shot,always,adaptive", "--router", always),
        )
    )
    best = max(judged[name]["answer_accuracy"] for name in CONSTANTS)
    assert judged["adaptive"]["answer_accuracy"] >= best + 0.1
    # One direct call a question more than always retrieving, and its few tokens.
    assert judged["adaptive"]["calls"] == judged["always"]["calls"] + 1
    assert 0 < judged["adaptive"]["prompt_tokens"] - judged["always"]["prompt_tokens"] < 100
