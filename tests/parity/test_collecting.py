"""Collecting by both plug-ins, in this process and where an engine makes the system anew."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from skr_core.engines import LocalEngine, Recipe

import langchain_skr
import llamaindex_skr
from skr_app.extractive import ExtractiveModel
from skr_core import Question
from skr_core.errors import InputError
from skr_core.flow import Flow
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_learn.self_knowledge import Judge, SelfKnowledge

ASKED = [
    Question("1", "Who directed the film Jaws?", ("Steven Spielberg",)),
    Question("2", "Where was Steven Spielberg born?", ("Cincinnati",)),
]
PASSAGES = {
    "Who directed the film Jaws?": ["Jaws is a film directed by Steven Spielberg."],
    "Where was Steven Spielberg born?": ["Steven Spielberg was born in Cincinnati."],
}


def retriever() -> MappingRetriever:
    return MappingRetriever(PASSAGES)


class Away(LocalEngine):
    """Has a worker, which is sent what makes the system and nothing else."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def map(
        self,
        recipe: Recipe[Any],
        work: Callable[[Any, Any], Flow[Any]],
        items: Iterable[Any],
        keep: Callable[[Any, Any], Flow[Any]],
        limit: int = 8,
    ) -> Flow[list[Any]]:
        if recipe.make is None:
            raise InputError("give a function that makes it")
        self.sent.append(pickle.dumps(recipe.make))
        worker = Recipe(pickle.loads(self.sent[-1])())
        return (yield from super().map(worker, work, items, keep, limit))


@pytest.fixture(params=["langchain", "llamaindex"])
def plug_in(request: pytest.FixtureRequest) -> Any:
    return {"langchain": langchain_skr, "llamaindex": llamaindex_skr}[request.param]


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_an_engine_collects_what_is_collected_here(
    plug_in: Any, colour: str, tmp_path: Path
) -> None:
    async def collected(*given: Any, **more: Any) -> list[SelfKnowledge]:
        if colour == "sync":
            return plug_in.collect(ASKED, *given, **more)
        return await plug_in.acollect(ASKED, *given, **more)

    here = await collected("extractive", retriever())
    assert [each.effect for each in here] == ["helps", "helps"]
    assert await collected("extractive", retriever(), engine=LocalEngine()) == here
    assert await collected(ExtractiveModel, retriever) == here
    away = Away()
    out = {"out": tmp_path / "records.jsonl", "ask": ["confidence"]}
    found = await collected("extractive", retriever, out, engine=away)
    assert [replace(each, statements={}) for each in found] == here
    assert [list(each.statements) for each in found] == [["confidence:punish_explain"]] * 2
    assert len(away.sent) == 2  # for the outcomes and for the statements
    assert await collected("extractive", retriever, out, engine=away) == found
    assert len(away.sent) == 4


def test_an_option_among_the_settings_is_told(plug_in: Any) -> None:
    with pytest.raises(
        TypeError, match=r"collect takes out in its fourth argument: .*'out': ...\}"
    ):
        plug_in.collect(ASKED, "extractive", retriever(), out="records.jsonl")


def judge() -> Judge:
    return Judge(ScriptedModel(otherwise="Correct"))


@pytest.mark.parametrize(
    ("model", "search"),
    [("extractive", retriever()), (ExtractiveModel(), retriever)],
    ids=["a live retriever", "a live model"],
)
def test_what_is_alive_is_not_sent(plug_in: Any, model: Any, search: Any) -> None:
    with pytest.raises(InputError, match="a function that makes it"):
        plug_in.collect(ASKED, model, search, engine=Away())


def test_settings_and_a_judge_are_made_where_the_questions_are_asked(plug_in: Any) -> None:
    away = Away()
    more = {"metric": judge, "corpus": "films"}
    found = plug_in.collect(ASKED, "extractive", retriever, more, engine=away, decompose=True)
    local = plug_in.collect(ASKED, "extractive", retriever(), more, decompose=True)
    assert found == local
    assert found[0].stamp.corpus == "films"
    assert [record.outcomes["direct"].score for record in found] == [1, 1]  # so says the judge
