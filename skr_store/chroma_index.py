"""One Chroma collection, embedded or on a server, asked in both colours.

Chroma's own embedding function downloads a model, so it is never used: vectors come with the
call. The embedded Chroma has no awaitable form, its calls run in threads; a server's are awaited.
Every operation is a flow, written once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import orjson

from skr_core.errors import EmbedderMismatch, StoreError, extra
from skr_core.flow import Flow, call
from skr_core.models.embedders import NoEmbedder
from skr_core.types import Reference
from skr_store.connection import begin_connections, close_client, forget_connections
from skr_store.storable import keyword_text, provenance, with_provenance

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skr_core.ports import Vectors

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
# For texts whose vectors are never searched: a graph that costs little, written now and then.
WITHOUT_VECTORS = {
    "hnsw": {"space": "l2", "ef_construction": 4, "max_neighbors": 4, "sync_threshold": 10_000}
}
BATCH_SIZE = 1000
EMBEDDER_KEY = "skr_embedder"
UNKNOWN = "an unknown embedder"
"""Of a collection made elsewhere, which says nothing; its vectors cannot be trusted either."""

P = ParamSpec("P")
T = TypeVar("T")
Method = Literal["add", "count", "get", "query"]


class ChromaIndex:
    """The collection of one store: ids, texts and vectors.

    Args:
        client: Of the embedded Chroma or of a server.
        place: A folder or an address, for messages.
        embedder: Name of the embedder; recorded in a new collection, compared with an old one.
        collection: Its name; made if missing.
        connect: Opens the same collection awaitably, where Chroma can.

    Attributes:
        batch_size: How many references are added in a call.

    Raises:
        EmbedderMismatch: The collection was made by another embedder.
        StoreError: Chroma cannot read it.
    """

    def __init__(
        self,
        client: Any,  # Chroma's ClientAPI does not declare `close`
        place: str | Path,
        embedder: str,
        collection: str = COLLECTION,
        connect: Callable[[], Awaitable[Any]] | None = None,
    ) -> None:
        self._client, self._place, self._connect = client, place, connect
        self._has_vectors = embedder != NoEmbedder.name
        self._awaitable: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        try:
            with explained(self._place):
                self._collection: Any = self._open(collection, embedder)
                self.batch_size = min(BATCH_SIZE, client.get_max_batch_size())
            maker = (self._collection.metadata or {}).get(EMBEDDER_KEY, UNKNOWN)
            if maker != embedder:
                raise mismatch(place, maker, embedder)
        except StoreError:
            self.close()
            raise

    @property
    def awaits(self) -> bool:
        """True where Chroma has an awaitable form."""
        return self._connect is not None

    def count(self) -> Flow[int]:
        """How many references there are."""
        number: int = yield from self._call("count")
        return number

    def known(self, ids: Sequence[str] | None = None) -> Flow[set[str]]:
        """Which of these ids there are; of all where none are given."""
        if ids is not None and not ids:
            return set()
        rows = yield from self._call("get", ids=ids, include=[])
        return set(rows["ids"])

    def insert(
        self,
        references: Sequence[Reference],
        vectors: Vectors,
        after_each: Callable[[], None] = lambda: None,
    ) -> Flow[None]:
        """Add references with their vectors; ids that are there already are passed over.

        Args:
            references: What to add, `batch_size` in a call.
            vectors: One for each.
            after_each: Called after each call.
        """
        for start in range(0, len(references), self.batch_size):
            part = references[start : start + self.batch_size]
            yield from self._call(
                "add",
                ids=[reference.id for reference in part],
                embeddings=vectors[start : start + self.batch_size],
                documents=[reference.text for reference in part],
                metadatas=[_pack(reference) for reference in part],
            )
            after_each()

    def nearest(self, vectors: Vectors, limit: int) -> Flow[list[tuple[str, float]]]:
        """Ids and cosines of the nearest to one vector, best first, by id among equals."""
        rows = yield from self._call(
            "query", query_embeddings=vectors, n_results=limit, include=["distances"]
        )
        pairs = zip(rows["ids"][0], rows["distances"][0], strict=True)
        return [(i, 1 - distance) for distance, i in sorted((d, i) for i, d in pairs)]

    def fetch(self, ids: Sequence[str]) -> Flow[dict[str, Reference]]:
        """References by id; an id that is not there is left out."""
        if not ids:
            return {}
        rows = yield from self._call("get", ids=ids, include=["documents", "metadatas"])
        return {reference.id: reference for reference in _unpack(rows)}

    def worded(self, ids: Sequence[str]) -> Flow[list[tuple[str, str]]]:
        """Ids with what keyword search sees of them; an id that is not there is left out."""
        rows = yield from self._call("get", ids=ids, include=["documents", "metadatas"])
        columns = zip(rows["ids"], rows["documents"], rows["metadatas"], strict=True)
        return [
            (i, keyword_text(Reference(i, text or "", meta["title"]))) for i, text, meta in columns
        ]

    def probe(self) -> Flow[None]:
        """Search once, because a broken index opens well and fails when it is searched.

        Without an embedder nothing searches it, and that it can be read is enough.

        Raises:
            StoreError: The index cannot be searched.
        """
        if not self._has_vectors:
            yield from self.count()
            return
        rows = yield from self._call("get", limit=1, include=["embeddings"])
        if rows["ids"]:
            yield from self.nearest(rows["embeddings"], 1)

    def close(self) -> None:
        """Let go of files and connections of the blocking client."""
        close_client(self._client)

    async def aclose(self) -> None:
        """Close the connections that this event loop has opened."""
        if self._awaitable.pop(asyncio.get_running_loop(), None) is not None:
            await forget_connections()

    def _open(self, collection: str, embedder: str) -> Any:
        with extra("chroma"):
            from chromadb.errors import NotFoundError

        try:
            return self._client.get_collection(collection, embedding_function=None)
        except NotFoundError:
            return self._client.create_collection(
                collection,
                embedding_function=None,
                metadata={EMBEDDER_KEY: embedder},
                configuration=CONFIGURATION if self._has_vectors else WITHOUT_VECTORS,
                get_or_create=True,
            )

    def _call(self, method: Method, **arguments: Any) -> Flow[Any]:
        return (yield from call(self._ask, self._aask, method, **arguments))

    def _ask(self, method: Method, **arguments: Any) -> Any:
        with explained(self._place):
            return getattr(self._collection, method)(**arguments)

    async def _aask(self, method: Method, **arguments: Any) -> Any:
        if self._connect is None:
            return await asyncio.to_thread(self._ask, method, **arguments)
        loop = asyncio.get_running_loop()
        with explained(self._place):
            await begin_connections()
            if loop not in self._awaitable:
                self._awaitable[loop] = await self._connect()
            return await getattr(self._awaitable[loop], method)(**arguments)


@contextmanager
def explained(place: str | Path) -> Iterator[None]:
    """Raise one error for whatever Chroma raises at a place.

    Raises:
        StoreError: Chroma raised its own errors, httpx's, ValueError or a bare Exception.
    """
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        raise StoreError(f"Chroma at {place}: {problem}") from error


def maker_of(client: Any, place: str | Path, collection: str) -> str | None:
    """The name of the embedder that made a collection; None where there is no collection yet."""
    with extra("chroma"):
        from chromadb.errors import NotFoundError

    try:
        with explained(place):
            found = client.get_collection(collection, embedding_function=None)
    except StoreError as error:
        if isinstance(error.__cause__, NotFoundError):
            return None
        raise
    return str((found.metadata or {}).get(EMBEDDER_KEY, UNKNOWN))


def mismatch(place: str | Path, maker: str, given: str) -> EmbedderMismatch:
    """The error for a store that another embedder has made."""
    bare = maker == NoEmbedder.name
    made = "without an embedder" if bare else f"with the embedder {maker}"
    return EmbedderMismatch(
        f"{place} was made {made}, but {given} was given: pass "
        f"{'none' if bare else 'the embedder it was made with'}, or embed a folder's references "
        f"again: "
        f"skr ingest --rebuild --store PATH --embedder NAME  or  "
        f"ChromaStore.rebuild(path, embedder=...)"
    )


def _pack(reference: Reference) -> Mapping[str, str]:
    # As strings, because Chroma refuses some names and changes some numbers.
    packed = {
        "title": reference.title,
        "metadata": orjson.dumps(dict(reference.metadata)).decode(),
    }
    if from_where := provenance(reference):
        packed["provenance"] = orjson.dumps(from_where).decode()
    return packed


def _unpack(rows: Mapping[str, Any]) -> list[Reference]:
    columns = zip(rows["ids"], rows["documents"], rows["metadatas"], strict=True)
    return [
        with_provenance(
            Reference(identity, text or "", meta["title"], metadata=orjson.loads(meta["metadata"])),
            orjson.loads(meta.get("provenance") or "{}"),
        )
        for identity, text, meta in columns
    ]


def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Flow[T]:
    """Ask for work of the processor, which would hold up an event loop."""

    async def awaitable(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(function, *args, **kwargs)

    return (yield from call(function, awaitable, *args, **kwargs))
