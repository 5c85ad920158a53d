"""What runs in a worker: makes what the work needs once, works, and tells failures as values.

An exception that Ray carries arrives in another form and with all that it was raised from. As a
value it arrives as it is: of its class, with its message, without keys.
"""

from __future__ import annotations

import asyncio
import pickle
import traceback
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from skr_core.errors import SKRError
from skr_core.flow import Flow, arun, gather, run
from skr_core.redaction import redact, redact_exception

THREADS = 1_000
"""Blocking chunks side by side in one worker; those that are not needed are not started."""

HELD = 8
"""Things that a worker holds at a time."""

Job = Sequence[Any]
"""Two references of Ray. In a sequence they are sent as they are, not what they stand for."""


@dataclass(frozen=True)
class Failed:
    """What went wrong in another process."""

    error: Exception


def tried(flow: Flow[Any]) -> Flow[Any]:
    """What a flow returns, or its failure.

    Example:
        >>> def fails():
        ...     raise ValueError("too small")
        ...     yield
        >>> run(tried(fails()))
        Failed(error=ValueError('too small'))
    """
    try:
        return (yield from flow)
    except Exception as error:
        return Failed(portable(error))


def portable(error: Exception) -> Exception:
    """The error as another process can hold it, without keys.

    An error that is none of this project's brings the lines of code that it comes from.

    Example:
        >>> portable(OSError("Bearer abcdefgh12345678"))
        OSError('Bearer [redacted]')
    """
    redact_exception(error)
    if not isinstance(error, SKRError):
        error.add_note(redact("".join(traceback.format_exception(error)))[-4_000:])
    try:
        sent: Exception = pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return sent


def unwrapped(result: Any) -> Any:
    """The result, or its failure raised."""
    if isinstance(result, Failed):
        raise result.error
    return result


class Worker:
    """Makes what recipes say, each once, and works with it.

    Chunks are worked on side by side: those of a blocking driver in a thread each, those of an
    awaiting one in the event loop.
    """

    def __init__(self) -> None:
        self._held: dict[Any, asyncio.Task[Any]] = {}
        self._threads = ThreadPoolExecutor(THREADS)

    async def do(self, job: Job, chunk: Sequence[Any], blocking: bool) -> list[Any]:
        """Work on some items.

        Args:
            job: References of Ray to what makes the tools of the work, and to the work.
            chunk: The items.
            blocking: Whether by blocking calls.

        Returns:
            A result for each item, or its failure.
        """
        make, work = job
        made = await self._once(make, self._make)
        if isinstance(made, Failed):
            return [made] * len(chunk)
        do = await self._once(work, _fetched)
        flow = gather([tried(do(made, item)) for item in chunk], len(chunk))
        if blocking:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, run, flow)
        return await arun(flow)

    async def _once(self, reference: Any, get: Callable[[Any], Awaitable[Any]]) -> Any:
        """What a reference stands for; the latest are held."""
        if reference not in self._held:
            self._held[reference] = asyncio.ensure_future(get(reference))
            for old in list(self._held)[:-HELD]:
                del self._held[old]
        return await self._held[reference]

    async def _make(self, reference: Any) -> Any:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, await reference)
        except Exception as error:
            return Failed(portable(error))


async def _fetched(reference: Any) -> Any:
    return await reference


class Holder:
    """Holds an object that all workers share; its calls come one after the other."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def do(self, method: str, *arguments: Any) -> Any:
        """Call a method of the object."""
        try:
            return getattr(self._held, method)(*arguments)
        except Exception as error:
            return Failed(portable(error))
