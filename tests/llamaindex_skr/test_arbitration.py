"""Arbiters and learned reflectors behind LlamaIndex's drop-ins."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from pydantic import PrivateAttr

from llamaindex_skr import SKRChatEngine, SKRQueryEngine, SKRVerdictEvent, create_skr_tool
from skr_core.references import UNSUPPORTED
from skr_core.replies import say_partial
from tests.langchain_skr.test_reflecting import QUESTION, model, teams
from tests.skr_graphs.climbing import Knowing, ladder, question_of
from tests.skr_graphs.climbing import library as huts
from tests.skr_graphs.deciding import SUM, WRONG, adding, arbiter, learned, library

pytestmark = pytest.mark.usefixtures("few_trees")


class Verdicts(BaseEventHandler):
    _seen: list[SKRVerdictEvent] = PrivateAttr(default_factory=list)

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        if isinstance(event, SKRVerdictEvent):
            self._seen.append(event)


@pytest.fixture
def verdicts() -> Iterator[Verdicts]:
    handlers, seen = get_dispatcher().event_handlers, Verdicts()
    handlers.append(seen)
    yield seen
    handlers.remove(seen)


def engine_of(**options: Any) -> SKRQueryEngine:
    return SKRQueryEngine.from_defaults(library(), llm=adding(), **options)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_served_answer_comes_with_the_verdict(mode: str, verdicts: Verdicts) -> None:
    engine = engine_of(arbiter=arbiter())
    if mode == "sync":
        response: Any = await asyncio.to_thread(engine.query, SUM)
    else:
        response = await engine.aquery(SUM)
    assert (response.response, response.source_nodes) == ("42", [])
    assert response.metadata["grounded"] is False
    assert response.metadata["verdict"]["served"] == "direct"
    assert response.metadata["verdict"]["answers"]["loop"] == WRONG
    assert [event.verdict.served for event in verdicts._seen] == ["direct"]


def test_without_one_there_is_no_verdict(verdicts: Verdicts) -> None:
    response: Any = engine_of().query(SUM)
    assert (response.response, "verdict" in response.metadata) == (WRONG, False)
    assert verdicts._seen == []


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_only_the_served_answer_is_streamed(mode: str) -> None:
    engine = engine_of(arbiter=arbiter(), streaming=True)
    if mode == "sync":
        response: Any = engine.query(SUM)
        tokens = list(response.response_gen)
    else:
        response = await engine.aquery(SUM)
        tokens = [token async for token in response.response_gen]
    assert ("".join(tokens), response.response_txt) == ("42", "42")
    assert response.metadata["verdict"]["served"] == "direct"


async def test_a_tool_says_that_references_do_not_support_it() -> None:
    output = await create_skr_tool(engine_of(arbiter=arbiter())).acall(SUM)
    assert output.content == f"42\n\n{UNSUPPORTED}"


def test_a_saved_router_may_be_an_arbiter(tmp_path: Path) -> None:
    arbiter().save(tmp_path / "router")
    engine = engine_of(router=tmp_path / "router")
    assert str(engine.query(SUM)) == "42"
    chat = SKRChatEngine.from_defaults(library(), llm=adding(), router=tmp_path / "router")
    assert chat.chat(SUM).response == "42"
    # It was read once.
    (tmp_path / "router").unlink()
    assert str(engine.query(SUM)) == "42"


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_ladder_s_file_is_a_router(mode: str, tmp_path: Path) -> None:
    ladder().save(tmp_path / "router")
    engine = SKRQueryEngine.from_defaults(
        huts(range(30, 32)), llm=Knowing(), router=tmp_path / "router"
    )
    asked = question_of("hut", 30).asked
    if mode == "sync":
        response: Any = await asyncio.to_thread(engine.query, asked)
    else:
        response = await engine.aquery(asked)
    assert response.response == say_partial(asked, "On hill 30 [1].")
    assert response.metadata["stop_reason"] == "not_worth_it"
    assert response.metadata["verdict"]["answers"]["direct"] == "Seven of them."
    assert len(response.source_nodes) == 1


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_learned_reflector_s_file_is_read_once(mode: str, tmp_path: Path):
    learned().save(tmp_path / "router")
    engine = SKRQueryEngine.from_defaults(teams(), llm=model(), reflector=tmp_path / "router")
    rmtree(tmp_path)
    if mode == "sync":
        response = await asyncio.to_thread(engine.query, QUESTION)
    else:
        response = await engine.aquery(QUESTION)
    assert str(response) == "Ada 7 [2]."
