"""Work in this process: in order, no more at a time than allowed, and what is kept stays kept."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from skr_core.engines import Engine, EngineEmbedder, LocalEngine, Recipe
from skr_core.engines.workers import Failed, portable, tried, unwrapped
from skr_core.errors import ModelError
from skr_core.flow import Flow, arun, call, run
from skr_core.models.embedders import HashingEmbedder
from skr_learn.self_knowledge import acollect

Drive = Callable[[Flow[Any]], Any]


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    return run if request.param == "sync" else lambda flow: asyncio.run(arun(flow))


class Tool:
    """Ends nothing before so many things have been under way at once."""

    def __init__(self, together: int = 1) -> None:
        self.together = together
        self.under_way = self.most = 0
        self.changed = threading.Condition()

    def enter(self, step: int) -> None:
        with self.changed:
            self.under_way += step
            self.most = max(self.most, self.under_way)
            self.changed.notify_all()

    def double(self, item: int) -> int:
        self.enter(1)
        with self.changed:
            assert self.changed.wait_for(lambda: self.most >= self.together, timeout=60)
        time.sleep(0.002)
        self.enter(-1)
        return 2 * item

    async def adouble(self, item: int) -> int:
        self.enter(1)
        async with asyncio.timeout(60):
            while self.most < self.together:  # noqa: ASYNC110  # another task ends that
                await asyncio.sleep(0)
        await asyncio.sleep(0.002)
        self.enter(-1)
        return 2 * item


def double(tool: Tool, item: int) -> Flow[int]:
    if item == 13:
        raise ModelError("unlucky")
    return (yield from call(tool.double, tool.adouble, item))


def test_items_are_taken_as_there_is_a_place(drive: Drive) -> None:
    taken: list[int] = []
    kept: list[int] = []

    def items() -> Iterator[int]:
        for item in range(12):
            assert len(taken) - len(kept) <= 4
            taken.append(item)
            yield item

    def keep(item: int, result: int) -> Flow[str]:
        yield from ()
        kept.append(item)
        return f"{item} {result}"

    tool, engine = Tool(together=3), LocalEngine()
    assert isinstance(engine, Engine)
    found = drive(engine.map(Recipe(tool), double, items(), keep, 3))
    assert found == [f"{item} {2 * item}" for item in range(12)]
    assert tool.most == 3
    kept.clear()
    with pytest.raises(ModelError, match="unlucky"):
        drive(engine.map(Recipe(tool), double, [1, 2, 13, 4], keep, 1))
    assert kept == [1, 2]


def test_an_engine_s_vectors_are_the_embedder_s(drive: Drive) -> None:
    embedder = EngineEmbedder(HashingEmbedder, LocalEngine())
    texts = [f"text number {n}" for n in range(150)]
    found = drive(call(embedder.embed, embedder.aembed, texts))
    assert np.array_equal(found, HashingEmbedder().embed(texts))
    assert drive(call(embedder.embed, embedder.aembed, [])).shape == (0, 1024)
    assert (embedder.name, embedder.fusion_weight) == ("hashing-1024-v1", 0.02)


def test_an_error_that_cannot_travel_arrives_in_words() -> None:
    class Local(Exception):
        def __init__(self, lock: object) -> None:
            super().__init__("it is locked")
            self.lock = lock

    sent = portable(Local(threading.Lock()))
    assert (type(sent), str(sent)) == (RuntimeError, "Local: it is locked")
    with pytest.raises(ModelError, match="unlucky"):
        unwrapped(run(tried(double(Tool(), 13))))
    assert unwrapped(3) == 3
    assert isinstance(run(tried(double(Tool(), 13))), Failed)


async def test_what_makes_a_system_is_called_without_holding_up_the_loop() -> None:
    meanwhile = threading.Event()

    def slow() -> Any:
        assert meanwhile.wait(30)
        raise ModelError("no such model")

    asyncio.get_running_loop().call_later(0.01, meanwhile.set)
    with pytest.raises(ModelError, match="no such model"):
        await acollect([], slow)
