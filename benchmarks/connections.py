"""Many questions at once beside the bare client.

64 askers ask one question after the other of a server on loopback that takes 200 ms a call, so
that the ideal is the number of an asker's questions times 200 ms, whatever runs. The bare client
is OpenAI's SDK as it comes, over httpx, and over aiohttp, which `load_model` uses where the
extra `skr-rag[aiohttp]` is installed. The server runs in a process of its own.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import openai

from benchmarks.rows import ROOT, LeftOut, Row
from langchain_skr import create_skr_chain
from langchain_skr import load_model as load_for_langchain
from llamaindex_skr import SKRQueryEngine
from llamaindex_skr import load_model as load_for_llamaindex
from skr_core.testing import MappingRetriever
from skr_core.types import Prompt

QUESTION = "What is the capital of France?"
PROMPT = Prompt("answer_directly", QUESTION, QUESTION)
SEARCH = MappingRetriever({QUESTION: ["Paris is the capital of France."]})
ASKERS, DELAY_S = 64, 0.2
IDEAL = "the ideal"
SERVER = """
import sys
from tests.servers import OpenAIServer
with OpenAIServer(lambda messages: "SUFFICIENT\\nParis [1].", delay=float(sys.argv[1])) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""
Ask = Callable[[], Awaitable[Any]]


def rows(quick: bool) -> Iterator[Row]:
    """Calls of the model, and whole questions, beside both clients and the ideal."""
    questions, turns = (2, 1) if quick else (5, 5)
    with served() as url:
        seconds = asyncio.run(measure(url, questions, turns))
    seconds[IDEAL] = questions * DELAY_S
    peers = ["bare client, aiohttp", "bare client, httpx", IDEAL]
    for name in (name for name in seconds if name not in peers):
        for peer in peers:
            what = f"{ASKERS} x {questions} times {name}"
            yield Row(what, seconds[name], "s", peer, seconds[peer])
    for peer in peers[:2]:
        what = f"{ASKERS} x {questions} times the {peer}"
        yield Row(what, seconds[peer], "s", IDEAL, seconds[IDEAL])


@contextmanager
def served() -> Any:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-c", SERVER, str(DELAY_S)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.communicate("")


def bare_clients(url: str) -> dict[str, openai.AsyncOpenAI]:
    """OpenAI's SDK over each of the two."""
    given: Any = {"base_url": url, "api_key": "none"}
    try:
        aiohttp = openai.DefaultAioHttpClient()
    except RuntimeError as error:
        raise LeftOut("aiohttp is not installed: pip install skr-rag[aiohttp]") from error
    return {
        "bare client, httpx": openai.AsyncOpenAI(**given),
        "bare client, aiohttp": openai.AsyncOpenAI(**given, http_client=aiohttp),
    }


def ways(url: str, clients: dict[str, openai.AsyncOpenAI]) -> dict[str, Ask]:
    """What an asker awaits, by name."""
    told: Any = [{"role": "user", "content": QUESTION}]

    def bare(client: openai.AsyncOpenAI) -> Ask:
        return lambda: client.chat.completions.create(model="test", messages=told)

    of_langchain = load_for_langchain("openai:test", base_url=url)
    of_llamaindex = load_for_llamaindex("openai:test", base_url=url)
    chain = create_skr_chain(of_langchain, SEARCH)
    engine = SKRQueryEngine.from_defaults(SEARCH, llm=of_llamaindex)
    return {
        **{name: bare(client) for name, client in clients.items()},
        "`langchain_skr.load_model`": lambda: of_langchain.agenerate(PROMPT),
        "`llamaindex_skr.load_model`": lambda: of_llamaindex.agenerate(PROMPT),
        "`create_skr_chain`": lambda: chain.ainvoke(QUESTION),
        "`SKRQueryEngine`": lambda: engine.aquery(QUESTION),
    }


async def measure(url: str, questions: int, turns: int) -> dict[str, float]:
    """Median seconds until all askers are done."""
    clients = bare_clients(url)
    all_ways = ways(url, clients)
    seconds: dict[str, list[float]] = {name: [] for name in all_ways}
    for turn in range(turns + 1):  # the first makes what is made once
        for name, ask in all_ways.items():
            begin = time.perf_counter()
            await asyncio.gather(*(one_after_the_other(ask, questions) for _ in range(ASKERS)))
            seconds[name] += [time.perf_counter() - begin] if turn else []
    for client in clients.values():
        await client.close()
    return {name: median(each) for name, each in seconds.items()}


async def one_after_the_other(ask: Ask, questions: int) -> None:
    """What one asker does."""
    for _ in range(questions):
        await ask()
