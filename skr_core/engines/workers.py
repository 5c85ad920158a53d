"""What runs in a worker: makes what the work needs once, works, and tells failures as values.

An exception that Ray carries arrives in another form and with all that it was raised from. As a
value it arrives as it is: of its class, with its message, without keys.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from skr_core.errors import SKRError, extra
from skr_core.flow import Flow, arun, gather, run
from skr_core.redaction import redact, redact_exception


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


class _Worker:
    """Holds what a recipe makes, and the latest work on it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._made: Any = None
        self._failed: Failed | None = None
        self._work: tuple[Any, Any] = (None, None)
        try:
            self._made = make()
        except Exception as error:
            self._failed = Failed(portable(error))

    def _done(self, work: Any, chunk: Sequence[Any]) -> Flow[list[Any]]:
        if self._failed is not None:
            return [self._failed] * len(chunk)
        return (yield from gather([tried(work(self._made, item)) for item in chunk], len(chunk)))


class ThreadedWorker(_Worker):
    """Makes blocking calls; Ray gives each chunk a thread."""

    def ready(self) -> Failed | None:
        """What went wrong when it began."""
        return self._failed

    def do(self, job: Sequence[Any], chunk: Sequence[Any]) -> list[Any]:
        """Work on some items.

        Args:
            job: One reference of Ray to the work.
            chunk: The items.
        """
        kept, work = self._work
        if kept != job[0]:
            with extra("ray"):
                import ray

            work = ray.get(job[0])
            self._work = job[0], work
        return run(self._done(work, chunk))


class AwaitingWorker(_Worker):
    """Makes awaited calls, in one event loop."""

    async def ready(self) -> Failed | None:
        """What went wrong when it began."""
        return self._failed

    async def do(self, job: Sequence[Any], chunk: Sequence[Any]) -> list[Any]:
        """Work on some items; see `ThreadedWorker.do`."""
        kept, work = self._work
        if kept != job[0]:
            work = await job[0]
            self._work = job[0], work
        return await arun(self._done(work, chunk))


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
