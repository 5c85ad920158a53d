"""Ranking the references of one collection: by meaning, by word, or by both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from skr_core.errors import InputError
from skr_core.flow import Flow, arun, call, run
from skr_core.models.embedders import NoEmbedder
from skr_core.references.fusion import reciprocal_rank_fusion
from skr_core.texts import encodable
from skr_core.types import Reference
from skr_store.chroma_index import ChromaIndex

if TYPE_CHECKING:
    from skr_core.ports import Embedder

SearchMode = Literal["hybrid", "dense", "bm25"]
Ranked = list[tuple[str, float | None]]
"""Ids, best first, with their scores; fused ranks have none."""

# How far down the two rankings are fused; below that a place adds next to nothing.
FUSION_DEPTH = 50


class Words(Protocol):
    """What ranks the references of a collection by their words."""

    def search(self, query: str, limit: int) -> Flow[list[tuple[str, float]]]:
        """At most so many pairs of id and score, best first."""


class HybridSearch:
    """Finds references of a collection.

    Args:
        index: The collection.
        words: Of what it holds.
        embedder: Makes the vectors of queries; may say by `fusion_weight` how much its ranking is
            worth beside BM25's.
        search: ``"hybrid"`` fuses ranks of both, ``"dense"`` and ``"bm25"`` use one alone. Without
            vectors hybrid search is BM25's.
        k: How many references a query gets at most.

    Attributes:
        name: Search, k and embedder.
    """

    def __init__(
        self,
        index: ChromaIndex,
        words: Words,
        embedder: Embedder,
        search: SearchMode,
        k: int,
    ) -> None:
        if isinstance(embedder, NoEmbedder):
            search = "bm25"
        self.name = f"chroma:{search}:k={k}:{embedder.name}"
        self._index, self._embedder, self._search, self._k = index, embedder, search, k
        self._words = words
        self._dense_weight = float(getattr(embedder, "fusion_weight", 1.0))

    def find(self, query: str) -> Flow[list[Reference]]:
        """The references that fit a query best, at most k."""
        query = encodable(query)
        if not query.strip():
            return []
        best = yield from self._rank(query)
        found = yield from self._index.fetch([identity for identity, _ in best])
        return [replace(found[i], score=score) for i, score in best if i in found]

    def _rank(self, query: str) -> Flow[Ranked]:
        depth = max(self._k, FUSION_DEPTH) if self._search == "hybrid" else self._k
        near: list[tuple[str, float]] = []
        worded: list[tuple[str, float]] = []
        if self._search != "bm25":
            vectors = yield from call(self._embedder.embed, self._embedder.aembed, [query])
            near = yield from self._index.nearest(vectors, depth)
        if self._search != "dense":
            worded = yield from self._words.search(query, depth)
        if self._search == "hybrid":
            return _fuse(worded, near, self._dense_weight)[: self._k]
        alone: Ranked = [*worded, *near]
        return alone[: self._k]


class FlowRetriever:
    """A retriever whose both colours are one flow.

    Args:
        name: What decides which references are found.
        find: The flow, made for each query.
    """

    def __init__(self, name: str, find: Callable[[str], Flow[list[Reference]]]) -> None:
        self.name, self._find = name, find

    def retrieve(self, query: str) -> list[Reference]:
        """Find the references that fit a query, best first."""
        return run(self._find(query))

    async def aretrieve(self, query: str) -> list[Reference]:
        """The awaitable twin of `retrieve`."""
        return await arun(self._find(query))


def check_options(search: SearchMode, k: int, embedder: Embedder | None) -> None:
    """Refuse a search that is none, one of vectors where there are none, and a k below 1.

    Raises:
        InputError: One of them is.
    """
    if search not in get_args(SearchMode):
        raise InputError(
            f"search is {search!r}, but must be one of {', '.join(get_args(SearchMode))}"
        )
    if search == "dense" and isinstance(embedder, NoEmbedder):
        raise InputError(
            "this store holds no vectors to search: embed a folder's references with  "
            "skr ingest --rebuild --store PATH --embedder NAME  or  "
            "ChromaStore.rebuild(path, embedder=...)"
        )
    if k < 1:
        raise InputError(f"k is {k}, but must be at least 1")


def _fuse(
    worded: Sequence[tuple[str, float]], near: Sequence[tuple[str, float]], dense_weight: float
) -> Ranked:
    rankings = [[identity for identity, _ in ranking] for ranking in (worded, near)]
    fused = reciprocal_rank_fusion(rankings, weights=(1.0, dense_weight))
    return [(identity, None) for identity in fused]
