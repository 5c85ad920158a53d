"""Server-sent events: what is told while something is under way.

The graph's own events are messages without a name, as JSON, just as `skr_graphs.events` makes them.
Three names stand beside them: ``run`` for what is kept of a question, ``progress`` and ``result``
for other work, ``error`` for the one line of what failed.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import orjson

from skr_app.web.shown import shown
from skr_core.errors import SKRError, extra
from skr_core.ports import OnProgress

with extra("web"):
    from starlette.responses import StreamingResponse
    from starlette.types import Send

_LOG = logging.getLogger(__name__)

Told = tuple[str, Any]
"""The name of an event, empty for one of the graph, and what it says."""

BUFFERED = 100
"""Events that wait for a slow browser before what makes them waits too."""
FAILED = "something failed that should not: what it was stands in the log of skr serve"

ENDED = "skr serve was ended"

_under_way: dict[asyncio.Task[None], asyncio.Queue[Told | None]] = {}
"""What makes events, and where they wait."""


def line_of(error: Exception) -> str:
    """What is told of a failure: the line of an error of ours, and nothing of any other.

    Example:
        >>> line_of(SKRError("the store is closed")), line_of(KeyError("secret")) == FAILED
        ('the store is closed', True)
    """
    if isinstance(error, SKRError):
        return " ".join(str(error).split()) or type(error).__name__
    _LOG.error("a request failed", exc_info=error)
    return FAILED


def as_event(told: Told) -> bytes:
    r"""An event as it goes over the wire.

    Example:
        >>> as_event(("", {"type": "token", "text": "Paris"}))
        b'data: {"type":"token","text":"Paris"}\n\n'
        >>> as_event(("error", "no"))
        b'event: error\ndata: "no"\n\n'
    """
    name, said = told
    data = orjson.dumps(shown(said), option=orjson.OPT_SERIALIZE_NUMPY)
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + data + b"\n\n"


class EventStream(StreamingResponse):
    """Tells events until they end, fail, or the browser goes away, which cancels what makes them.

    Args:
        events: What is told; closed at the end, whatever ends it.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[Told]) -> None:
        self._wire = _wire(events)
        super().__init__(self._wire, headers={"x-accel-buffering": "no"})

    async def stream_response(self, send: Send) -> None:
        """Send the events; what makes them is closed also where sending was cancelled."""
        async with aclosing(self._wire):
            await super().stream_response(send)


async def _wire(events: AsyncGenerator[Told]) -> AsyncGenerator[bytes]:
    """What is told, made in a task of its own, which is cancelled once.

    The server cancels a response again at every await, so that a graph could not end its nodes.
    """
    waiting = asyncio.Queue[Told | None](BUFFERED)
    task = asyncio.create_task(_tell(events, waiting))
    _under_way[task] = waiting
    task.add_done_callback(lambda done: _under_way.pop(done, None))
    try:
        while (told := await waiting.get()) is not None:
            yield as_event(told)
    finally:
        task.cancel()


def end_under_way() -> None:
    """Tell whoever waits for events that there will be no more; what makes them is cancelled."""
    for waiting in _under_way.values():
        while not waiting.empty():
            waiting.get_nowait()
        waiting.put_nowait(("error", ENDED))
        waiting.put_nowait(None)


async def _tell(events: AsyncGenerator[Told], waiting: asyncio.Queue[Told | None]) -> None:
    try:
        async with aclosing(events):
            async for told in events:
                await waiting.put(told)
    except Exception as error:
        await waiting.put(("error", line_of(error)))
    await waiting.put(None)


class _Abandoned(Exception):
    """Nobody waits for the work any more."""


async def watched(work: Callable[[OnProgress], Any]) -> AsyncGenerator[Told]:
    """Run blocking work in a thread and tell its progress, then its result.

    Work that nobody waits for any more ends at its next step.

    Args:
        work: Is given what to tell its progress to.
    """
    loop, steps = asyncio.get_running_loop(), asyncio.Queue[Told | None]()
    abandoned = threading.Event()

    def advance(done: int, total: int | None) -> None:
        if abandoned.is_set():
            raise _Abandoned
        step = ("progress", {"done": done, "total": total})
        loop.call_soon_threadsafe(steps.put_nowait, step)

    ended = loop.run_in_executor(None, work, advance)
    ended.add_done_callback(lambda _: steps.put_nowait(None))
    try:
        while (step := await steps.get()) is not None:
            yield step
        yield "result", ended.result()
    finally:
        abandoned.set()
        ended.add_done_callback(lambda done: done.cancelled() or done.exception())
