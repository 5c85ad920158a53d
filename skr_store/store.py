"""The reference store: passages that are kept, and found by their words and by their meaning."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Protocol, get_args
from weakref import finalize

from skr_core.errors import InputError, StoreError
from skr_core.flow import Flow, arun, run
from skr_core.models.embedders import HashingEmbedder, NoEmbedder
from skr_core.texts import encodable
from skr_core.types import Reference
from skr_store.database import Reading, Source
from skr_store.folder import Changes, Folder, SearchMode

if TYPE_CHECKING:
    from skr_core.ports import Embedder, OnProgress
    from skr_store.ingestion import IngestReport

SHARED = "shared"
"""The scope of what everybody may find."""


@dataclass(frozen=True, slots=True)
class StoreStats:
    """The numbers of a store.

    Attributes:
        passages: The number of passages, of all scopes.
        sources: The number of documents.
        scopes: The number of scopes.
        size: The bytes of its folder; 0 for a server's.
        embedder: The name of its embedder.
        language: The language whose words are stemmed; empty for none.
    """

    passages: int
    sources: int
    scopes: int
    size: int
    embedder: str
    language: str


class Backend(Protocol):
    """What holds the passages of a store: a folder (`Folder`) or a Chroma server (`Remote`)."""

    @property
    def embedder(self) -> Embedder: ...

    @property
    def language(self) -> str: ...

    def insert(
        self, references: Sequence[Reference], scope: str, expires: float | None
    ) -> Flow[int]: ...

    def read(self, readings: Sequence[Reading], scope: str) -> Flow[Changes]: ...

    def find(self, query: str, scope: str, search: SearchMode, k: int) -> Flow[list[Reference]]: ...

    def count(self, scope: str | None) -> Flow[int]: ...

    def sources(self, scope: str | None) -> Flow[list[Source]]: ...

    def hashes(self, scope: str) -> Flow[dict[str, str | None]]: ...

    def delete(self, source: str | None, scope: str | None) -> Flow[int]: ...

    def passages(self, scope: str, limit: int | None) -> Flow[list[Reference]]: ...

    def size(self) -> int: ...

    def close(self, *, for_good: bool = False) -> None: ...

    async def aclose(self) -> None: ...


class StoreView:
    """The passages of one scope, searched in one way; made by `Store.in_scope`.

    Args:
        store: The store that holds them.
        scope: The scope that is searched and written to.
        search: How to search.
        k: How many references a query gets at most.

    Attributes:
        name: Search, k and embedder: what decides which references are found.
        scope: The scope.

    Raises:
        InputError: One of them is not usable.
    """

    def __init__(self, store: Store, scope: str, search: SearchMode, k: int) -> None:
        embedder = store.backend.embedder
        check_options(search, k, embedder)
        if not scope.strip():
            raise InputError("the scope is blank: name one, such as 'shared'")
        shown = "bm25" if isinstance(embedder, NoEmbedder) else search
        self.name = f"store:{shown}:k={k}:{embedder.name}"
        self.scope = scope
        self._store, self._search, self._k = store, search, k

    def add(self, references: Sequence[Reference], *, ttl: float | None = None) -> int:
        """Keep references in this scope; see `Store.add`."""
        return run(self._add(references, ttl))

    async def aadd(self, references: Sequence[Reference], *, ttl: float | None = None) -> int:
        """Async version of `add`."""
        return await arun(self._add(references, ttl))

    def retrieve(self, query: str) -> list[Reference]:
        """Find the references of this scope that fit a query; see `Store.retrieve`."""
        return run(self._retrieve(query))

    async def aretrieve(self, query: str) -> list[Reference]:
        """Async version of `retrieve`."""
        return await arun(self._retrieve(query))

    def passages(self, limit: int | None = None) -> list[Reference]:
        """The passages of this scope, a fair sample of them where there are more than `limit`."""
        return run(self._store.backend.passages(self.scope, limit))

    async def apassages(self, limit: int | None = None) -> list[Reference]:
        """Async version of `passages`."""
        return await arun(self._store.backend.passages(self.scope, limit))

    def in_scope(self, scope: str) -> StoreView:
        """The passages of another scope, searched in the same way."""
        return StoreView(self._store, scope, self._search, self._k)

    def _add(self, references: Sequence[Reference], ttl: float | None) -> Flow[int]:
        if ttl is not None and not ttl > 0:
            raise InputError(f"ttl is {ttl}, but must be a number of seconds above 0")
        expires = None if ttl is None else time.time() + ttl
        return (yield from self._store.backend.insert(references, self.scope, expires))

    def _retrieve(self, query: str) -> Flow[list[Reference]]:
        query = encodable(query)
        if not query.strip():
            return []
        return (yield from self._store.backend.find(query, self.scope, self._search, self._k))


class Store:
    """References that are kept, and found by word and by meaning.

    Made by `open` (a folder), `ephemeral` (gone when closed) or `connect` (a Chroma server). Each
    passage is in a scope, ``"shared"`` where none is named, and a search sees one scope alone.
    Adding the same content to a scope twice changes nothing. Safe to use from several threads and
    processes, also after a fork.

    Example:
        >>> with Store.ephemeral() as store:
        ...     added = store.add([Reference.of("Paris is the capital of France.", "Paris")])
        ...     [found] = store.retrieve("What is the capital of France?")
        >>> added, found.title
        (1, 'Paris')
    """

    def __init__(
        self,
        backend: Backend,
        search: SearchMode = "hybrid",
        k: int = 10,
        *,
        on_close: Callable[[], object] | None = None,
    ) -> None:
        self._backend = backend
        self._search, self._k, self._on_close = search, k, on_close
        self._closed = False
        self._again: Callable[[], Store] | None = None
        self._shared = self.in_scope(SHARED)

    def __reduce__(self) -> tuple[Any, ...]:
        """How another process opens it again."""
        if self._again is None:
            raise TypeError("an ephemeral store is in one process alone: open one in a folder")
        return self._again, ()

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | None = None,
        search: SearchMode = "hybrid",
        k: int = 10,
        language: str | None = None,
    ) -> Store:
        """Open a store in a folder, or make one.

        Any number of processes may have it open. An index that was lost or is broken is made again
        from the passages. A folder that this process may not write to is searched all the same.

        Args:
            path: The folder; made if missing.
            embedder: The embedder whose vectors are searched; passages that it has not seen are
                embedded first. By default that of the store where it needs no download, else none,
                and the store is searched by words.
            search: ``"hybrid"`` fuses the ranks by words and by vectors, ``"bm25"`` and
                ``"dense"`` use one of them. Without an embedder hybrid search is by words, and
                dense search brings `HashingEmbedder`.
            k: How many references a query gets at most.
            language: The language whose words are stemmed, such as ``"english"``; ``""`` for none.
                By default that of the store; a new one has none.

        Raises:
            InputError: `search`, `k` or `language` is not usable.
            StoreError: The folder cannot be read, or was made by an earlier version.
        """
        check_options(search, k, embedder)
        store = cls(Folder(Path(path), _given(embedder, search), language), search, k)
        options: dict[str, Any] = {
            "embedder": embedder,
            "search": search,
            "k": k,
            "language": language,
        }
        store._again = partial(cls.open, Path(path).absolute(), **options)
        return store

    @classmethod
    def ephemeral(
        cls,
        *,
        embedder: Embedder | None = None,
        search: SearchMode = "hybrid",
        k: int = 10,
        language: str | None = None,
    ) -> Store:
        """A store apart from every other, gone when it is closed or no longer used.

        Args:
            embedder: As in `open`.
            search: As in `open`.
            k: As in `open`.
            language: As in `open`.
        """
        check_options(search, k, embedder)
        path = Path(mkdtemp(prefix="skr-store-"))
        store = None
        try:
            store = cls(Folder(path, _given(embedder, search), language), search, k)
        finally:
            if store is None:
                shutil.rmtree(path, ignore_errors=True)
        store._on_close = finalize(store, _discard, path, os.getpid())
        return store

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        collection: str = "references",
        embedder: Embedder | None = None,
        k: int = 10,
        tenant: str | None = None,
        database: str | None = None,
        key: str = "",
    ) -> Store:
        """Use a Chroma server, such as that of ``skr store serve``, which many processes share.

        It is searched by vectors alone, because Chroma ranks no words.

        Args:
            url: The address, such as ``http://localhost:8000``.
            collection: The name of the collection; made if missing.
            embedder: The embedder of the collection; `HashingEmbedder` by default.
            k: How many references a query gets at most.
            tenant: The server's tenant, where it has several.
            database: The tenant's database, where it has several.
            key: The server's key, where it asks for one.

        Raises:
            InputError: `url` or `k` is not usable.
            StoreError: No Chroma answers there.
            EmbedderMismatch: The collection was made by another embedder.
        """
        from skr_store.remote import Remote

        check_options("dense", k, embedder)
        place = {"tenant": tenant, "database": database}
        remote = Remote(url, collection, embedder or HashingEmbedder(), key, place)
        store = cls(remote, "dense", k)
        store._again = partial(
            cls.connect,
            url,
            collection=collection,
            embedder=embedder,
            k=k,
            tenant=tenant,
            database=database,
            key=key,
        )
        return store

    @property
    def name(self) -> str:
        """Search, k and embedder: what decides which references are found."""
        return self._shared.name

    @property
    def backend(self) -> Backend:
        """The folder or server behind it, while it is open.

        Raises:
            StoreError: The store is closed.
        """
        if self._closed:
            raise StoreError("the store is closed")
        return self._backend

    def add(
        self, references: Sequence[Reference], *, scope: str = SHARED, ttl: float | None = None
    ) -> int:
        """Keep references; those of blank text are passed over.

        They are on the disk when this returns, and are found from then on.

        Args:
            references: The references.
            scope: The scope in which they are found.
            ttl: The seconds after which they are forgotten; None keeps them.

        Returns:
            How many were new to the scope.

        Raises:
            InputError: Metadata are not flat values.
            StoreError: They could not be kept, or the store is closed.
        """
        return self.in_scope(scope).add(references, ttl=ttl)

    async def aadd(
        self, references: Sequence[Reference], *, scope: str = SHARED, ttl: float | None = None
    ) -> int:
        """Async version of `add`."""
        return await self.in_scope(scope).aadd(references, ttl=ttl)

    def retrieve(self, query: str) -> list[Reference]:
        """Find the references of the scope ``"shared"`` that fit a query, best first, at most k.

        Returns:
            References with cosine or BM25 as their score; fused ranks have none. Nothing for a
            blank query or an empty store.

        Raises:
            StoreError: The store cannot be read, or is closed.
        """
        return self._shared.retrieve(query)

    async def aretrieve(self, query: str) -> list[Reference]:
        """Async version of `retrieve`."""
        return await self._shared.aretrieve(query)

    def in_scope(self, scope: str) -> StoreView:
        """The passages of a scope alone, to be searched and added to.

        Args:
            scope: The scope, such as the name of a tenant; there is no need to make one first.

        Example:
            >>> with Store.ephemeral() as store:
            ...     ours = store.in_scope("ours")
            ...     added = ours.add([Reference.of("The vault is in Ghent.")])
            ...     len(ours.retrieve("vault")), len(store.retrieve("vault"))
            (1, 0)
        """
        return StoreView(self, scope, self._search, self._k)

    def searched_by(self, search: SearchMode, *, k: int = 10) -> StoreView:
        """The same references, searched in another way, while this store is open.

        Args:
            search: How to search.
            k: How many references a query gets at most.

        Raises:
            InputError: `search` or `k` is not usable.
        """
        return StoreView(self, SHARED, search, k)

    def passages(self, limit: int | None = None) -> list[Reference]:
        """The passages of the scope ``"shared"``; for another's see `in_scope`.

        They come in the order of their ids, which are hashes, so the first ones are a fair sample
        of the store, and the same one each time.

        Args:
            limit: How many passages at most; None for all.

        Example:
            >>> with Store.ephemeral() as store:
            ...     added = store.add([Reference.of("One."), Reference.of("Two.")])
            ...     len(store.passages()), len(store.passages(1))
            (2, 1)
        """
        return self._shared.passages(limit)

    async def apassages(self, limit: int | None = None) -> list[Reference]:
        """Async version of `passages`."""
        return await self._shared.apassages(limit)

    def count(self, scope: str | None = None) -> int:
        """How many passages a scope has; those of all scopes where none is named."""
        return run(self.backend.count(scope))

    def sources(self, scope: str | None = None) -> list[Source]:
        """The documents of a scope, by name; those of all scopes where none is named."""
        return run(self.backend.sources(scope))

    def delete(self, source: str, *, scope: str | None = SHARED) -> int:
        """Remove a document; no search finds its passages any more.

        Args:
            source: The document's name, as `sources` gives it, or its path.
            scope: The scope that it leaves; None for every scope.

        Returns:
            How many passages left; one that another document has as well stays.
        """
        left = run(self.backend.delete(source, scope))
        if source and not left and os.path.abspath(source) != source:
            left = run(self.backend.delete(os.path.abspath(source), scope))
        return left

    def clear(self, scope: str) -> int:
        """Remove all that a scope has; returns how many passages left."""
        return run(self.backend.delete(None, scope))

    def sync(
        self,
        folder: str | Path,
        *,
        scope: str = SHARED,
        prune: bool = False,
        skip_bad: bool = False,
        on_progress: OnProgress | None = None,
    ) -> IngestReport:
        """Bring the store in line with a folder of documents; see `ingest`, which does the work."""
        from skr_store.ingestion import ingest

        return ingest(
            [folder], self, scope=scope, prune=prune, skip_bad=skip_bad, on_progress=on_progress
        )

    def stats(self) -> StoreStats:
        """The numbers of the store."""
        sources = self.sources()
        backend = self.backend
        return StoreStats(
            self.count(),
            len(sources),
            len({each.scope for each in sources}),
            backend.size(),
            backend.embedder.name,
            backend.language,
        )

    def close(self) -> None:
        """Let the folder or the connections go; closing twice does nothing."""
        if not self._closed:
            self._closed = True
            self._backend.close(for_good=self._on_close is not None)
            if self._on_close is not None:
                self._on_close()

    async def aclose(self) -> None:
        """Async version of `close`."""
        if not self._closed:
            await self._backend.aclose()
            await asyncio.to_thread(self.close)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def check_options(search: SearchMode, k: int, embedder: Embedder | None) -> None:
    """Refuse a search that is none, one of vectors where there are none, and a k below 1.

    Raises:
        InputError: One of them is.
    """
    modes = get_args(SearchMode)
    if search not in modes:
        raise InputError(f"search is {search!r}, but must be one of {', '.join(modes)}")
    if search == "dense" and isinstance(embedder, NoEmbedder):
        raise InputError("this store has no embedder, so it has no vectors to search: give one")
    if k < 1:
        raise InputError(f"k is {k}, but must be at least 1")


def _given(embedder: Embedder | None, search: SearchMode) -> Embedder | None:
    return HashingEmbedder() if embedder is None and search == "dense" else embedder


def _discard(path: Path, process: int) -> None:
    if os.getpid() == process:  # a forked child has the object, and its parent the folder
        shutil.rmtree(path, ignore_errors=True)
