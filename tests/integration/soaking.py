"""Asks a server thousands of questions through both plug-ins, and says what is left of it.

A process of its own, so that its memory is that of the questions alone; `test_soak.py` starts it.

Usage: python -m tests.integration.soaking URL QUESTIONS
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import psutil

from langchain_skr import create_skr_chain
from langchain_skr import load_model as load_for_langchain
from llamaindex_skr import SKRQueryEngine
from llamaindex_skr import load_model as load_for_llamaindex
from skr_core import Budget, Reference, SKRError
from skr_store import Store

AT_ONCE = 16
PARTS = 10
"""Event loops, one after the other; after each is looked what it has left."""

BUDGET = Budget(deadline_s=15)
Ask = Callable[[str], Awaitable[str]]


class Told(logging.Handler):
    """Counts the questions that the log tells of."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.number = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.number += record.levelno == logging.INFO


def question(number: int) -> str:
    return f"What does lamp number {number} burn?"


def answer(number: int) -> str:
    return f"It burns oil {number} "


def ways_of(url: str, store: Store) -> list[Ask]:
    asked_of = {"base_url": url, "api_key": "none"}
    chain = create_skr_chain(load_for_langchain("openai:test", **asked_of), store, budget=BUDGET)
    llm = load_for_llamaindex("openai:test", **asked_of)
    engines = [
        SKRQueryEngine.from_defaults(store, llm=llm, budget=BUDGET, streaming=streaming)
        for streaming in (False, True)
    ]

    async def by_stream(text: str) -> str:
        return "".join([piece async for piece in chain.astream(text)])

    async def by_engine(text: str) -> str:
        return str(await engines[0].aquery(text))

    async def by_streaming_engine(text: str) -> str:
        response: Any = await engines[1].aquery(text)
        return "".join([piece async for piece in response.async_response_gen()])

    return [chain.ainvoke, by_stream, by_engine, by_streaming_engine]


async def ask_all(numbers: Iterator[int], ways: list[Ask], ends: Counter[str]) -> int:
    """Ask until there is no number left; returns how many tasks there are at the end."""

    async def worker() -> None:
        for number in numbers:
            try:
                said = await ways[number % len(ways)](question(number))
            except SKRError as error:
                ends[type(error).__name__] += 1
            else:
                right = said.startswith(answer(number))
                ends["right" if right else "wrong" if "oil" in said else "refused"] += 1

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return len(asyncio.all_tasks())


def main(url: str, questions: int) -> None:
    warnings.simplefilter("ignore", ResourceWarning)  # connections of event loops that are over
    told, process = Told(), psutil.Process()
    log = logging.getLogger("skr_graphs")
    log.setLevel(logging.INFO)
    log.addHandler(told)
    ends: Counter[str] = Counter()
    left: list[dict[str, float]] = []
    began = time.monotonic()
    with Store.ephemeral() as store:
        store.add([Reference.of(f"Lamp number {n} burns oil {n}.") for n in range(200)])
        store.add([Reference.of(f"Keeper Ada {n} lives by the sea.") for n in range(200)])
        ways = ways_of(url, store)
        size = questions // PARTS
        for part in range(PARTS):
            numbers = iter(range(part * size, (part + 1) * size))
            tasks = asyncio.run(ask_all(numbers, ways, ends))
            gc.collect()
            left.append(
                {
                    "asked": (part + 1) * size,
                    "seconds": round(time.monotonic() - began, 1),
                    "megabytes": round(process.memory_info().rss / 1e6, 1),
                    "descriptors": process.num_fds(),
                    "threads": threading.active_count(),
                    "native threads": process.num_threads(),
                    "tasks": tasks,
                }
            )
            sys.stderr.write(f"{json.dumps(left[-1])}\n")
    json.dump({"ends": ends, "told": told.number, "left": left}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
