"""HTTP clients for OpenAI's SDK, which all models are given that are made by their id.

Their requests keep to the bounds of the question that they serve (`skr_core.models.wire`). The
awaiting client keeps connections for each event loop, because one of a loop that is closed loses
the reply to a request that it sends: the SDK would send it twice. A loop that is shut down, as
``asyncio.run`` does, closes its connections.

Where the extra ``aiohttp`` is installed, awaited requests go through aiohttp. The pool of httpx
looks at all of its connections with each request, so that with many at once it waits for itself.

Example:
    >>> with blocking_client(RuntimeError) as client:
    ...     client.timeout.read
    60.0
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import httpx

from skr_core.models.wire import WireBounds

TIMEOUT = 60.0
"""Seconds without a word from the server."""

LIMITS = httpx.Limits(max_connections=1_000, max_keepalive_connections=100)


def blocking_client(failure: type[Exception], timeout: float = TIMEOUT) -> httpx.Client:
    """A client for ``OpenAI(http_client=...)``.

    Args:
        failure: Raised where a bound is reached: the SDK's own root of errors, which it passes
            through, while it tries again after any other.
        timeout: Seconds without a word from the server.
    """
    bounds = WireBounds(failure)
    return _Client(
        timeout=timeout,
        limits=LIMITS,
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
        bounds = WireBounds(failure)
        # Certificates are read once, and not for each loop.
        self._options: dict[str, Any] = {
            "timeout": timeout,
            "limits": LIMITS,
            "follow_redirects": True,
            "event_hooks": {"request": [bounds.asend], "response": [bounds.areceive]},
            "verify": httpx.create_ssl_context(),
        }
        super().__init__(timeout=timeout, verify=self._options["verify"])
        self._class = _awaiting_class()
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
        """The client of a loop. Generators are what a loop ends when it is shut down."""
        async with self._class(**self._options) as client:
            try:
                yield client
            finally:
                self._of_loops.pop(loop, None)

    async def aclose(self) -> None:
        if of_loop := self._of_loops.pop(asyncio.get_running_loop(), None):
            await of_loop[1].aclose()
        await super().aclose()


def _awaiting_class() -> type[httpx.AsyncClient]:
    try:
        from skr_core.models.aiohttp_client import AiohttpClient
    except ImportError:
        return httpx.AsyncClient
    return AiohttpClient
