"""Arbiters and reflectors behind LangChain's drop-ins: given, of a file, or of a run's config."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from langchain_skr import create_skr_chain, create_skr_graph, create_skr_tool
from skr_core.errors import InputError
from skr_core.references import UNSUPPORTED
from skr_core.replies import say_partial
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import SKRContext
from tests.skr_graphs.climbing import Knowing, ladder, question_of
from tests.skr_graphs.climbing import library as huts
from tests.skr_graphs.deciding import (
    LEADER,
    SUM,
    WRONG,
    adding,
    arbiter,
    learned,
    library,
    model_of,
)

pytestmark = pytest.mark.usefixtures("few_trees")


UNSEEN = range(30, 32)


@pytest.fixture(params=["sync", "async"])
def invoke(request: pytest.FixtureRequest) -> Any:
    async def invoke(runnable: Any, given: Any) -> Any:
        if request.param == "sync":
            return await asyncio.to_thread(runnable.invoke, given)
        return await runnable.ainvoke(given)

    return invoke


@pytest.fixture(params=["sync", "async"])
def pieces(request: pytest.FixtureRequest) -> Any:
    async def pieces(chain: Any, given: Any) -> list[Any]:
        if request.param == "sync":
            return await asyncio.to_thread(lambda: list(chain.stream(given)))
        return [piece async for piece in chain.astream(given)]

    return pieces


async def test_the_served_answer_comes_with_the_verdict(invoke: Any) -> None:
    chain = create_skr_chain(adding(), library(), arbiter=arbiter(), return_sources=True)
    answer = await invoke(chain, SUM)
    assert (answer["answer"], answer["context"], answer["grounded"]) == ("42", [], False)
    assert answer["verdict"]["served"] == "direct"
    assert answer["verdict"]["answers"]["loop"] == WRONG
    plain = await invoke(create_skr_chain(adding(), library(), return_sources=True), SUM)
    assert (plain["answer"], "verdict" in plain) == (WRONG, False)


async def test_only_the_served_answer_is_streamed(pieces: Any) -> None:
    assert await pieces(create_skr_chain(adding(), library(), arbiter=arbiter()), SUM) == ["42"]
    chain = create_skr_chain(adding(), library(), arbiter=arbiter(), return_sources=True)
    sent = await pieces(chain, SUM)
    whole = sent[0]
    for piece in sent[1:]:
        whole = whole + piece
    assert dict(whole) == {**await chain.ainvoke(SUM), "run_id": whole["run_id"]}


async def test_a_tool_says_that_references_do_not_support_it(invoke: Any) -> None:
    tool = create_skr_tool(adding(), library(), arbiter=arbiter())
    call = {"name": tool.name, "args": {"question": SUM}, "id": "1", "type": "tool_call"}
    message = await invoke(tool, call)
    assert message.content == f"42\n\n{UNSUPPORTED}"
    assert message.artifact["verdict"]["served"] == "direct"


async def test_a_saved_router_may_be_an_arbiter(invoke: Any, tmp_path: Path) -> None:
    arbiter().save(tmp_path / "router")
    graph = create_skr_graph(adding(), library(), router=tmp_path / "router")
    assert (await invoke(graph, {"question": SUM}))["answer"] == "42"
    led = create_skr_graph(
        model_of("7", "SUFFICIENT\nAda 50 [1]."), library(), router=tmp_path / "router"
    )
    output = await invoke(led, {"question": LEADER})
    assert (output["answer"], output["grounded"]) == ("Ada 50 [1].", True)


async def test_a_ladder_s_file_is_a_router(tmp_path: Path, invoke: Any) -> None:
    ladder().save(tmp_path / "router")
    chain = create_skr_chain(
        Knowing(), huts(UNSEEN), router=str(tmp_path / "router"), return_sources=True
    )
    answer = await invoke(chain, question_of("hut", 30).asked)
    served = say_partial(question_of("hut", 30).asked, "On hill 30 [1].")
    assert (answer["answer"], answer["stop_reason"]) == (served, "not_worth_it")
    assert answer["verdict"]["answers"]["direct"] == "Seven of them."
    assert len(answer["context"]) == 1
    # A run may climb by a ladder, or by none.
    plain = create_skr_chain(Knowing(), huts(UNSEEN))
    climbing = plain.with_config(configurable={"router": ladder()})
    assert await invoke(climbing, question_of("hut", 30).asked) == served
    assert await invoke(plain, question_of("hut", 30).asked) == "In the Dead Sea [2]."


QUESTION = "Who led team 7?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reflector") / "learned"
    learned().save(folder)
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


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_folder_sends_drafts_back(mode: str, folder: Path):
    chain = create_skr_chain(model(), teams(), reflector=folder)
    answer = chain.invoke(QUESTION) if mode == "sync" else await chain.ainvoke(QUESTION)
    assert answer == "Ada 7 [2]."
    assert create_skr_chain(model(), teams()).invoke(QUESTION) == "Ben Frost [1]."


def test_a_run_may_name_no_folder_of_the_server(folder: Path):
    graph = create_skr_graph(model(), teams())
    context: Any = SKRContext(reflector=str(folder))  # type: ignore[arg-type]  # as a client may
    with pytest.raises(InputError, match="the file of a saved reflector is given to the factory"):
        graph.invoke({"question": QUESTION}, context=context)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_run_s_config_may_replace_the_arbiter(mode: str):
    chain = create_skr_chain(adding(), library())
    weighed = chain.with_config(configurable={"arbiter": arbiter()})
    if mode == "sync":
        answers = await asyncio.to_thread(lambda: [chain.invoke(SUM), weighed.invoke(SUM)])
    else:
        answers = [await chain.ainvoke(SUM), await weighed.ainvoke(SUM)]
    assert answers == [WRONG, "42"]
    assert "arbiter" in {each.id for each in chain.config_specs}
