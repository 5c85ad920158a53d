"""``--likelihoods``, over a socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skr_app.models import Models
from skr_app.opening import open_settings
from skr_app.options import SystemOptions
from skr_core.testing import MappingRetriever, ScriptedModel, WordScorer
from skr_learn import Ladder, read_self_knowledge
from skr_learn.arbiters import MarginArbiter
from tests.integration.test_likelihoods import knowing
from tests.servers import OpenAIServer
from tests.skr_app.conftest import Skr
from tests.skr_learn.reflectors.test_learned import record

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("few_trees")]


def test_the_command_collects_and_asks_with_them(skr: Skr, tmp_path: Path, corpus: Path) -> None:
    def reply(messages: Any) -> str:
        prompt = str(messages[-1]["content"])
        return "SUFFICIENT\nBen Frost [1]." if "[1]" in prompt else "Steven Spielberg"

    questions, records = tmp_path / "q.jsonl", tmp_path / "r.jsonl"
    questions.write_text('{"question": "Who directed Jaws?", "answers": ["Steven Spielberg"]}\n')
    likely = knowing("Steven", "Spielberg")
    with OpenAIServer(reply, likelihood=likely, keep_alive=False) as server:
        model = ("--model", "openai:llama", "--base-url", server.url, "--likelihoods", "--json")
        collected = skr("collect", questions, "--corpus", corpus, *model, "--out", records)
        assert collected.code == 0, collected.err
        [record] = read_self_knowledge(records)
        assert record.retrieved.margins is not None
        assert record.retrieved.margins.prior == pytest.approx(-3.875)
        store = tmp_path / "store"
        assert skr("ingest", corpus, "--store", store, "--json").code == 0
        asked = skr("ask", "Who directed Jaws?", "--store", store, *model)
        assert asked.code == 0, asked.err
        assert (asked.json["answer"], asked.json["verdict"]["served"]) == (
            "Steven Spielberg",
            "direct",
        )
        assert asked.json["usage"]["arbitrate"]["calls"] == 7
    refused = skr("ask", "Who?", "--store", store, "--likelihoods")
    assert refused.code == 2
    assert "--likelihoods needs a model behind a server" in refused.err


def test_a_ladder_is_not_set_aside_for_the_rule(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(Models, "model", lambda *_: ScriptedModel())
    monkeypatch.setattr(Models, "likelihoods", lambda *_: WordScorer())
    models, retriever, likely = Models(), MappingRetriever({}), SystemOptions(likelihoods=True)
    assert isinstance(open_settings(likely, models, retriever).arbiter, MarginArbiter)
    assert open_settings(SystemOptions(), models, retriever).arbiter is None
    Ladder.fit([record(number) for number in range(60)]).save(tmp_path)
    climbing = open_settings(likely, models, retriever, router=tmp_path)
    assert isinstance(climbing.arbiter, Ladder)
