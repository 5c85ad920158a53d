"""From questions to a served router, over a real socket, in worlds of known knowledge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import worlds
from tests.servers import OpenAIServer
from tests.skr_app.conftest import Skr, in_order

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("few_trees")]

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


@pytest.mark.parametrize(
    "state", [pytest.param("right", marks=pytest.mark.soak), "half out of date", "wrong"]
)
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
    in_order(records)
    found = checked(skr("calibrate", records, "--out", router, "--json"))
    assert found["verdict"]
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


def test_weighing_answers_beats_the_constants_and_the_ladder_does_so_for_less(
    skr: Skr, server: OpenAIServer, tmp_path: Path
):
    """An arbiter has every answer made; the ladder asks for what is worth its cost."""
    state: worlds.State = "half out of date"
    train = worlds.half_known(TRAIN, state)
    test = worlds.half_known(TEST, state, first=TRAIN)
    store, records = tmp_path / "store", tmp_path / "r.jsonl"
    model = ("--model", "openai:test", "--base-url", server.url, "--store", store)
    corpus = worlds.write_corpus(tmp_path, [*train, *test])
    checked(skr("ingest", corpus, "--store", store, "--json"))
    known = worlds.write(tmp_path, "a.jsonl", train)
    checked(skr("collect", known, *model, "--out", records, "--json"))
    in_order(records)
    asked = worlds.write(tmp_path, "b.jsonl", test)
    judged = {}
    for name in ("arbiter", "ladder"):
        router = tmp_path / name
        options = ("--router", name, "--anyway", "--out", router)
        checked(skr("calibrate", records, *options, "--json"))
        systems = ("--systems", "never,single_shot,always,adaptive", "--router", router)
        judged[name] = checked(skr("evaluate", asked, *model, "--json", *systems))
    arbiter, ladder = judged["arbiter"]["adaptive"], judged["ladder"]["adaptive"]
    best = max(judged["ladder"][name]["answer_accuracy"] for name in CONSTANTS)
    assert min(each["answer_accuracy"] for each in (arbiter, ladder)) >= best + 0.1
    assert arbiter["calls"] > judged["arbiter"]["always"]["calls"]
    assert ladder["calls"] <= arbiter["calls"] - 0.4
    assert ladder["prompt_tokens"] <= 0.7 * arbiter["prompt_tokens"]
    told = checked(skr("ask", test[0].question, *model, "--router", tmp_path / "ladder", "--json"))
    assert set(told["verdict"]["answers"]) <= {"direct", "single", "loop"}
