"""HTTP clients for OpenAI's SDK, which all models are given that are made by their id.

Their requests keep to the deadline of the question that they serve: a request may take what is left
of it, none is sent behind it, and a ``Retry-After`` that reaches beyond it is not waited for. A
prompt is sent to no other host than it was meant for, however a server redirects it, and a reply is
read as `skr_core.models.wire` says before a framework sees it.

The async client keeps connections for each event loop, because one of a loop that is closed loses
the reply to a request that it sends: the SDK would send it twice. A loop that is shut down, as
``asyncio.run`` does, closes its connections. Where the extra ``aiohttp`` is installed, its requests
go through aiohttp: the pool of httpx looks at all of its connections with each request, so that
with many at once it waits for itself.

Example:
    >>> with sync_client() as client:
    ...     client.timeout.read
    60.0
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import httpx

from skr_core.bounds import PASSED, check_time, seconds_left
from skr_core.cleaning import remember
from skr_core.errors import extra

with extra("openai"):
    from openai import (
        DefaultAioHttpClient,
        DefaultAsyncHttpxClient,
        DefaultHttpxClient,
        OpenAIError,
    )

with extra("openai"):
    from skr_core.models.wire import ReplyReader

COMPLETIONS = "/chat/completions"

MAX_REDIRECTS = 3

TIMEOUT = 60.0
"""Seconds without a word from the server; the SDK's own ten minutes outlast any reader."""


def sync_client(timeout: float = TIMEOUT) -> httpx.Client:
    """Make a client for ``OpenAI(http_client=...)``.

    Args:
        timeout: Seconds without a word from the server.
    """
    return _SyncClient(
        timeout=timeout,
        event_hooks={"request": [_keep_to_deadline], "response": [_look_at, _read_sync]},
    )


class _SyncClient(DefaultHttpxClient):  # type: ignore[misc]
    """Closes its connections when nobody has it any more, as the SDK's own client does."""

    def __init__(self, **options: Any) -> None:
        self._process = os.getpid()
        super().__init__(**options)

    def __del__(self) -> None:
        if self._process == os.getpid():  # in a forked child they are its parent's
            with suppress(Exception):
                self.close()


def async_client(timeout: float = TIMEOUT) -> httpx.AsyncClient:
    """Make a client for ``AsyncOpenAI(http_client=...)``, for any number of event loops.

    Args:
        timeout: Seconds without a word from the server.
    """
    return _ClientOfLoops(timeout=timeout)


def _keep_to_deadline(request: httpx.Request) -> None:
    _, _, key = request.headers.get("authorization", "").partition(" ")
    remember(key)
    if "skr_streamed" not in request.extensions and request.url.path.endswith(COMPLETIONS):
        # One that was redirected has the same extensions, and its body cannot be read any more.
        request.extensions["skr_streamed"] = bool(json.loads(request.content).get("stream"))
    left = seconds_left()
    if left is None:
        return
    if not left:
        raise OpenAIError(PASSED)  # after any other error the SDK tries again
    given = request.extensions.get("timeout", {})
    request.extensions["timeout"] = {
        each: left if given.get(each) is None else min(left, given[each])
        for each in ("connect", "read", "write", "pool")
    }


def _look_at(response: httpx.Response) -> None:
    if response.has_redirect_location:
        _check_redirect(response)
    left, wait = seconds_left(), response.headers.get("retry-after", "")
    if left is not None and wait.replace(".", "", 1).isdigit() and float(wait) >= left:
        response.headers["x-should-retry"] = "false"  # the SDK's own word for it


def _check_redirect(response: httpx.Response) -> None:
    request = response.request
    target = request.url.join(response.headers["location"])
    downgraded = request.url.scheme == "https" and target.scheme != "https"
    if target.host != request.url.host or downgraded:
        there = f"{target.scheme}://{target.host}"
        raise OpenAIError(
            f"the server redirects to {there}, which was not asked; check its address"
        )
    made = request.extensions["skr_redirects"] = request.extensions.get("skr_redirects", 0) + 1
    if made > MAX_REDIRECTS:
        raise OpenAIError("the server redirects again and again; check its address")


def _reader(response: httpx.Response) -> ReplyReader | None:
    """What reads a reply; None where it is an error, or of another kind."""
    if not response.is_success or "skr_streamed" not in response.request.extensions:
        return None
    return ReplyReader(streamed=response.request.extensions["skr_streamed"])


def _received(response: httpx.Response) -> httpx.Response:
    """The response as it comes, unpacked; what is left is read of it."""
    received = httpx.Response(
        response.status_code, headers=response.headers, stream=response.stream
    )
    for header in ("content-encoding", "content-length"):
        response.headers.pop(header, None)
    return received


def _read_sync(response: httpx.Response) -> None:
    if reader := _reader(response):
        response.stream = _Read(_received(response), reader)


async def _read_async(response: httpx.Response) -> None:
    if reader := _reader(response):
        response.stream = _AsyncRead(_received(response), reader)


class _Read(httpx.SyncByteStream):
    def __init__(self, received: httpx.Response, reader: ReplyReader) -> None:
        self._received, self._reader = received, reader

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._received.iter_bytes():
            check_time()  # also where a server sends nothing but signs of life
            yield from self._reader.read(piece)
        yield from self._reader.end()

    def close(self) -> None:
        self._received.close()


class _AsyncRead(httpx.AsyncByteStream):
    def __init__(self, received: httpx.Response, reader: ReplyReader) -> None:
        self._received, self._reader = received, reader

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._received.aiter_bytes():
            for read in self._reader.read(piece):
                yield read
        for read in self._reader.end():
            yield read

    async def aclose(self) -> None:
        await self._received.aclose()


async def _async_keep_to_deadline(request: httpx.Request) -> None:
    _keep_to_deadline(request)


async def _async_look_at(response: httpx.Response) -> None:
    _look_at(response)


def _client_class() -> Any:
    try:
        import httpx_aiohttp  # noqa: F401  # of the extra
    except ImportError:
        return DefaultAsyncHttpxClient
    return DefaultAioHttpClient


class _ClientOfLoops(httpx.AsyncClient):
    def __init__(self, timeout: float) -> None:
        # Certificates are read once, and not for each loop.
        self._options: dict[str, Any] = {
            "timeout": timeout,
            "verify": httpx.create_ssl_context(),
            "event_hooks": {
                "request": [_async_keep_to_deadline],
                "response": [_async_look_at, _read_async],
            },
        }
        super().__init__(timeout=timeout, verify=self._options["verify"])
        self._class = _client_class()
        self._of_loops: dict[
            asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[Any, None]]
        ] = {}

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        loop = asyncio.get_running_loop()
        if loop not in self._of_loops:
            for over in [each for each in [*self._of_loops] if each.is_closed()]:
                self._of_loops.pop(over, None)  # one that was closed without being shut down
            kept = self._kept(loop)
            self._of_loops[loop] = await anext(kept), kept
        client, _ = self._of_loops[loop]
        return await client.send(request, **options)

    async def _kept(
        self, loop: asyncio.AbstractEventLoop
    ) -> AsyncGenerator[httpx.AsyncClient, None]:
        """Yield the client of a loop: generators are what a loop ends when it is shut down."""
        async with self._class(**self._options) as client:
            try:
                yield client
            finally:
                self._of_loops.pop(loop, None)

    async def aclose(self) -> None:
        if of_loop := self._of_loops.pop(asyncio.get_running_loop(), None):
            await of_loop[1].aclose()
        await super().aclose()
