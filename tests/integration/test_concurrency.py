"""Thirty-two questions at once: all of them wait for the model side by side."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockBuster, BlockingError
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from langchain_skr import (
    SKRChain,
    SKRRetriever,
    create_skr_chain,
    create_skr_graph,
    load_model,
)
from skr_core import Reference
from skr_store import Store
from tests.servers import OpenAIServer

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
MANY = 32
QUESTIONS = [f"What burns in lamp number {number}?" for number in range(MANY)]
REPLY = "Colza oil [1]."


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.ephemeral() as store:
        store.add([Reference.of(f"Lamp number {n} burns colza oil.") for n in range(MANY)])
        yield store


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda messages: REPLY) as server:
        yield server


@pytest.fixture
async def model(server: OpenAIServer) -> Any:
    model: Any = load_model("openai:test", base_url=server.url)
    yield model
    model.model.root_client.close()
    await model.model.root_async_client.close()


async def test_abatch(server: OpenAIServer, store: Store, model: Any) -> None:
    chain = create_skr_chain(model, store)
    server.together = MANY
    assert await chain.abatch(QUESTIONS) == [REPLY] * MANY
    assert server.peak == MANY


async def test_gathered_streams(server: OpenAIServer, store: Store, model: Any) -> None:
    chain = create_skr_chain(model, store)
    server.together = MANY

    async def streamed(question: str) -> str:
        return "".join([piece async for piece in chain.astream(question)])

    assert await asyncio.gather(*map(streamed, QUESTIONS)) == [REPLY] * MANY
    assert server.peak == MANY


def test_batch_in_as_many_threads_as_asked_for(store: Store, server: OpenAIServer) -> None:
    model: Any = load_model("openai:test", base_url=server.url)
    server.together = MANY
    chain = create_skr_chain(model, store)
    assert chain.batch(QUESTIONS, {"max_concurrency": MANY}) == [REPLY] * MANY
    assert server.peak == MANY
    model.model.root_client.close()


def test_the_command_evaluates_as_many_at_once(tmp_path: Path, server: OpenAIServer) -> None:
    questions, corpus = tmp_path / "questions.jsonl", tmp_path / "corpus.jsonl"
    asked = [
        {
            "id": str(n),
            "question": question,
            "answers": ["colza oil"],
            "supporting_titles": [f"{n}"],
        }
        for n, question in enumerate(QUESTIONS)
    ]
    passages = [
        {"id": str(n), "title": str(n), "text": f"Lamp number {n} burns colza oil."}
        for n in range(MANY)
    ]
    for path, lines in ((questions, asked), (corpus, passages)):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    server.together = MANY
    command = [sys.executable, "-m", "skr_app.main", "evaluate", str(questions)]
    command += ["--corpus", str(corpus), "--model", "openai:test", "--base-url", server.url]
    done = subprocess.run(
        [*command, "--concurrency", str(MANY), "--json"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "graphs")])},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["loop"]["answer_accuracy"] == 1
    assert server.peak == MANY


@pytest.fixture
def unblocked() -> Iterator[None]:
    """Every blocking call inside an event loop raises `BlockingError`."""
    guard = BlockBuster()
    guard.activate()
    yield
    guard.deactivate()


async def test_nothing_blocks_the_event_loop(store: Store, model: Any, unblocked: None) -> None:
    graph = create_skr_graph(model, store, reference_store=store, scope="shared")
    await graph.ainvoke({"question": QUESTIONS[0]})
    chain = SKRChain(graph)
    assert await chain.abatch(QUESTIONS[:4]) == [REPLY] * 4
    assert "".join([piece async for piece in chain.astream(QUESTIONS[0])]) == REPLY
    retriever = SKRRetriever(retriever=store, model=model)
    assert await retriever.ainvoke(QUESTIONS[0])
    output = await graph.ainvoke({"question": QUESTIONS[1]})
    assert output["stop_reason"] == "sufficient"
    assert not any(each["errors"] for each in output["rounds"])


async def test_what_would_block_is_noticed(unblocked: None) -> None:
    async def search(query: str) -> list[Document]:
        time.sleep(0.01)  # noqa: ASYNC251 - what must be noticed
        return []

    search_badly = RunnableLambda(lambda query: [], search)
    with pytest.raises(BlockingError, match=r"time\.sleep"):
        await SKRRetriever(retriever=search_badly).ainvoke("Who?")
