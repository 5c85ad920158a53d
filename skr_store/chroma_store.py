"""The reference store: Chroma for vectors, BM25 for words."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING
from weakref import finalize

from skr_core.errors import StoreError
from skr_core.flow import Flow, arun, run
from skr_core.models.embedders import HashingEmbedder, default_embedder
from skr_core.types import Reference
from skr_store.adding import add_new
from skr_store.chroma_index import COLLECTION, ChromaIndex
from skr_store.collection_words import CollectionWords
from skr_store.embedded import open_index
from skr_store.folder import StoreFolder
from skr_store.hybrid_search import FlowRetriever, HybridSearch, SearchMode, check_options
from skr_store.on_server import open_on_server

if TYPE_CHECKING:
    from skr_core.ports import Embedder, Retriever


class ChromaStore:
    """References that are found by meaning and by word, and kept.

    Made by `open` (a folder), `connect` (a server), `ephemeral` (gone when closed) or `rebuild`.
    Adding the same content twice changes nothing. Safe to use from several threads; a folder
    serves one process at a time. Each method and its ``a`` twin do the same: a folder's twins run
    in a thread, because the embedded Chroma cannot be awaited; a server's twins await it.

    Args:
        index: The Chroma collection.
        embedder: Makes the vectors of references and queries.
        search: ``"hybrid"`` fuses ranks of both, ``"dense"`` and ``"bm25"`` use one alone. Without
            an embedder hybrid search is BM25's, and dense search brings `HashingEmbedder`.
        k: How many references `retrieve` returns at most.
        folder: Where the index lives; None for a server's and for an ephemeral one.

    Example:
        >>> with ChromaStore.ephemeral() as store:
        ...     added = store.add([Reference.of("Paris is the capital of France.", "Paris")])
        ...     [found] = store.retrieve("What is the capital of France?")
        >>> added, found.title
        (1, 'Paris')
    """

    def __init__(
        self,
        index: ChromaIndex,
        embedder: Embedder,
        search: SearchMode,
        k: int,
        folder: StoreFolder | None = None,
    ) -> None:
        self._index, self._embedder, self._folder = index, embedder, folder
        self._words = CollectionWords(index) if folder is None else folder.keywords
        self._search = HybridSearch(index, self._words, embedder, search, k)
        self._discard: Callable[[], object] | None = None
        self._closed = False
        self._writing = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | None = None,
        search: SearchMode = "hybrid",
        k: int = 10,
    ) -> ChromaStore:
        """Open a store in a folder, or make one.

        What a killed process left is put right: a torn last line of the journal is cut, references
        of the journal that the index lacks are added to it, and an index that cannot be searched,
        that changed after it was closed or has grown out of all proportion is made again from the
        journal. Each repair is a line of the log, a warning. A folder that this process may not
        write to is searched in a copy, and takes no additions.

        Args:
            path: The folder; made if missing.
            embedder: By default that of the store, where it needs no download. A new store has
                none by default, and is searched by words: `HashingEmbedder` finds no more.
            search: How to search.
            k: References a query, at most.

        Raises:
            InputError: `search` or `k` is not usable.
            StoreLocked: The folder is open elsewhere.
            EmbedderMismatch: The store was made by another embedder.
            StoreError: The folder cannot be read.
        """
        check_options(search, k, embedder)
        folder = StoreFolder(Path(path), _given(embedder, search))
        return cls(folder.index, folder.embedder, search, k, folder)

    @classmethod
    def rebuild(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | None = None,
        search: SearchMode = "hybrid",
        k: int = 10,
    ) -> ChromaStore:
        """Make a folder's index again from its journal, also with another embedder, and open it.

        Where this fails the store is as it was.

        Args:
            path: The folder of a store.
            embedder: Replaces the one that made the store; none by default.
            search: How to search.
            k: References a query, at most.

        Raises:
            InputError: There is no journal, or `search` or `k` is not usable.
            DataError: What has the journal's name is none, or is broken.
            StoreLocked: The folder is open elsewhere.
            StoreError: The folder cannot be read or written.
        """
        check_options(search, k, embedder)
        folder = StoreFolder(Path(path), _given(embedder, search), afresh=True)
        return cls(folder.index, folder.embedder, search, k, folder)

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        collection: str = COLLECTION,
        embedder: Embedder | None = None,
        search: SearchMode = "hybrid",
        k: int = 10,
    ) -> ChromaStore:
        """Use a server of ``skr store serve`` or ``chroma run``, which many processes may share.

        Args:
            url: Such as ``http://localhost:8000``.
            collection: Made if missing.
            embedder: As in `open`.
            search: How to search.
            k: References a query, at most.

        Raises:
            InputError: `url`, `search` or `k` is not usable.
            StoreError: No Chroma answers there.
            EmbedderMismatch: The collection was made by another embedder.
        """
        check_options(search, k, embedder)
        index, embedder = open_on_server(url, collection, _given(embedder, search))
        return cls(index, embedder, search, k)

    @classmethod
    def ephemeral(
        cls, *, embedder: Embedder | None = None, search: SearchMode = "hybrid", k: int = 10
    ) -> ChromaStore:
        """A store apart from every other, gone when it is closed or no longer used.

        It lives in a temporary folder rather than in memory, because Chroma gives all in-memory
        clients of a process one database, and refuses a second one with other settings.

        Args:
            embedder: As in `open`.
            search: How to search.
            k: References a query, at most.
        """
        check_options(search, k, embedder)
        embedder = _given(embedder, search) or default_embedder(None)
        path = Path(mkdtemp(prefix="skr-store-"))
        store = cls(open_index(path, embedder.name), embedder, search, k)
        store._discard = finalize(store, shutil.rmtree, path, ignore_errors=True)
        return store

    @property
    def name(self) -> str:
        """Search, k and embedder: what decides which references are found."""
        return self._search.name

    def count(self) -> int:
        """How many references the store holds.

        Raises:
            StoreError: The store is closed, or Chroma failed.
        """
        self._check_is_open()
        return run(self._index.count())

    def add(self, references: Sequence[Reference]) -> int:
        """Keep references; those of blank text are passed over.

        A folder's references are on the disk when this returns.

        Returns:
            How many were new.

        Raises:
            InputError: Metadata are not flat values.
            StoreError: They could not be kept, or the store is closed.
        """
        with self._writing:
            return run(self._add(references))

    async def aadd(self, references: Sequence[Reference]) -> int:
        """The awaitable twin of `add`."""
        if self._index.awaits:
            return await arun(self._add(references))
        return await asyncio.to_thread(self.add, references)

    def retrieve(self, query: str) -> list[Reference]:
        """Find the references that fit a query, best first, at most k.

        Returns:
            References with cosine or BM25 as their score; fused ranks have none. Nothing for a
            blank query or an empty store.

        Raises:
            StoreError: Chroma failed, or the store is closed.
        """
        return run(self._retrieve(query))

    async def aretrieve(self, query: str) -> list[Reference]:
        """The awaitable twin of `retrieve`."""
        return await arun(self._retrieve(query))

    def searched_by(self, search: SearchMode, *, k: int = 10) -> Retriever:
        """The same references, searched in another way, while this store is open.

        Args:
            search: How to search.
            k: References a query, at most.

        Raises:
            InputError: `search` or `k` is not usable.

        Example:
            >>> with ChromaStore.ephemeral() as store:
            ...     added = store.add([Reference.of("Paris is a city.", "Paris")])
            ...     [found] = store.searched_by("bm25").retrieve("a city")
            >>> found.title
            'Paris'
        """
        check_options(search, k, self._embedder)
        other = HybridSearch(self._index, self._words, self._embedder, search, k)
        return FlowRetriever(other.name, lambda query: self._retrieve(query, other))

    def close(self) -> None:
        """Let the folder or the connections go; closing twice does nothing."""
        if not self._closed:
            self._closed = True
            (self._folder or self._index).close()
            if self._discard is not None:
                self._discard()

    async def aclose(self) -> None:
        """`close`, and the connections that this event loop has opened."""
        await self._index.aclose()
        self.close()

    def __enter__(self) -> ChromaStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> ChromaStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _add(self, references: Sequence[Reference]) -> Flow[int]:
        self._check_is_open()
        return (yield from add_new(references, self._index, self._embedder, self._folder))

    def _retrieve(self, query: str, search: HybridSearch | None = None) -> Flow[list[Reference]]:
        self._check_is_open()
        return (yield from (search or self._search).find(query))

    def _check_is_open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed")


def _given(embedder: Embedder | None, search: SearchMode) -> Embedder | None:
    return HashingEmbedder() if embedder is None and search == "dense" else embedder
