"""HTTP clients for OpenAI's SDK whose requests keep to the bounds of the question they serve.

Both frameworks' models are given them. A request may take what is left of the deadline, which is
looked at with every piece that comes; none is sent behind it, and a ``Retry-After`` that reaches
beyond it is not waited for. A reply has an end. What a server says of a failure is without the key
that it was sent. The awaiting client keeps connections for each event loop, because one of a loop
that is closed loses the reply to a request that it sends: the SDK would send it twice.

Example:
    >>> with blocking_client(RuntimeError) as client:
    ...     client.timeout.read
    60.0
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import httpx

from skr_core.bounds import PASSED, seconds_left
from skr_core.redaction import redact, remember

TIMEOUT = 60.0
"""Seconds without a word from the server."""

MAX_BYTES = 32_000_000
"""Of a reply on the wire: a hundred times what the longest replies of models take."""


_LIMITS = httpx.Limits(max_connections=1_000, max_keepalive_connections=100)


def blocking_client(failure: type[Exception], timeout: float = TIMEOUT) -> httpx.Client:
    """A client for ``OpenAI(http_client=...)``.

    Args:
        failure: Raised where a bound is reached: the SDK's own root of errors, which it passes
            through, while it tries again after any other.
        timeout: Seconds without a word from the server.
    """
    bounds = _Bounds(failure)
    return _Client(
        timeout=timeout,
        limits=_LIMITS,
        follow_redirects=True,
        event_hooks={"request": [bounds.send], "response": [bounds.receive]},
    )


def awaiting_client(failure: type[Exception], timeout: float = TIMEOUT) -> httpx.AsyncClient:
    """The same for ``AsyncOpenAI``, in any number of event loops."""
    return _ClientOfLoops(failure, timeout)


class _Client(httpx.Client):
    def __del__(self) -> None:
        with suppress(Exception):  # as the SDK does with its own
            self.close()


class _ClientOfLoops(httpx.AsyncClient):
    def __init__(self, failure: type[Exception], timeout: float) -> None:
        super().__init__(timeout=timeout)
        self._bounds = _Bounds(failure)
        self._of_loops: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        loop = asyncio.get_running_loop()
        if (client := self._of_loops.get(loop)) is None:
            for over in [each for each in [*self._of_loops] if each.is_closed()]:
                self._of_loops.pop(over, None)  # its connections go with it
            client = httpx.AsyncClient(
                timeout=self.timeout,
                limits=_LIMITS,
                follow_redirects=True,
                event_hooks={"request": [self._bounds.asend], "response": [self._bounds.areceive]},
            )
            self._of_loops[loop] = client
        return await client.send(request, **options)

    async def aclose(self) -> None:
        if client := self._of_loops.pop(asyncio.get_running_loop(), None):
            await client.aclose()
        await super().aclose()


class _Bounds:
    """What a client does with each request and response.

    Args:
        failure: Raised where a bound is reached.
    """

    def __init__(self, failure: type[Exception]) -> None:
        self.failure = failure

    def send(self, request: httpx.Request) -> None:
        """Give a request the time that is left."""
        _, _, key = request.headers.get("authorization", "").partition(" ")
        remember(key)
        request.headers["accept-encoding"] = "identity"  # so that a length is what will be read
        left = seconds_left()
        if left is None:
            return
        if not left:
            raise self.failure(PASSED)
        given = request.extensions.get("timeout", {})
        request.extensions["timeout"] = {
            each: left if given.get(each) is None else min(left, given[each])
            for each in ("connect", "read", "write", "pool")
        }

    async def asend(self, request: httpx.Request) -> None:
        self.send(request)

    def receive(self, response: httpx.Response) -> None:
        """Bound what is read of a response, and say whether to wait for another."""
        _ask_again_in_time(response)
        response.stream = _Body(response, self.failure)

    async def areceive(self, response: httpx.Response) -> None:
        _ask_again_in_time(response)
        response.stream = _AwaitedBody(response, self.failure)


def _ask_again_in_time(response: httpx.Response) -> None:
    left, wait = seconds_left(), response.headers.get("retry-after", "")
    if left is not None and wait.replace(".", "", 1).isdigit() and float(wait) >= left:
        response.headers["x-should-retry"] = "false"  # the SDK's own word for it


class _Pieces:
    """The body of a response, piece by piece.

    Args:
        response: Whose body it is.
        failure: Raised where a bound is reached.
    """

    def __init__(self, response: httpx.Response, failure: type[Exception]) -> None:
        self._body: Any = response.stream
        self._failure = failure
        self._length = 0
        # What a server says of a failure is held back, so that no key in it is cut in two.
        self._holds = response.is_error and "content-encoding" not in response.headers
        self._held = bytearray()

    def _take(self, piece: bytes) -> bytes:
        self._length += len(piece)
        if self._length > MAX_BYTES:
            raise self._failure(f"the reply is longer than {MAX_BYTES:,} bytes")
        if seconds_left() == 0:
            raise self._failure(PASSED)
        if not self._holds:
            return piece
        self._held += piece
        return b""

    def _rest(self) -> bytes:
        return redact(self._held.decode("utf-8", "replace")).encode()


class _Body(_Pieces, httpx.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        for piece in self._body:
            yield self._take(piece)
        yield self._rest()

    def close(self) -> None:
        self._body.close()


class _AwaitedBody(_Pieces, httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._body:
            yield self._take(piece)
        yield self._rest()

    async def aclose(self) -> None:
        await self._body.aclose()
