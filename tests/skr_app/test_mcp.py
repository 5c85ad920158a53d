"""The store as tools of an MCP client: the SDK's own client asks, in process and over stdio."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from skr_app.commands.mcp import create_server
from skr_core import Reference, Settings
from skr_core.testing import ScriptedModel
from skr_store import Store
from tests.skr_app.conftest import Skr

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "Where was the director of Jaws born?"
JAWS = Reference.of("Jaws is a film by Steven Spielberg.", "Jaws", metadata={"source": "a.md"})
SECRET = Reference.of("The director of Jaws has a secret.", metadata={"source": "b.md"})


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.ephemeral(search="bm25") as made:
        made.add([JAWS])
        made.add([SECRET], scope="another tenant")
        yield made


def said(result: Any) -> Any:
    assert not result.is_error, result.content
    found = result.structured_content
    return found["result"] if set(found) == {"result"} else found


async def test_a_client_asks_searches_and_lists(store: Store) -> None:
    model = ScriptedModel(["SUFFICIENT\nSteven Spielberg [1]."])
    async with Client(create_server(Settings.of(model, store), store)) as client:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        assert set(tools) == {"ask", "search", "sources"}
        assert tools["ask"].input_schema["required"] == ["question"]
        source = {"title": "Jaws", "source": "a.md", "place": "Jaws", "text": JAWS.text}
        assert said(await client.call_tool("ask", {"question": "Who directed Jaws?"})) == {
            "answer": "Steven Spielberg [1].",
            "sufficient": True,
            "from_memory": False,
            "sources": [{"number": 1, **source, "quotes": [JAWS.text]}],
        }
        assert said(await client.call_tool("search", {"query": "director Jaws film"})) == [source]
        assert said(await client.call_tool("sources", {})) == [{"name": "a.md", "passages": 1}]


async def test_what_cannot_be_answered_is_said_to_the_client(store: Store) -> None:
    model = ScriptedModel({"answer_with_references": ["INSUFFICIENT\nMissing: his birthplace"]})
    async with Client(create_server(Settings.of(model, store), store)) as client:
        assert not said(await client.call_tool("ask", {"question": QUESTION}))["sufficient"]
        failed = await client.call_tool("ask", {"question": " "})
        assert failed.is_error
        assert "question" in failed.content[0].text


@pytest.mark.integration
async def test_over_standard_input_and_output_nothing_but_the_protocol_is_said(
    skr: Skr, corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "store"
    assert skr("ingest", corpus, "--store", folder).code == 0
    path = os.pathsep.join([str(ROOT), str(ROOT / "graphs")])
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "skr_app", "mcp", "--store", str(folder)],
        env={**os.environ, "PYTHONPATH": path},
    )
    async with Client(command, read_timeout_seconds=120) as client:
        answer = said(await client.call_tool("ask", {"question": QUESTION}))
        assert "Cincinnati" in answer["answer"]
        assert "Cincinnati" in json.dumps(answer["sources"])


def test_a_store_that_is_not_there_is_one_line_and_nothing_on_standard_output(
    skr: Skr, tmp_path: Path
) -> None:
    result = skr("mcp", "--store", tmp_path / "none")
    assert (result.code, result.out) == (2, "")
    assert "there is no store at" in result.err
