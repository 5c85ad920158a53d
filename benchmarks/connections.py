"""How near 64 askers at once come to the ideal, over a server on loopback that takes 200 ms a call.

Each asker asks one question after the other, so that the ideal is the number of its questions times
the delay. `share` is the ideal over the time that all of them took. Beside the models that
`load_model` makes stand the clients of OpenAI's SDK, bare: with httpx, and with aiohttp where the
extra of that name is installed. The server runs in a process of its own.

Usage: python -m benchmarks.connections [--askers 64] [--delay-ms 200] [--questions 5] [--turns 3]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import openai

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from langchain_skr import create_skr_chain
from langchain_skr import load_model as load_for_langchain
from llamaindex_skr import SKRQueryEngine
from llamaindex_skr import load_model as load_for_llamaindex
from skr_core.testing import MappingRetriever
from skr_core.types import Prompt

QUESTION = "What is the capital of France?"
PROMPT = Prompt("answer_directly", QUESTION, QUESTION)
SEARCH = MappingRetriever({QUESTION: ["Paris is the capital of France."]})
SERVER = """
import sys
from tests.servers import OpenAIServer
with OpenAIServer(lambda messages: "SUFFICIENT\\nParis [1].", delay=float(sys.argv[1])) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""
Ask = Callable[[], Awaitable[Any]]


@contextmanager
def served(delay_s: float) -> Any:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-c", SERVER, str(delay_s)]
    root = Path(__file__).resolve().parents[1]
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.stdin.close()  # type: ignore[union-attr]


def bare_clients(url: str) -> dict[str, openai.AsyncOpenAI]:
    given: Any = {"base_url": url, "api_key": "none"}
    clients = {"bare, httpx": openai.AsyncOpenAI(**given)}
    try:
        aiohttp = openai.DefaultAioHttpClient()
    except RuntimeError:
        print("left out: aiohttp; pip install skr-rag[aiohttp]", file=sys.stderr)
    else:
        clients["bare, aiohttp"] = openai.AsyncOpenAI(**given, http_client=aiohttp)
    return clients


def ways(url: str, clients: dict[str, openai.AsyncOpenAI]) -> dict[str, Ask]:
    told: Any = [{"role": "user", "content": QUESTION}]

    def bare(client: openai.AsyncOpenAI) -> Ask:
        return lambda: client.chat.completions.create(model="test", messages=told)

    of_langchain = load_for_langchain("openai:test", base_url=url)
    of_llamaindex = load_for_llamaindex("openai:test", base_url=url)
    chain = create_skr_chain(of_langchain, SEARCH)
    engine = SKRQueryEngine.from_defaults(SEARCH, llm=of_llamaindex)
    return {
        **{name: bare(client) for name, client in clients.items()},
        "langchain_skr.load_model": lambda: of_langchain.agenerate(PROMPT),
        "llamaindex_skr.load_model": lambda: of_llamaindex.agenerate(PROMPT),
        "create_skr_chain": lambda: chain.ainvoke(QUESTION),
        "SKRQueryEngine": lambda: engine.aquery(QUESTION),
    }


async def share(ask: Ask, askers: int, questions: int, delay_s: float) -> tuple[float, float]:
    """Of the ideal; and the milliseconds of the processor for a question."""

    async def one() -> None:
        for _ in range(questions):
            await ask()

    started, spent = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one() for _ in range(askers)))
    seconds, spent = time.perf_counter() - started, time.process_time() - spent
    return questions * delay_s / seconds, 1_000 * spent / (askers * questions)


async def measure(options: argparse.Namespace, url: str) -> dict[str, Any]:
    clients = bare_clients(url)
    all_ways, delay_s = ways(url, clients), options.delay_ms / 1000
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in all_ways}
    for turn in range(options.turns + 1):  # the first makes what is made once
        for name, ask in all_ways.items():
            one = await share(ask, options.askers, options.questions if turn else 1, delay_s)
            found[name] += [one] if turn else []
    for client in clients.values():
        await client.close()
    return {
        name: {"share": round(median(shares), 3), "cpu_ms": round(min(spent), 3)}
        for name, each in found.items()
        for shares, spent in [zip(*each, strict=True)]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--askers", type=int, default=64, help="at once")
    parser.add_argument("--delay-ms", type=float, default=200, help="of each call")
    parser.add_argument("--questions", type=int, default=5, help="of each asker, in a turn")
    parser.add_argument("--turns", type=int, default=3, help="the median counts")
    options = parser.parse_args()
    with served(options.delay_ms / 1000) as url:
        for name, one in asyncio.run(measure(options, url)).items():
            print(json.dumps({"asked": name, **one}))


if __name__ == "__main__":
    main()
