"""Ray's workers, and which of them is given what."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from skr_core.engines.workers import THREADS, Worker
from skr_core.errors import MAX_LINE, EngineError

RETRIES = 3
"""How often what was under way when its worker ended is done again, before the run ends."""


class Crew:
    """The workers; a chunk goes to the one that has the least to do.

    Args:
        ray: The module, which is connected.
        count: How many.
        options: Of Ray for each.
    """

    def __init__(self, ray: Any, count: int, options: Mapping[str, Any]) -> None:
        self._ray, self.is_closed = ray, False
        settings = {"num_cpus": 1, "scheduling_strategy": "SPREAD", **options}
        settings |= {"max_restarts": -1, "max_task_retries": RETRIES, "max_concurrency": THREADS}
        actor = ray.remote(**settings)(Worker)
        self._workers = [actor.remote() for _ in range(count)]
        self._under_way = [0] * count
        self._choosing = threading.Lock()

    def do(self, job: Any, chunk: list[Any]) -> list[Any]:
        """Have a chunk worked on, with a blocking call."""
        number = self._choose()
        try:
            with self._explained():
                done: list[Any] = self._ray.get(self._workers[number].do.remote(job, chunk, True))
        finally:
            self._over(number)
        return done

    async def ado(self, job: Any, chunk: list[Any]) -> list[Any]:
        """Have a chunk worked on, awaited; where that is cancelled, all workers end."""
        number = self._choose()
        try:
            with self._explained():
                done: list[Any] = await self._workers[number].do.remote(job, chunk, False)
        except asyncio.CancelledError:
            self.close()  # what nobody waits for any more costs money
            raise
        finally:
            self._over(number)
        return done

    def close(self) -> None:
        """End the workers, whatever they are at."""
        self.is_closed = True
        for worker in self._workers:
            self._ray.kill(worker)

    def _choose(self) -> int:
        with self._choosing:
            number = min(range(len(self._workers)), key=self._under_way.__getitem__)
            self._under_way[number] += 1
            return number

    def _over(self, number: int) -> None:
        with self._choosing:
            self._under_way[number] -= 1

    @contextmanager
    def _explained(self) -> Iterator[None]:
        failures = self._ray.exceptions
        try:
            yield
        except failures.RayActorError as error:
            times = f"a worker ended {RETRIES + 1} times under the same items"
            raise EngineError(f"{times}, as for want of memory: {line_of(error)}") from error
        except failures.RayError as error:
            raise EngineError(f"Ray: {line_of(error)}") from error


def line_of(error: BaseException) -> str:
    """What an error of Ray's says, in one line.

    Example:
        >>> line_of(ValueError("no\\n  memory"))
        'no memory'
    """
    return " ".join(str(error).split())[:MAX_LINE]
