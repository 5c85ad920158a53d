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
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

import orjson

from skr_core.cleaning import cleaned
from skr_core.errors import SKRError, extra

with extra("cli"):
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


def without_folders(line: str) -> str:
    """A message that names files without saying in which folders of the server they are.

    Example:
        >>> without_folders("/home/ada/My notes/votes.jsonl cannot be written: see https://a.test/b")
        'votes.jsonl cannot be written: see https://a.test/b'
    """
    return _FOLDERS.sub("", line)


def shown(value: Any, change: Callable[[str], str] = str) -> Any:
    r"""A plain value as a browser is given it: cleaned, and without folders of the server.

    Args:
        value: The value.
        change: What becomes of its texts once they are cleaned, but for those that name files.

    Example:
        >>> shown({"text": "red \x1b[31m", "found": ["a\u202eb", 3], "source": "/home/ada/a.md"})
        {'text': 'red [31m', 'found': ['ab', 3], 'source': 'a.md'}
    """
    if isinstance(value, str):
        return change(cleaned(value))
    if isinstance(value, Mapping):
        return {str(key): shown(each, _CHANGES.get(key, change)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [shown(each, change) for each in value]
    return value


_FOLDERS = re.compile(
    # A space may stand within a name, and not behind what ends a phrase.
    r"(?:\bfile://|(?<![\w/.~<]))/(?!/)"
    r"(?:[^\s/](?:[^\s/]|(?<![:;,.)'\"]) )*/)*(?=[^\s/])"
)
_CHANGES = {
    **dict.fromkeys(("source", "path", "file_path"), file_name),
    **dict.fromkeys(("error", "errors", "model", "url"), without_folders),
}


def line_of(error: Exception) -> str:
    """The line that a browser is given of a failure: that of an error of ours, of others nothing.

    What it does not say stands in the log.

    Example:
        >>> line_of(SKRError("the store is closed")), line_of(KeyError("secret")) == FAILED
        ('the store is closed', True)
    """
    if isinstance(error, SKRError):
        whole = " ".join(str(error).split()) or type(error).__name__
        line = without_folders(whole)
        if line != whole:
            _LOG.warning("a request failed: %s", whole)
        return line
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
