"""An arbiter behind LangChain's drop-ins: what is served, and what is told of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from langchain_skr import create_skr_chain, create_skr_graph, create_skr_tool
from skr_core.references.citations import UNSUPPORTED
from skr_core.routers import AlwaysRetrieve
from tests.skr_graphs.climbing import Knowing, ladder, question_of
from tests.skr_graphs.climbing import library as huts
from tests.skr_graphs.deciding import LEADER, SUM, WRONG, adding, arbiter, library, model_of

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
    told = await pieces(chain, SUM)
    whole = told[0]
    for piece in told[1:]:
        whole = whole + piece
    assert dict(whole) == await chain.ainvoke(SUM)


async def test_a_tool_says_that_references_do_not_support_it(invoke: Any) -> None:
    tool = create_skr_tool(adding(), library(), arbiter=arbiter())
    call = {"name": tool.name, "args": {"question": SUM}, "id": "1", "type": "tool_call"}
    message = await invoke(tool, call)
    assert message.content == f"42\n\n{UNSUPPORTED}"
    assert message.artifact["verdict"]["served"] == "direct"


async def test_a_folder_holds_router_and_arbiter(invoke: Any, tmp_path: Path) -> None:
    AlwaysRetrieve().save(tmp_path)
    arbiter().save(tmp_path)
    graph = create_skr_graph(adding(), library(), router=tmp_path)
    assert (await invoke(graph, {"question": SUM}))["answer"] == "42"
    led = create_skr_graph(model_of("7", "SUFFICIENT\nAda 50 [1]."), library(), router=tmp_path)
    output = await invoke(led, {"question": LEADER})
    assert (output["answer"], output["grounded"]) == ("Ada 50 [1].", True)


async def test_a_ladder_s_folder_is_a_router(tmp_path: Path, invoke: Any) -> None:
    ladder().save(tmp_path)
    chain = create_skr_chain(Knowing(), huts(UNSEEN), router=str(tmp_path), return_sources=True)
    answer = await invoke(chain, question_of("hut", 30).asked)
    assert (answer["answer"], answer["stop_reason"]) == ("On hill 30 [1].", "not_worth_it")
    assert answer["verdict"]["answers"]["direct"] == "Seven of them."
    assert len(answer["context"]) == 1
    # A run may climb by a ladder, or by none.
    plain = create_skr_chain(Knowing(), huts(UNSEEN))
    climbing = plain.with_config(configurable={"router": ladder()})
    assert await invoke(climbing, question_of("hut", 30).asked) == "On hill 30 [1]."
    assert await invoke(plain, question_of("hut", 30).asked) == "In the Dead Sea [2]."
