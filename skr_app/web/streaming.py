"""Server-sent events of what is under way, and the server that ends them with itself.

The graph's own events are messages without a name, as JSON, just as `skr_graphs.events` makes them.
Three names stand beside them: ``run`` for what is kept of a question, ``progress`` and ``result``
for other work, ``error`` for the one line of what failed.
"""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

import orjson

from skr_core.cleaning import cleaned
from skr_core.errors import SKRError, extra
from skr_core.ports import OnProgress

with extra("web"):
    import uvicorn
    from starlette.responses import StreamingResponse
    from starlette.types import ASGIApp, Send

_LOG = logging.getLogger(__name__)

SECONDS_TO_END = 2
"""Seconds for answers under way when the server is ended; then they are cancelled."""
Event = tuple[str, Any]
"""The name of an event, empty for one of the graph, and its data."""

BUFFERED = 100
"""Events that wait for a slow browser before their maker waits too."""
FAILED = "something failed that should not: what it was stands in the log of skr serve"

ENDED = "skr serve was ended"

_under_way: dict[asyncio.Task[None], asyncio.Queue[Event | None]] = {}
"""The tasks that make events, and the queues where these wait."""


def file_name(source: str) -> str:
    """The name of a document's file, without the folder that it is in; a web address stays.

    Example:
        >>> file_name("/home/ada/notes/ferry.md"), file_name("https://lorn.test/ferry")
        ('ferry.md', 'https://lorn.test/ferry')
    """
    if source.startswith(("https://", "http://")):
        return source
    return re.split(r"[/\\]", source.rstrip("/\\"))[-1]


def shown(value: Any) -> Any:
    r"""A plain value whose texts are all cleaned, and whose sources are files without a folder.

    Example:
        >>> shown({"text": "red \x1b[31m", "found": ["a\u202eb", 3]})
        {'text': 'red [31m', 'found': ['ab', 3]}
    """
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, Mapping):
        return {
            str(key): file_name(shown(each))
            if key == "source" and isinstance(each, str)
            else shown(each)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    return value


def line_of(error: Exception) -> str:
    """The line that a browser is given of a failure: that of an error of ours, of others nothing.

    Example:
        >>> line_of(SKRError("the store is closed")), line_of(KeyError("secret")) == FAILED
        ('the store is closed', True)
    """
    if isinstance(error, SKRError):
        return " ".join(str(error).split()) or type(error).__name__
    _LOG.error("a request failed", exc_info=error)
    return FAILED


def as_event(event: Event) -> bytes:
    r"""An event as it goes over the wire.

    Example:
        >>> as_event(("", {"type": "token", "text": "Paris"}))
        b'data: {"type":"token","text":"Paris"}\n\n'
        >>> as_event(("error", "no"))
        b'event: error\ndata: "no"\n\n'
    """
    name, value = event
    data = orjson.dumps(shown(value), option=orjson.OPT_SERIALIZE_NUMPY)
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + data + b"\n\n"


class EventStream(StreamingResponse):
    """Sends events until they end, fail, or the browser goes away, which cancels their maker.

    Args:
        events: The events; closed at the end, whatever ends them.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[Event]) -> None:
        self._wire = _wire(events)
        super().__init__(self._wire, headers={"x-accel-buffering": "no"})

    async def stream_response(self, send: Send) -> None:
        """Send the events; what makes them is closed also where sending was cancelled."""
        async with aclosing(self._wire):
            await super().stream_response(send)


async def _wire(events: AsyncGenerator[Event]) -> AsyncGenerator[bytes]:
    """The events on the wire; a task of its own makes them, which is cancelled once.

    The server cancels a response again at every await, so that a graph could not end its nodes.
    """
    waiting = asyncio.Queue[Event | None](BUFFERED)
    task = asyncio.create_task(_put(events, waiting))
    _under_way[task] = waiting
    task.add_done_callback(lambda done: _under_way.pop(done, None))
    try:
        while (event := await waiting.get()) is not None:
            yield as_event(event)
    finally:
        task.cancel()


def end_under_way() -> None:
    """End all streams: browsers are told so, and what makes the events is cancelled."""
    for waiting in _under_way.values():
        while not waiting.empty():
            waiting.get_nowait()
        waiting.put_nowait(("error", ENDED))
        waiting.put_nowait(None)


async def _put(events: AsyncGenerator[Event], waiting: asyncio.Queue[Event | None]) -> None:
    try:
        async with aclosing(events):
            async for event in events:
                await waiting.put(event)
    except Exception as error:
        await waiting.put(("error", line_of(error)))
    await waiting.put(None)


class _Abandoned(Exception):
    """Nobody waits for the work any more."""


async def watched(work: Callable[[OnProgress], Any]) -> AsyncGenerator[Event]:
    """Run blocking work in a thread; its progress and then its result are the events.

    Work that nobody waits for any more ends at its next step.

    Args:
        work: The work; it is given a function to report its progress to.
    """
    loop, steps = asyncio.get_running_loop(), asyncio.Queue[Event | None]()
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


class _Server(uvicorn.Server):
    """A server that ends the streams of events before it waits for its answers."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        end_under_way()
        await super().shutdown(sockets)


def server_of(app: ASGIApp) -> uvicorn.Server:
    """A server that says nothing of itself, neither to browsers nor in a log of what was asked."""
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=SECONDS_TO_END,
    )
    return _Server(config)


def serve_app(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until the process is told to end; returns then.

    Args:
        app: The application.
        listening: A socket that listens already.
    """
    # The server raises the signal that ended it once more, when it has ended.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server_of(app).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
