"""Connecting to a server started with ``chroma run``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from skr_core.errors import InputError, StoreError

PORT = 8000


def connect_server(url: str, collection: str) -> tuple[Any, Callable[[], Awaitable[Any]]]:
    """Connect, and say how to open a collection awaitably.

    Args:
        url: Such as ``http://localhost:8000``.
        collection: Opened by the second of the pair, which must exist by then.

    Returns:
        The blocking client, and a function that opens the collection on the running event loop.

    Raises:
        InputError: `url` is not an address.
        StoreError: No Chroma answers there.
    """
    import chromadb

    try:
        address = urlsplit(url)
        host, port, secure = address.hostname, address.port, address.scheme == "https"
    except ValueError as error:
        raise InputError(f"{url!r} is not an address: {error}") from error
    if address.scheme not in ("http", "https") or not host:
        raise InputError(f"{url!r} is not an address such as http://localhost:{PORT}")
    port = port or (443 if secure else PORT)
    try:
        client = chromadb.HttpClient(host, port, ssl=secure)
    except Exception as error:  # ValueError, httpx's or Chroma's own, by the fault
        raise StoreError(
            f"no Chroma server answers at {url}: start one with  chroma run --path FOLDER"
        ) from error

    async def open_awaitably() -> Any:
        aclient = await chromadb.AsyncHttpClient(host, port, ssl=secure)
        return await aclient.get_collection(collection, embedding_function=None)

    return client, open_awaitably
