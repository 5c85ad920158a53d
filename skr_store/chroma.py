"""What every Chroma is told, and connections to a server, sync and async."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

import orjson

from skr_core.errors import InputError, SKRError, StoreError, extra
from skr_store._compat import sessions_of, take_connections

PORT = 8000
COLLECTION = "references"

# With Chroma's defaults the index misses almost half of the true ten nearest of random vectors;
# with these it finds 99 of 100.
CONFIGURATION = {
    "hnsw": {
        "space": "cosine",
        "ef_construction": 200,
        "max_neighbors": 32,
        "ef_search": 400,
        # The index is written with every addition. With the defaults up to a thousand rows wait in
        # the database, each opening inserts them into the graph with several threads, and the graph
        # differs from opening to opening, and with it what some questions find.
        "batch_size": 2,
        "sync_threshold": 2,
    }
}

_NO_EMBEDDER = {"legacy", "unknown"}
"""What Chroma keeps where it is given vectors and no embedder."""

SILENT: dict[str, Any] = {"anonymized_telemetry": False}
"""Settings of every Chroma that is opened here: it tells nobody that it is used."""


def open_folder(path: Path) -> Any:
    """Open the Chroma of a folder; made if missing.

    Raises:
        StoreError: What the folder holds would run something of its own.
    """
    _check_inert(Path(path) / "chroma.sqlite3")
    with extra("chroma"):
        import chromadb
        from chromadb.config import Settings

    return chromadb.PersistentClient(path, Settings(**SILENT))


def _check_inert(database: Path) -> None:
    """Refuse triggers and views, and embedders, which Chroma would make of what the file says.

    A model of sentence-transformers may bring code, and an API's embedder sends texts elsewhere.
    """
    if not database.exists():
        return
    # For writing, because what a kill has left half-written is put right by who opens it.
    address = f"{database.absolute().as_uri()}?mode=rw"
    with explained(database), closing(sqlite3.connect(address, uri=True)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        computes = "SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view')"
        if connection.execute(computes).fetchone():
            raise StoreError(f"{database} holds triggers or views, and Chroma makes none")
        rows = connection.execute("SELECT * FROM collections").fetchall()
        kept = [orjson.loads(each) for row in rows for each in row if str(each).startswith("{")]
        if {kind for each in kept for kind in _embedders_in(each)} - _NO_EMBEDDER:
            raise StoreError(f"{database} names an embedder, and is only given vectors")


def _embedders_in(made: Any) -> Iterator[str]:
    """The types of the embedders in what Chroma keeps of a collection."""
    for name, value in made.items() if isinstance(made, dict) else ():
        if name == "embedding_function" and isinstance(value, dict):
            yield str(value.get("type"))
        yield from _embedders_in(value)


def close_client(client: Any) -> None:
    """Let go of the files and connections of a blocking client."""
    sessions = sessions_of(client)
    client.close()
    for session in sessions:
        session.close()


@contextmanager
def explained(place: str | Path) -> Iterator[None]:
    """Raise one error for whatever Chroma raises at a place.

    Raises:
        StoreError: Chroma raised its own errors, httpx's, ValueError or a bare Exception.
    """
    try:
        yield
    except SKRError:
        raise
    except Exception as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        raise StoreError(f"Chroma at {place}: {problem}") from error


def connect_server(
    url: str, collection: str, key: str, place: Mapping[str, str | None]
) -> tuple[Any, Callable[[], Awaitable[Any]]]:
    """Connect, and say how to open a collection awaitably.

    Args:
        url: The address, such as ``http://localhost:8000``.
        collection: The collection that the second of the pair opens; must exist by then.
        key: The server's key; may be empty.
        place: The tenant and the database, where they are not Chroma's own.

    Returns:
        The blocking client, and a function that opens the collection on the running event loop.

    Raises:
        InputError: `url` is not an address.
        StoreError: No Chroma answers there.
    """
    with extra("chroma"):
        import chromadb
        from chromadb.config import Settings

    try:
        address = urlsplit(url)
        host, port, secure = address.hostname, address.port, address.scheme == "https"
    except ValueError as error:
        raise InputError(f"{url!r} is not an address: {error}") from error
    if address.scheme not in ("http", "https") or not host:
        raise InputError(f"{url!r} is not an address such as http://localhost:{PORT}")
    options: dict[str, Any] = {
        "host": host,
        "port": port or (443 if secure else PORT),
        "ssl": secure,
        # The first is Chroma's own, the second that of a proxy before it.
        "headers": {"x-chroma-token": key, "Authorization": f"Bearer {key}"} if key else None,
        **{name: value for name, value in place.items() if value is not None},
    }
    try:
        client = chromadb.HttpClient(**options, settings=Settings(**SILENT))
    except Exception as error:  # ValueError, httpx's or Chroma's own, by the fault
        raise StoreError(
            f"no Chroma server answers at {url}: start one with  skr store serve FOLDER"
        ) from error

    async def open_awaitably() -> Any:
        aclient = await chromadb.AsyncHttpClient(**options, settings=Settings(**SILENT))
        return await aclient.get_collection(collection, embedding_function=None)

    return client, open_awaitably


_loops: WeakSet[asyncio.AbstractEventLoop] = WeakSet()
_endings: dict[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] = {}


async def begin_connections() -> None:
    """Have what the running event loop opens from now on closed when it is shut down."""
    loop = asyncio.get_running_loop()
    if loop in _endings:
        return
    for over in [each for each in [*_endings] if each.is_closed()]:
        _endings.pop(over, None)  # one that was closed without being shut down
    ending = _endings[loop] = _ending(loop)
    if loop not in _loops:
        take_connections(loop)  # of an event loop that is gone
        _loops.add(loop)
    await anext(ending)


async def forget_connections() -> None:
    """Close the connections that the running event loop has opened."""
    if ending := _endings.pop(asyncio.get_running_loop(), None):
        await ending.aclose()


async def _ending(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None, None]:
    """Closes connections where its loop is shut down, which ends the generators that are left."""
    try:
        yield
    finally:
        _endings.pop(loop, None)
        if (connections := take_connections(loop)) is not None:
            await connections.aclose()
