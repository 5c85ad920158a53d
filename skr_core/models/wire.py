"""What an HTTP client does with each request and reply, so that they keep to the question's bounds.

A request may take what is left of the deadline, which is looked at with every piece that comes;
none is sent behind it, and a ``Retry-After`` that reaches beyond it is not waited for. A reply has
an end, also one that is sent packed. What a server says of a failure is without the key that it was
sent.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from skr_core.bounds import PASSED, seconds_left
from skr_core.cleaning import redact, remember

MAX_BYTES = 32_000_000
"""Of a reply, unpacked: a hundred times what the longest replies of models take."""

GZIP_OR_ZLIB = 47
"""The window bits by which zlib tells both by their head."""


class WireBounds:
    """The event hooks of a client.

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
        """The same, awaited."""
        self.send(request)

    def receive(self, response: httpx.Response) -> None:
        """Bound what is read of a response, and say whether to wait for another."""
        _ask_again_in_time(response)
        response.stream = _Body(response, self.failure)

    async def areceive(self, response: httpx.Response) -> None:
        """The same, awaited."""
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
        # It was asked for as it is. The header goes, or httpx would unpack it without an end.
        packed = response.headers.pop("content-encoding", "identity").strip().lower()
        self._packed = packed not in ("", "identity")
        if self._packed and packed not in ("gzip", "x-gzip", "deflate"):
            raise failure(f"the server packs its reply as {packed[:40]!r}, which nobody asked for")
        self._unpacking = zlib.decompressobj(GZIP_OR_ZLIB)
        # What a server says of a failure is held back, so that no key in it is cut in two.
        self._holds = response.is_error
        self._held = bytearray()

    def _take(self, piece: bytes) -> bytes:
        if self._packed:
            try:
                piece = self._unpacking.decompress(piece, MAX_BYTES - self._length + 1)
            except zlib.error as error:
                raise self._failure(f"the reply cannot be unpacked: {error}") from error
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
        return redact(self._held.decode("utf-8", "replace")).encode() if self._held else b""


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
