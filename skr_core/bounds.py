"""bounded: a flow whose calls keep to a deadline, and whose replies to a length.

A deadline that is looked at between calls ends no call that hangs. So each call of a bounded flow
gets the time that is left. When that is over an async call is cancelled; a sync one is left behind
in a thread of its own, where the model asks `check_time` with every piece of its reply. A client
gives each of its requests `seconds_left` as the timeout.

A call of a model that has no deadline is given up where nothing of its reply comes for 300 seconds,
see `Patience`.

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
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar

from skr_core.errors import DeadlineError, ModelError
from skr_core.flow import Call, Flow, Gather, attended, is_waited_for

T = TypeVar("T")

MAX_CHARACTERS = 500_000
"""The longest reply: more than models make; a server may send without end."""

PASSED = "the deadline passed before the reply was there"

SILENCE = 300.0
"""Seconds without any text after which a reply that has no deadline is given up."""

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
    """Raise `DeadlineError` once the deadline of the current call has passed.

    Raises:
        ModelError: The call was given up for another reason, and nobody reads its reply.
    """
    _BOUNDS.get().check_time()
    if not is_waited_for():
        raise ModelError("nobody waits for this reply any more")


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

        def seconds() -> float:
            kept.check_time()
            return kept.ends_at - time.monotonic()

        return attended(blocking, seconds)


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


class Patience:
    """How long a model's call is waited for: while something of its reply comes.

    A server may send signs of life for ever, and a client of one's own may wait for ever. Whoever
    waits longer for a reply sets a deadline, which then holds alone.

    Args:
        name: The model's name, for the error.

    Example:
        >>> from skr_core.flow import run
        >>> async def asleep(on_token): ...
        >>> patience = Patience("mine")
        >>> run(patience.asking(lambda on_token: on_token("Paris") or "Paris", asleep, print))
        Paris
        'Paris'
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._heard = time.monotonic()

    def asking(
        self,
        blocking: Callable[[Callable[[str], None] | None], T],
        awaitable: Callable[[Callable[[str], None] | None], Awaitable[T]],
        on_token: Callable[[str], None] | None,
    ) -> Flow[T]:
        """Ask for a call, as `skr_core.flow.call` does.

        Args:
            blocking: The call, which is given the function that takes the reply's pieces.
            awaitable: Async version of it.
            on_token: That function; None where no pieces are wanted.

        Raises:
            ModelError: Nothing came for 300 seconds, and the call has no deadline.
        """

        def hear(piece: str) -> None:
            if piece:
                self._heard = time.monotonic()
            if on_token is not None:
                on_token(piece)

        listening = None if on_token is None else hear
        made: T = yield Call(
            partial(self._sync, partial(blocking, listening)),
            partial(self._async, partial(awaitable, listening)),
        )
        return made

    def _sync(self, blocking: Callable[[], T]) -> T:
        self._heard = time.monotonic()
        return blocking() if seconds_left() is not None else attended(blocking, self._left)

    async def _async(self, awaitable: Callable[[], Awaitable[T]]) -> T:
        if seconds_left() is not None:
            return await awaitable()
        self._heard = time.monotonic()
        loop = asyncio.get_running_loop()
        next_look = loop.call_later(SILENCE, lambda: look())

        def look() -> None:
            nonlocal next_look
            left = self._heard + SILENCE - time.monotonic()
            if left > 0:  # something came meanwhile
                next_look = loop.call_later(left, look)
            else:
                patience.reschedule(loop.time())

        try:
            async with asyncio.timeout(None) as patience:
                return await awaitable()
        except TimeoutError as error:
            if not patience.expired():
                raise
            raise self._error() from error
        finally:
            next_look.cancel()

    def _left(self) -> float:
        left = self._heard + SILENCE - time.monotonic()
        if left <= 0:
            raise self._error()
        return left

    def _error(self) -> ModelError:
        return ModelError(
            f"{self.name}: nothing of the reply came for {SILENCE:.0f} seconds; give a deadline "
            "to wait longer"
        )
