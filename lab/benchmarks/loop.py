"""The loop's own time beside a graph written by hand.

The peers are LangGraph graphs that make the same calls, of a model and a retriever that are
LangChain's base classes and reply at once, so that what is measured is what stands around them. One
has the same nodes, plain functions of a few lines each but for those that wait. Under `ainvoke`
LangGraph runs a plain function in a thread, so there the same peer stands once more with coroutines
alone. The other has just two nodes, which retrieve, and answer with the verdict and the next query.
All are asked in turn, in one process; seconds are those of the processor, and the quicker quarter
of the turns counts, because whatever else the machine does only adds to them. With SQLite each step
is saved in a file, and each question has a thread of its own.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from statistics import median
from typing import Any
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.peers import AWAITED, PEERS
from benchmarks.rows import Row
from langchain_skr import create_skr_graph

QUESTION = "What is query 1?"
FILLING = "It says many things about the matter at hand. " * 8


class Chat(BaseChatModel):
    """Asks for one query more until it has seen what so many rounds bring."""

    rounds: int

    @property
    def _llm_type(self) -> str:
        return "instant"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        seen = max(map(int, re.findall(r"of query (\d)", messages[-1].text)))
        said = "SUFFICIENT\nIt is so [1]."
        if seen < self.rounds:
            said = f"INSUFFICIENT\nIt is partly so [1].\nSearch: query {seen + 1}"
        spent = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        message = AIMessage(said, usage_metadata=spent)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return self._generate(messages)


class Search(BaseRetriever):
    """Finds four documents for a query."""

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        number = re.findall(r"\d", query)[0]
        texts = (f"Passage {place} of query {number}. {FILLING}" for place in range(4))
        return [
            Document(text, metadata={"source": f"{number}-{place}"})
            for place, text in enumerate(texts)
        ]

    async def _aget_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return self._get_relevant_documents(query)


def config() -> Any:
    return {"configurable": {"thread_id": uuid4().hex}}


def rows(quick: bool) -> Iterator[Row]:
    """One round and three, sync and async, without and with a saver."""
    turns = 12 if quick else 200
    for rounds in (1, 3):
        for awaited in (False, True):
            for saved in (False, True):
                compare = acompared if awaited else compared
                with tempfile.TemporaryDirectory() as folder:
                    spent = compare(rounds, turns, folder if saved else None)
                told = f"{rounds} round{'s' * (rounds > 1)}{', SQLite' if saved else ''}"
                what = f"`{'a' * awaited}invoke`, {told}"
                for peer in AWAITED if awaited else PEERS:
                    yield Row(what, spent["ours"], "ms", peer, spent[peer])


def graphs(rounds: int, savers: Sequence[Any], *, awaited: bool) -> dict[str, Any]:
    chat, search = Chat(rounds=rounds), Search()
    made = {"ours": create_skr_graph(chat, search, checkpointer=savers[0])}
    peers: dict[str, Callable[..., Any]] = AWAITED if awaited else PEERS
    for (name, make), saver in zip(peers.items(), savers[1:], strict=True):
        made[name] = make(chat, search, awaited=awaited, saver=saver)
    return made


def compared(rounds: int, turns: int, folder: str | None) -> dict[str, float]:
    """Milliseconds of a question by each, with blocking calls."""
    with ExitStack() as stack:
        savers: list[Any] = [None] * (1 + len(PEERS))
        if folder is not None:
            opened = [SqliteSaver.from_conn_string(f"{folder}/{n}") for n in range(len(savers))]
            savers = [stack.enter_context(each) for each in opened]
        made = graphs(rounds, savers, awaited=False)
        return measured(
            {name: partial(_asked, graph) for name, graph in made.items()},
            turns,
        )


def _asked(graph: Any) -> Any:
    return graph.invoke({"question": QUESTION}, config())


def acompared(rounds: int, turns: int, folder: str | None) -> dict[str, float]:
    """The same with awaited calls."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        savers: list[Any] = [None] * (1 + len(AWAITED))
        if folder is not None:
            names = [f"{folder}/{n}" for n in range(len(savers))]
            opened = [AsyncSqliteSaver.from_conn_string(name) for name in names]
            savers = [runner.run(stack.enter_async_context(each)) for each in opened]
        made = graphs(rounds, savers, awaited=True)
        try:
            return measured(
                {name: partial(_awaited, runner, graph) for name, graph in made.items()}, turns
            )
        finally:
            runner.run(stack.aclose())


def _awaited(runner: asyncio.Runner, graph: Any) -> Any:
    return runner.run(graph.ainvoke({"question": QUESTION}, config()))


def measured(ways: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Milliseconds of each way."""
    if len({way()["answer"] for way in ways.values()}) > 1:
        raise RuntimeError("they do not answer alike")
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns + 10):
        for name, way in ways.items():
            started = time.process_time()
            way()
            spent[name] += [1_000 * (time.process_time() - started)] if turn >= 10 else []
    return {name: median(sorted(each)[: max(1, turns // 4)]) for name, each in spent.items()}
