"""RayWorkers: the work of a collection on the workers of Ray, here or on a cluster.

This process hands out the questions and writes the records; a worker makes the system once, from a
function that is pickled, because no live client leaves a process. Ray starts a worker that was
killed again, and gives it again what it had not finished.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import socket
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from skr_core.cleaning import redact, redact_exception
from skr_core.errors import MAX_LINE, EngineError, InputError, SKRError, extra
from skr_core.flow import Flow, run

Item = TypeVar("Item")

RETRIES = 3
"""How often Ray does again what was under way when its worker ended."""
PATIENCE_S = 10
"""Seconds until a cluster takes a connection."""


class RayWorkers:
    """Workers of Ray. Use it in a ``with``: at its end they end, and the Ray that it has started.

    Ray's telemetry is off. A Ray that this process is connected to already is used as it is.

    Args:
        address: The address of a cluster: ``auto``, ``HOST:PORT`` or ``ray://HOST:PORT``;
            ``RAY_ADDRESS`` says it too. Without, Ray is started on this machine.
        count: The number of processes, each with one processor; by default as many as there are.

    Raises:
        InputError: The number is below 1, or Ray has fewer processors.
        EngineError: No Ray answers there, or it does not start.
        MissingDependency: The extra ``ray`` is not installed.
    """

    def __init__(self, address: str | None = None, *, count: int | None = None) -> None:
        if count is not None and count < 1:
            raise InputError(f"workers must be at least 1, not {count}")
        self.address = address or os.environ.get("RAY_ADDRESS")
        with extra("ray"):
            import ray
        self._ray: Any = ray
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            self._connect(count)
        there = int(self._ray.cluster_resources().get("CPU", 0))
        self.count = count or max(1, there)
        if self.count > there:
            self.close()
            raise InputError(
                f"{self.count} workers need {self.count} processors, and Ray has {there}: "
                "give fewer workers"
            )

    @property
    def is_local(self) -> bool:
        """Whether all workers are on this machine."""
        return self.address is None

    def close(self) -> None:
        """End the Ray that was started here; closing twice does nothing."""
        if self._is_ours:
            self._ray.shutdown()
        self._is_ours = False

    def __enter__(self) -> RayWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(
        self,
        make: Callable[[], Any],
        work: Callable[[Any, Item], Flow[Any]],
        items: Iterable[Item],
        limit: int = 8,
    ) -> Iterator[tuple[Item, Any]]:
        """Work on items, in any order, with blocking calls.

        Args:
            make: Makes what `work` is given; pickled, and called once by each worker.
            work: The flow that is run for each item; pickled too.
            items: The items, taken as there is a place for them.
            limit: The number of items under way at a time, in all workers together.

        Yields:
            Each item with the result of its work, as soon as that is there.

        Raises:
            SKRError: The first error of the work, without keys.
            EngineError: Ray failed, or workers ended again and again under the same item.
            InputError: What the workers need cannot be pickled.
        """
        failures = self._ray.exceptions
        try:
            sent = self._ray.put((make, work))
        except TypeError as error:
            raise InputError(
                f"what the workers need cannot be sent to them, give functions that make it: "
                f"{_line_of(error)}"
            ) from error
        actor = self._ray.remote(
            num_cpus=1, max_restarts=-1, max_task_retries=RETRIES, max_concurrency=limit
        )(_Worker)
        workers = [actor.remote(sent) for _ in range(self.count)]
        load = [0] * self.count
        under_way: dict[Any, tuple[Item, int]] = {}
        waiting = iter(items)
        try:
            while True:
                for item in islice(waiting, limit - len(under_way)):
                    least = load.index(min(load))
                    load[least] += 1
                    under_way[workers[least].do.remote(item)] = item, least
                if not under_way:
                    return
                (done, *_), _ = self._ray.wait(list(under_way), num_returns=1)
                item, worker = under_way.pop(done)
                load[worker] -= 1
                result = self._ray.get(done)
                if isinstance(result, _Failed):
                    raise result.error
                yield item, result
        except failures.RayActorError as error:
            times = f"a worker ended {RETRIES + 1} times under the same item"
            raise EngineError(f"{times}, as for want of memory: {_line_of(error)}") from error
        except failures.RayError as error:
            raise EngineError(f"Ray: {_line_of(error)}") from error
        finally:
            for each in workers:
                self._ray.kill(each)

    def _connect(self, count: int | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        settings: dict[str, Any] = {"address": self.address, "log_to_driver": False}
        settings["logging_level"] = logging.ERROR
        if self.address is None:
            cpus = max(count or 0, os.cpu_count() or 1)
            settings |= {"address": "local", "num_cpus": cpus, "include_dashboard": False}
        before = signal.getsignal(signal.SIGTERM)
        try:
            _knock(self.address)
            self._ray.init(**settings)
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, before)  # Ray's prints a stack and aborts
        except Exception as error:
            where = f"no Ray answers at {self.address}" if self.address else "Ray does not start"
            raise EngineError(f"{where}: {_line_of(error)}") from error


@dataclass(frozen=True)
class _Failed:
    """An error as a value: Ray would hand it on in another form, with all that it came from."""

    error: Exception


class _Worker:
    """Makes what the work needs once, and does the work in as many threads as Ray gives it."""

    def __init__(self, sent: tuple[Callable[[], Any], Callable[[Any, Any], Flow[Any]]]) -> None:
        self._make, self._work = sent
        self._made: Any = None
        self._making = threading.Lock()

    def do(self, item: Any) -> Any:
        """Work on an item; what goes wrong is returned."""
        try:
            with self._making:
                if self._made is None:
                    self._made = self._make()
            return run(self._work(self._made, item))
        except Exception as error:
            return _Failed(_portable(error))


def _portable(error: Exception) -> Exception:
    """The error without keys, as another process can hold it."""
    redact_exception(error)
    if not isinstance(error, SKRError):
        error.add_note(redact("".join(traceback.format_exception(error)))[-4_000:])
    try:
        sent: Exception = pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return sent


def _knock(address: str | None) -> None:
    """Raise `OSError` where nobody listens at an address: Ray itself tries for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=PATIENCE_S).close()


def _line_of(error: BaseException) -> str:
    return " ".join(str(error).split())[:MAX_LINE]
