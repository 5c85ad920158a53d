"""bounded: a flow whose calls keep to a deadline, and whose replies to a length.

A deadline that is looked at between calls ends no call that hangs. So each call of a bounded flow
gets the time that is left. When that is over an async call is cancelled; a sync one is left behind
in a thread of its own, where the model asks `check_time` with every piece of its reply. A client
gives each of its requests `seconds_left` as the timeout.

Example:
    >>> from skr_core.flow import call, run
    >>> def ask():
    ...     return (yield from call(time.sleep, asyncio.sleep, 60))
    >>> run(bounded(ask(), Bounds.within(0.01)))
    Traceback (most recent call last):
    ...
    skr_core.errors.DeadlineError: the deadline passed before the reply was there
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any, Self, TypeVar

from skr_core.errors import DeadlineError
from skr_core.flow import Call, Flow, Gather

T = TypeVar("T")

MAX_CHARACTERS = 500_000
"""The longest reply: more than models make; a server may send without end."""

PASSED = "the deadline passed before the reply was there"

_BEGINNING = time.time() - time.monotonic()


def steady_time() -> float:
    """The seconds since the epoch, as if nobody set the machine's clock while this process runs.

    It can be kept in a state that another process goes on with, and a deadline that is counted from
    it neither ends early nor late where the clock is put right.
    """
    return _BEGINNING + time.monotonic()


@dataclass(frozen=True, slots=True)
class Bounds:
    """The time and the length that the calls of a flow may take.

    Attributes:
        ends_at: The end of the time, on the clock of `time.monotonic`.
        reply_tokens: The tokens of each reply; None leaves it to the model.
    """

    ends_at: float = math.inf
    reply_tokens: int | None = None

    @classmethod
    def within(cls, seconds: float | None) -> Self:
        """Return the bounds of what ends in so many seconds from now; None is no bound."""
        return cls() if seconds is None else cls(time.monotonic() + seconds)

    def check_time(self) -> None:
        """Raise `DeadlineError` once the time is over."""
        if time.monotonic() >= self.ends_at:
            raise DeadlineError(PASSED)


UNBOUNDED = Bounds()
_BOUNDS: ContextVar[Bounds] = ContextVar("skr_bounds", default=UNBOUNDED)


def seconds_left() -> float | None:
    """Return the seconds until the deadline of the current call; None where it has none."""
    ends_at = _BOUNDS.get().ends_at
    return None if ends_at == math.inf else max(0.0, ends_at - time.monotonic())


def check_time() -> None:
    """Raise `DeadlineError` once the deadline of the current call has passed."""
    _BOUNDS.get().check_time()


def reply_tokens() -> int | None:
    """Return the tokens that the current reply may have; None leaves it to the model."""
    return _BOUNDS.get().reply_tokens


def bounded(flow: Flow[T], bounds: Bounds) -> Flow[T]:
    """Return the same flow, whose calls each keep to these bounds and to those around it.

    Raises:
        DeadlineError: A call was not over in time; raised in the flow, at that call.
    """
    return flow if bounds == UNBOUNDED else _bounded_flow(flow, bounds)


def _bounded_flow(flow: Flow[T], bounds: Bounds) -> Flow[T]:
    try:
        request = next(flow)
        while True:
            try:
                result = yield _bounded(request, bounds)
            except GeneratorExit:
                raise
            except BaseException as error:
                request = flow.throw(error)
            else:
                request = flow.send(result)
    except StopIteration as stop:
        finished: T = stop.value
        return finished
    finally:
        flow.close()


def _bounded(request: Call | Gather, bounds: Bounds) -> Call | Gather:
    if isinstance(request, Gather):
        return Gather((bounded(each, bounds) for each in request.flows), request.limit)
    return Call(
        partial(_sync_in_time, request.blocking, bounds),
        partial(_async_in_time, request.awaitable, bounds),
    )


@contextmanager
def _within(bounds: Bounds) -> Iterator[Bounds]:
    """Keep to the bounds, and to those that are kept already."""
    outer = _BOUNDS.get()
    tokens = [each for each in (outer.reply_tokens, bounds.reply_tokens) if each is not None]
    both = Bounds(min(outer.ends_at, bounds.ends_at), min(tokens, default=None))
    token = _BOUNDS.set(both)
    try:
        yield both
    finally:
        _BOUNDS.reset(token)


def _sync_in_time(blocking: Callable[[], T], bounds: Bounds) -> T:
    with _within(bounds) as kept:
        kept.check_time()
        if kept.ends_at == math.inf:
            return blocking()
        future: Future[T] = Future()

        def work() -> None:
            try:
                future.set_result(blocking())
            except BaseException as error:
                future.set_exception(error)

        # Nothing in Python ends a thread: a daemon keeps no process from ending.
        Thread(target=copy_context().run, args=(work,), daemon=True, name="skr-call").start()
        try:
            return future.result(max(0.0, kept.ends_at - time.monotonic()))
        except TimeoutError as error:
            if future.done():
                return future.result()  # what timed out was inside
            raise DeadlineError(PASSED) from error


async def _async_in_time(awaitable: Callable[[], Any], bounds: Bounds) -> Any:
    with _within(bounds) as kept:
        kept.check_time()
        left = None if kept.ends_at == math.inf else kept.ends_at - time.monotonic()
        try:
            async with asyncio.timeout(left) as patience:
                return await awaitable()
        except TimeoutError as error:
            if not patience.expired():
                raise
            raise DeadlineError(PASSED) from error
