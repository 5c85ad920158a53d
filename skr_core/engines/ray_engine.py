"""RayEngine: the work on Ray's workers, here or on a cluster.

This process hands out the items, a bounded number at a time, and keeps the results; nothing else
writes. A worker makes what the work needs once, from a description, and holds it. One that is
killed is started again, and is given again what it had not finished.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any

from skr_core.engines.crew import Crew, line_of
from skr_core.engines.engine import Item, Kept, Made, Recipe, Result
from skr_core.engines.shared_spending import SharedSpending
from skr_core.engines.workers import Failed, Holder, Job, unwrapped
from skr_core.errors import EngineError, InputError, extra
from skr_core.flow import Flow, call, gather
from skr_core.models.limited import Spending
from skr_core.redaction import redact

_LOG = logging.getLogger(__name__)

PATIENCE_S = 10
"""Until a cluster takes a connection."""


class RayEngine:
    """Works on Ray: on this machine, or on a cluster.

    Use it in a ``with``: at its end the workers end, and the Ray that it has started. Telemetry of
    Ray is off. Python's ``ray.init`` of your own, before, is used as it is.

    Args:
        address: Of a cluster: ``auto``, ``HOST:PORT`` or ``ray://HOST:PORT``; ``RAY_ADDRESS`` says
            it too. None: Ray is started here, and ends with this.
        workers: Processes, each with one processor. By default as many as there are.
        chunk: Items that a worker is given at a time, and works on side by side. One is right where
            an item takes longer than the millisecond that its way takes.
        options: Of Ray for each worker, such as ``{"num_gpus": 1}``.

    Raises:
        InputError: A number is below 1.
        MissingDependency: The extra ``ray`` is not installed.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        workers: int | None = None,
        chunk: int = 1,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        for name, value in (("workers", workers), ("chunk", chunk)):
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        self.address = address or os.environ.get("RAY_ADDRESS")
        self.workers, self.chunk = workers, chunk
        self._options = dict(options or {})
        self._crew: Crew | None = None
        self._sent: dict[int, tuple[Any, Any]] = {}
        self._shared: list[Any] = []
        self._starting = threading.Lock()
        self._is_ours = False
        self._ray: Any = None
        with extra("ray"):
            import ray.exceptions  # noqa: F401

    @property
    def is_local(self) -> bool:
        """Whether all workers are on this machine."""
        return self.address is None

    @property
    def size(self) -> int:
        """How many workers there are."""
        self.start()
        return self._count()

    def start(self) -> None:
        """Connect to Ray, or start it; `map` does so too."""
        with self._starting:
            if self._ray is None:
                self._ray = self._connected()

    def close(self) -> None:
        """End the workers; closing twice does nothing."""
        with self._starting:
            if self._crew is not None:
                self._crew.close()
            for actor in self._shared:
                self._ray.kill(actor)
            self._crew, self._sent, self._shared = None, {}, []
            if self._is_ours:
                self._ray.shutdown()
            self._ray, self._is_ours = None, False

    def __enter__(self) -> RayEngine:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(
        self,
        recipe: Recipe[Made],
        work: Callable[[Made, Item], Flow[Result]],
        items: Iterable[Item],
        keep: Callable[[Item, Result], Flow[Kept]],
        limit: int = 8,
    ) -> Flow[list[Kept]]:
        """See `skr_core.engines.Engine`.

        A blocking driver has its work done by blocking calls, an awaiting one by awaited calls.

        Raises:
            EngineError: Ray failed, or workers ended again and again under the same items.
        """
        size = min(self.chunk, limit)
        chunks = _chunks(items, size)
        first = next(chunks, None)
        if first is None:
            return []

        def one(chunk: list[Item]) -> Flow[list[Kept]]:
            results = yield from call(crew.do, crew.ado, job, chunk)
            kept = []
            for item, result in zip(chunk, results, strict=True):
                if not isinstance(result, Failed):
                    kept.append((yield from keep(item, result)))
            for result in results:
                unwrapped(result)
            return kept

        begin = partial(self._begun, recipe, work)
        crew, job = yield from call(begin, partial(asyncio.to_thread, begin))
        kept = yield from gather(map(one, chain([first], chunks)), limit // size)
        return [each for chunk in kept for each in chunk]

    def share(self, spending: Spending) -> Spending:
        """The same limits for the models of all workers; they end with the engine.

        Args:
            spending: As it is now. What it counts from now on, it counts elsewhere.
        """
        self.start()
        actor = self._ray.remote(num_cpus=0)(Holder).remote(spending)
        self._shared.append(actor)
        return SharedSpending(actor, spending.prices, spending.call_deadline_s)

    def _begun(self, recipe: Recipe[Any], work: Callable[..., Any]) -> tuple[Crew, Job]:
        """The workers, and the job as they are told of it."""
        make = recipe.make
        if make is None:
            raise InputError(
                "a live system cannot be sent to Ray's workers: give a function that makes it"
            )
        self.start()
        with self._starting:
            if id(make) not in self._sent:
                self._sent[id(make)] = make, self._put(make)
            if self._crew is None or self._crew.is_closed:
                self._crew = Crew(self._ray, self._count(), self._options)
            return self._crew, [self._sent[id(make)][1], self._put(work)]

    def _put(self, value: Any) -> Any:
        try:
            return self._ray.put(value)
        except TypeError as error:
            raise InputError(
                "what the workers need cannot be sent to them, give functions that make it: "
                f"{line_of(error)}"
            ) from error

    def _count(self) -> int:
        """How many workers there are to be."""
        each = self._options.get("num_cpus", 1)
        there = int(self._ray.cluster_resources().get("CPU", 0))
        wanted = self.workers or max(1, int(there / each) if each else there)
        if wanted * each > there:
            needed = f"{wanted} workers need {wanted * each} processors"
            raise InputError(f"{needed}, and Ray has {there}: give fewer workers")
        return wanted

    def _connected(self) -> Any:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        with extra("ray"):
            import ray

        if ray.is_initialized():
            return ray
        settings: dict[str, Any] = {"address": self.address, "log_to_driver": False}
        settings["logging_level"] = logging.ERROR
        if self.address is None:
            cpus = max(self.workers or 0, os.cpu_count() or 1)
            settings |= {"address": "local", "num_cpus": cpus, "include_dashboard": False}
        try:
            _knock(self.address)
            ray.init(**settings)
        except Exception as error:
            where = f"no Ray answers at {self.address}" if self.address else "Ray does not start"
            raise EngineError(f"{where}: {line_of(error)}") from error
        _keep_off_standard_output()
        self._is_ours = True
        return ray


def _knock(address: str | None) -> None:
    """Raise `OSError` where nobody listens at an address: Ray itself tries for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=PATIENCE_S).close()


def _keep_off_standard_output() -> None:
    """Send to the log what Ray's processes tell: it would stand in the midst of a result."""
    with extra("ray"):
        from ray._private import worker

    def tell(data: Mapping[str, Any], *_: object, **__: object) -> None:
        _LOG.info("Ray: %s", redact(" ".join(data["lines"])))

    worker.print_to_stdstream = tell


def _chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    waiting = iter(items)
    while chunk := list(islice(waiting, size)):
        yield chunk
