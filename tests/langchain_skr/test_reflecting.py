"""A learned reflector's folder, and what a run's config replaces of reflector and arbiter."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from langchain_skr import create_skr_chain, create_skr_graph
from skr_core.errors import InputError
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import SKRContext
from skr_learn import LearnedReflector
from tests.skr_graphs.deciding import SUM, WRONG, adding, arbiter, library
from tests.skr_learn.reflectors.test_learned import record

QUESTION = "Who led team 7?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reflector")
    LearnedReflector.fit([record(number) for number in range(120)]).save(folder)
    return folder


def model() -> ScriptedModel:
    return ScriptedModel(
        {
            "answer_with_references": ["SUFFICIENT\nBen Frost [1].", "SUFFICIENT\nAda 7 [2]."],
            "self_complete": ["team 7 leader"],
        }
    )


def teams() -> MappingRetriever:
    return MappingRetriever({QUESTION: ["Team 7 won."], "team 7 leader": ["Ada 7 led team 7."]})


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_folder_sends_drafts_back(colour: str, folder: Path):
    chain = create_skr_chain(model(), teams(), reflector=folder)
    answer = chain.invoke(QUESTION) if colour == "sync" else await chain.ainvoke(QUESTION)
    assert answer == "Ada 7 [2]."
    assert create_skr_chain(model(), teams()).invoke(QUESTION) == "Ben Frost [1]."


def test_a_run_may_name_no_folder_of_the_server(folder: Path):
    graph = create_skr_graph(model(), teams())
    context: Any = SKRContext(reflector=str(folder))  # type: ignore[arg-type]  # as a client may
    with pytest.raises(InputError, match="a reflector's folder is given to the factory"):
        graph.invoke({"question": QUESTION}, context=context)


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_run_s_config_may_replace_the_arbiter(colour: str):
    chain = create_skr_chain(adding(), library())
    weighed = chain.with_config(configurable={"arbiter": arbiter()})
    if colour == "sync":
        answers = await asyncio.to_thread(lambda: [chain.invoke(SUM), weighed.invoke(SUM)])
    else:
        answers = [await chain.ainvoke(SUM), await weighed.ainvoke(SUM)]
    assert answers == [WRONG, "42"]
    assert "arbiter" in {each.id for each in chain.config_specs}
