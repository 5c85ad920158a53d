"""AiohttpClient: httpx over aiohttp, without a word in the log where its event loop is over."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import httpx
from httpx_aiohttp import AiohttpTransport, HttpxAiohttpClient


class AiohttpClient(HttpxAiohttpClient):
    """An ``httpx.AsyncClient`` whose connections are aiohttp's, also to the proxies of the
    environment.

    Args:
        **options: Of ``httpx.AsyncClient``.
    """

    def _init_transport(self, *given: Any, **options: Any) -> httpx.AsyncBaseTransport:
        transport: httpx.AsyncBaseTransport | None = options.pop("transport", None)
        return transport or _Transport(*given, **options)

    def _init_proxy_transport(
        self, proxy: httpx.Proxy, *given: Any, **options: Any
    ) -> httpx.AsyncBaseTransport:
        return _Transport(*given, **{**options, "proxy": proxy})


class _Transport(AiohttpTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return await super().handle_async_request(request)
        except httpx.ConnectTimeout as error:
            if isinstance(error.__cause__, TimeoutError):
                raise
            # A server that hangs up is called a time-out, too.
            raise httpx.RemoteProtocolError(str(error)) from error

    def __del__(self) -> None:
        # A session that is not closed writes to the log; one whose loop is over closes at once.
        with suppress(Exception, StopIteration):
            self.aclose().send(None)
