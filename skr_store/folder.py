"""A store in a folder: SQLite holds, tantivy finds words, Chroma finds vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from skr_core.errors import StoreError
from skr_core.files import make_folder
from skr_core.files.foreign import check_parts
from skr_core.flow import Flow, call
from skr_core.forks import OfProcess, renew_in_children, renew_no_more
from skr_core.models.embedders import NoEmbedder, default_embedder
from skr_core.references.fusion import reciprocal_rank_fusion
from skr_core.types import Reference
from skr_store.database import (
    DATABASE_NAME,
    Database,
    Reading,
    Source,
    blob,
    can_be_written,
    is_earlier,
)
from skr_store.storable import searchable_text, storable_reference
from skr_store.vectors import VECTORS_NAME, VectorSearch
from skr_store.words import BEHIND_AT_REST, WORDS_NAME, Words

if TYPE_CHECKING:
    from skr_core.ports import Embedder, Vectors

SearchMode = Literal["hybrid", "dense", "bm25"]

P = ParamSpec("P")
T = TypeVar("T")

# How far down the two rankings are fused; below that a place adds next to nothing.
FUSION_DEPTH = 50
DEEPEST = 5_000
"""How far down passages are looked for where those above have been removed or have expired."""
_PARTS = (DATABASE_NAME, WORDS_NAME, VECTORS_NAME, "served")
AT_ONCE = 1_000
"""Passages that are embedded and written together."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The passages that a reading changed.

    Attributes:
        new: The number of those that are new.
        gone: The number of those that left.
    """

    new: int
    gone: int


class Folder(OfProcess):
    """The passages of a folder.

    Args:
        path: The folder; made if missing.
        embedder: The embedder; None for that of the store, where it needs no download.
        language: The language whose words are stemmed; None for that of the store.

    Raises:
        StoreError: The folder cannot be read, leads out of itself, or holds a store of an earlier
            version.
    """

    def __init__(self, path: Path, embedder: Embedder | None, language: str | None) -> None:
        if path.exists() and not path.is_dir():
            raise StoreError(f"{path} is a file, but a store is a folder")
        check_parts(path, _PARTS)
        is_new = not (path / DATABASE_NAME).exists()
        if is_new and is_earlier(path):
            raise StoreError(
                f"{path} was made by an earlier version: make it again from its documents, in a "
                f"new folder, with  skr ingest FILES --store FOLDER"
            )
        if is_new and embedder is not None:
            embedder.embed(["probe"])  # one that does not work fails before a store is made
        self.path = path
        writable = can_be_written(path)
        try:
            if writable:
                make_folder(path)
        except OSError as error:
            raise StoreError(f"{path} cannot be made: {error}") from error
        self.database = Database(path, writable)
        if self.database.setting("served"):
            from skr_store.server import take_in  # which imports this module

            take_in(self.database)
        self.embedder = embedder or default_embedder(self.database.setting("embedder"))
        self.words = Words(self.database, language)
        self.vectors: VectorSearch | None = None
        renew_in_children(self)
        if not isinstance(self.embedder, NoEmbedder):
            self.vectors = VectorSearch(self.database, self.embedder)
            if writable:
                self.database.set("embedder", self.embedder.name)
                self.vectors.embed_missing()
                self.vectors.catch_up_where_behind()
        self.words.catch_up(BEHIND_AT_REST)

    def insert(
        self, references: Sequence[Reference], scope: str, expires: float | None
    ) -> Flow[int]:
        """Add passages; returns how many are new."""
        kept = [storable_reference(each) for each in references if each.text.strip()]
        new = 0
        for start in range(0, len(kept), AT_ONCE):
            some = kept[start : start + AT_ONCE]
            vectors = yield from self._embed(some)
            new += yield from in_thread(self._insert, some, vectors, scope, expires)
        return new

    def read(self, readings: Sequence[Reading], scope: str) -> Flow[Changes]:
        """Write what was read of some documents, all or nothing."""
        stored = [
            replace(
                each,
                references=[storable_reference(one) for one in each.references if one.text.strip()],
            )
            for each in readings
        ]
        vectors = yield from self._embed([one for each in stored for one in each.references])
        return (yield from in_thread(self._read, stored, vectors, scope))

    def find(self, query: str, scope: str, search: SearchMode, k: int) -> Flow[list[Reference]]:
        """The references of a scope that fit a query best, at most k."""
        vector = None
        if self.vectors is None:
            search = "bm25"
        elif search != "bm25":
            vector = yield from call(self.embedder.embed, self.embedder.aembed, [query])
        return (yield from in_thread(self._find, query, vector, scope, search, k))

    def count(self, scope: str | None) -> Flow[int]:
        """How many passages a scope has, or all of them."""
        return (yield from in_thread(self.database.count, scope))

    def sources(self, scope: str | None) -> Flow[list[Source]]:
        """The documents of a scope, or of all of them."""
        return (yield from in_thread(self.database.sources, scope))

    def hashes(self, scope: str) -> Flow[dict[str, str | None]]:
        """The hash of each document of a scope; None where its reading was not ended."""
        return (yield from in_thread(self.database.hashes, scope))

    def passages(self, scope: str, limit: int | None) -> Flow[list[Reference]]:
        """The passages of a scope in the order of their ids, at most so many."""
        return (yield from in_thread(self.database.passages, scope, limit))

    def size(self) -> int:
        """The bytes of the folder's files."""
        return sum(each.stat().st_size for each in self.path.rglob("*") if each.is_file())

    @property
    def language(self) -> str:
        """The language whose words are stemmed."""
        return self.words.language

    def delete(self, source: str | None, scope: str | None) -> Flow[int]:
        """Remove documents; returns how many passages left."""
        return (yield from in_thread(self.database.delete, source, scope))

    def close(self, *, for_good: bool = False) -> None:
        """Hand what is new to the indexes, unless the folder is gone for good, and let go of it."""
        renew_no_more(self)
        if not for_good:
            self.words.catch_up(BEHIND_AT_REST)
        if self.vectors is not None:
            self.vectors.close()
        self.words.close()
        self.database.close()

    async def aclose(self) -> None:
        """Nothing was opened on an event loop."""

    def hold(self) -> None:
        """Before a fork: wait for what other threads do here."""
        self.words.hold()  # before the database, as who writes words does
        self.database.hold()

    def resume(self) -> None:
        """After a fork, in the parent."""
        self.database.resume()
        self.words.resume()

    def forget(self) -> None:
        """Begin anew in a forked child, with connections, locks and threads of its own."""
        self.database.forget()
        self.words.forget()
        if self.vectors is not None:
            self.vectors.forget()

    def _embed(self, references: Sequence[Reference]) -> Flow[list[bytes | None]]:
        """A vector for each passage, where there is an embedder; none is embedded twice."""
        if self.vectors is None or not references:
            return [None] * len(references)
        ids = [each.id for each in references]
        name = self.embedder.name
        known = yield from in_thread(self.database.vectors_of, ids, name)
        missing = list({each.id: each for each in references if each.id not in known}.values())
        for start in range(0, len(missing), AT_ONCE):
            some = missing[start : start + AT_ONCE]
            texts = [searchable_text(each) for each in some]
            rows = yield from call(self.embedder.embed, self.embedder.aembed, texts)
            known.update(zip([each.id for each in some], map(blob, rows), strict=True))
        return [known[each] for each in ids]

    def _insert(
        self,
        references: Sequence[Reference],
        vectors: Sequence[bytes | None],
        scope: str,
        expires: float | None,
    ) -> int:
        self.database.remove_expired()
        name = self.embedder.name
        new = self.database.insert(references, vectors, scope, expires=expires, embedder=name)
        self._catch_up()
        return new

    def _read(
        self, readings: Sequence[Reading], vectors: Sequence[bytes | None], scope: str
    ) -> Changes:
        new = gone = begin = 0
        with self.database.transaction():
            for each in readings:
                end = begin + len(each.references)
                come, left = self.database.read_source(
                    each, vectors[begin:end], scope, self.embedder.name
                )
                new, gone, begin = new + come, gone + left, end
        self._catch_up()
        return Changes(new, gone)

    def _catch_up(self) -> None:
        self.words.catch_up()
        if self.vectors is not None:
            self.vectors.catch_up_where_behind()

    def _find(
        self, query: str, vector: Vectors | None, scope: str, search: SearchMode, k: int
    ) -> list[Reference]:
        depth = max(k, FUSION_DEPTH) if search == "hybrid" else k
        while True:
            rankings = []
            if search != "dense":
                rankings.append(self.words.search(query, scope, depth))
            if vector is not None and self.vectors is not None:
                rankings.append(self.vectors.search(vector, scope, depth))
            rows = list({row: None for ranking in rankings for row, _ in ranking})
            found = self.database.references(rows, scope)
            there = [
                [(found[row], score) for row, score in each if row in found] for each in rankings
            ]
            enough = all(
                len(kept) >= depth or len(ranking) < depth
                for kept, ranking in zip(there, rankings, strict=True)
            )
            if enough or depth >= DEEPEST:
                break
            depth *= 4  # many have been removed or have expired
        # By id among equals, so that the order of additions changes nothing.
        ranked = [sorted(each, key=lambda one: (-round(one[1], 4), one[0].id)) for each in there]
        if search != "hybrid":
            return [replace(one, score=score) for one, score in ranked[0][:k]]
        weights = (1.0, float(getattr(self.embedder, "fusion_weight", 1.0)))
        ids = [[one.id for one, _ in each[:FUSION_DEPTH]] for each in ranked]
        by_id = {one.id: one for one in found.values()}
        return [by_id[each] for each in reciprocal_rank_fusion(ids, weights=weights)[:k]]


def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Flow[T]:
    """Ask for work that would hold up an event loop."""

    async def awaitable(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(function, *args, **kwargs)

    return (yield from call(function, awaitable, *args, **kwargs))
