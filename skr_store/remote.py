"""A store on a Chroma server, which holds its texts and is searched by vectors."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import orjson

from skr_core._compat import renew_connections_in_children
from skr_core.errors import EmbedderMismatch, StoreError, extra
from skr_core.flow import Flow, call
from skr_core.types import Reference
from skr_store.chroma import (
    CONFIGURATION,
    begin_connections,
    close_client,
    connect_server,
    explained,
    forget_connections,
)
from skr_store.database import Reading, Source
from skr_store.folder import Changes, SearchMode
from skr_store.storable import (
    provenance,
    searchable_text,
    storable_reference,
    with_provenance,
)

if TYPE_CHECKING:
    from skr_core.ports import Embedder

EMBEDDER_KEY = "skr_embedder"
NEVER = 1e18
"""The time at which what has no time to live expires."""
AT_ONCE = 250
"""Passages of a call; a server may take no more than 300."""


class Remote:
    """The passages of a collection on a Chroma server; each call is awaited where it can be.

    Args:
        url: The server's address.
        collection: The collection's name; made if missing.
        embedder: The embedder of the collection.
        key: The server's key; may be empty.
        place: The tenant and the database, where they are not Chroma's own.

    Raises:
        InputError: `url` is not an address.
        StoreError: No Chroma answers there.
        EmbedderMismatch: The collection was made by another embedder.
    """

    def __init__(
        self,
        url: str,
        collection: str,
        embedder: Embedder,
        key: str,
        place: Mapping[str, str | None],
    ) -> None:
        self.embedder, self.language, self._url = embedder, "", url
        self._client, self._connect = connect_server(url, collection, key, place)
        self._awaitable: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        try:
            with explained(url):
                self._collection = self._open(collection)
        except BaseException:
            close_client(self._client)
            raise
        renew_connections_in_children(self)

    def insert(
        self, references: Sequence[Reference], scope: str, expires: float | None
    ) -> Flow[int]:
        """Add passages; returns how many are new."""
        kept = [storable_reference(each) for each in references if each.text.strip()]
        rows = {
            row_id(scope, each.id): (each, str(each.metadata.get("source", ""))) for each in kept
        }
        return (yield from self._insert(rows, scope, expires, ""))

    def read(self, readings: Sequence[Reading], scope: str) -> Flow[Changes]:
        """Write what was read of some documents; a passage is the first document's that has it."""
        new = gone = 0
        for each in readings:
            kept = [storable_reference(one) for one in each.references if one.text.strip()]
            rows = {row_id(scope, one.id): (one, each.source) for one in kept}
            if each.is_first:  # those of an earlier reading come again, or leave
                gone += yield from self.delete(each.source, scope)
            new += yield from self._insert(rows, scope, None, each.hash or "")
        return Changes(new, gone)

    def find(self, query: str, scope: str, search: SearchMode, k: int) -> Flow[list[Reference]]:
        """The references of a scope that are nearest to a query, at most k."""
        vectors = yield from call(self.embedder.embed, self.embedder.aembed, [query])
        found = yield from self._call(
            "query",
            query_embeddings=vectors,
            n_results=k,
            where={"$and": [{"scope": scope}, {"expires": {"$gt": time.time()}}]},
            include=["documents", "metadatas", "distances"],
        )
        columns = zip(
            found["documents"][0], found["metadatas"][0], found["distances"][0], strict=True
        )
        references = [unpacked(text, kept, 1 - distance) for text, kept, distance in columns]
        return sorted(references, key=lambda each: (-(each.score or 0), each.id))

    def count(self, scope: str | None) -> Flow[int]:
        """How many passages a scope has, or all of them."""
        if scope is None:
            return int((yield from self._call("count")))
        return len((yield from self._call("get", where={"scope": scope}, include=[]))["ids"])

    def sources(self, scope: str | None) -> Flow[list[Source]]:
        """The documents of a scope, or of all of them."""
        rows = yield from self._metadatas(scope)
        passages = Counter((row["source"], row["scope"]) for row in rows)
        added = {(row["source"], row["scope"]): float(row["added"]) for row in rows}
        return [Source(*each, passages[each], added[each]) for each in sorted(passages)]

    def hashes(self, scope: str) -> Flow[dict[str, str | None]]:
        """The hash of each document of a scope; None where its reading was not ended."""
        found: dict[str, str | None] = {}
        for row in (yield from self._metadatas(scope)):
            found[row["source"]] = row["hash"] or found.get(row["source"])
        return found

    def delete(self, source: str | None, scope: str | None) -> Flow[int]:
        """Remove documents; returns how many passages left."""
        wanted = [
            {name: value}
            for name, value in (("source", source), ("scope", scope))
            if value is not None
        ]
        where: Any = wanted[0] if len(wanted) == 1 else {"$and": wanted}
        ids = (yield from self._call("get", where=where, include=[]))["ids"]
        for start in range(0, len(ids), AT_ONCE):
            yield from self._call("delete", ids=ids[start : start + AT_ONCE])
        return len(ids)

    def passages(self, scope: str, limit: int | None) -> Flow[list[Reference]]:
        """The passages of a scope in the order of their ids, at most so many."""
        where = {"$and": [{"scope": scope}, {"expires": {"$gt": time.time()}}]}
        ids = sorted((yield from self._call("get", where=where, include=[]))["ids"])[:limit]
        found: list[Reference] = []
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]
            got = yield from self._call("get", ids=some, include=["documents", "metadatas"])
            found += map(unpacked, got["documents"], got["metadatas"])
        return sorted(found, key=lambda each: each.id)

    def size(self) -> int:
        """Nothing of it is here."""
        return 0

    def close(self, *, for_good: bool = False) -> None:
        """Let go of the connections."""
        close_client(self._client)

    async def aclose(self) -> None:
        """Close the connections that this event loop has opened."""
        if self._awaitable.pop(asyncio.get_running_loop(), None) is not None:
            await forget_connections()

    def _insert(
        self,
        rows: Mapping[str, tuple[Reference, str]],
        scope: str,
        expires: float | None,
        hash: str,
    ) -> Flow[int]:
        ids, new = list(rows), 0
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]
            known = set((yield from self._call("get", ids=some, include=[]))["ids"])
            if missing := [each for each in some if each not in known]:
                references = [rows[each][0] for each in missing]
                texts = [searchable_text(each) for each in references]
                vectors = yield from call(self.embedder.embed, self.embedder.aembed, texts)
                kept = [packed(*rows[each], scope, expires, hash) for each in missing]
                yield from self._call(
                    "add",
                    ids=missing,
                    embeddings=vectors,
                    documents=[each.text for each in references],
                    metadatas=kept,
                )
            new += len(missing)
        return new

    def _metadatas(self, scope: str | None) -> Flow[list[Any]]:
        where = None if scope is None else {"scope": scope}
        found: list[Any] = (yield from self._call("get", where=where, include=["metadatas"]))[
            "metadatas"
        ]
        return found

    def _open(self, name: str) -> Any:
        with extra("chroma"):
            from chromadb.errors import NotFoundError

        try:
            collection = self._client.get_collection(name, embedding_function=None)
        except NotFoundError:
            self.embedder.embed(["probe"])  # a new collection is marked with its name for good
            collection = self._client.create_collection(
                name,
                embedding_function=None,
                metadata={EMBEDDER_KEY: self.embedder.name},
                configuration=CONFIGURATION,
                get_or_create=True,
            )
        maker = (collection.metadata or {}).get(EMBEDDER_KEY, "an unknown embedder")
        if maker != self.embedder.name:
            raise EmbedderMismatch(
                f"{self._url}: the collection {name!r} was made with {maker}, but "
                f"{self.embedder.name} was given: pass the embedder it was made with"
            )
        return collection

    def _call(self, method: str, **arguments: Any) -> Flow[Any]:
        return (yield from call(self._ask, self._aask, method, **arguments))

    def _ask(self, method: str, **arguments: Any) -> Any:
        with explained(self._url):
            return getattr(self._collection, method)(**arguments)

    async def _aask(self, method: str, **arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        with explained(self._url):
            await begin_connections()
            if loop not in self._awaitable:
                self._awaitable[loop] = await self._connect()
            return await getattr(self._awaitable[loop], method)(**arguments)


def row_id(scope: str, identity: str) -> str:
    """The id of a scope's passage in a collection."""
    return f"{identity}:{scope}"


def packed(
    reference: Reference, source: str, scope: str, expires: float | None = None, hash: str = ""
) -> dict[str, str | float]:
    """What a collection keeps of a reference beside its text."""
    kept = {"metadata": dict(reference.metadata), **provenance(reference)}
    return {
        "id": reference.id,
        "title": reference.title,
        "scope": scope,
        "source": source,
        "hash": hash,
        "added": time.time(),
        "expires": NEVER if expires is None else expires,
        "kept": orjson.dumps(kept).decode(),  # as text: Chroma refuses some names and values
    }


def unpacked(text: str, kept: Mapping[str, Any], score: float | None = None) -> Reference:
    """The reference that was packed.

    Raises:
        StoreError: The collection was filled by something else.
    """
    try:
        row = orjson.loads(kept["kept"])
        reference = Reference(kept["id"], text or "", kept["title"], score, row["metadata"])
    except (KeyError, TypeError, orjson.JSONDecodeError) as error:
        raise StoreError("the collection holds passages that no store has added") from error
    return with_provenance(reference, row)
