"""Ranking the references of one collection: by meaning, by word, or by both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

from skr_core.errors import InputError
from skr_core.flow import Flow, call
from skr_core.references.fusion import reciprocal_rank_fusion
from skr_core.references.storable import keyworded
from skr_core.store.bm25 import BM25Index
from skr_core.store.chroma_index import ChromaIndex, in_thread
from skr_core.types import Reference

if TYPE_CHECKING:
    from skr_core.ports import Embedder

Search = Literal["hybrid", "dense", "bm25"]
Ranked = list[tuple[str, float | None]]
"""Ids, best first, with their scores; fused ranks have none."""

# How far down the two rankings are fused; below that a place adds next to nothing.
FUSION_DEPTH = 50


class HybridSearch:
    """Ranks a collection's ids for a query; keeps the words of what the collection holds.

    Args:
        index: The collection.
        embedder: Makes the vectors of queries; may say by `fusion_weight` how much its ranking is
            worth beside BM25's.
        search: ``"hybrid"`` fuses ranks of both, ``"dense"`` and ``"bm25"`` use one alone.
        k: How many ids a query gets at most.
    """

    def __init__(self, index: ChromaIndex, embedder: Embedder, search: Search, k: int) -> None:
        self._index, self._embedder, self._search, self._k = index, embedder, search, k
        self._keywords = BM25Index()
        self._dense_weight = float(getattr(embedder, "fusion_weight", 1.0))

    def rank(self, query: str) -> Flow[Ranked]:
        """The ids that fit a query best, at most k."""
        depth = max(self._k, FUSION_DEPTH) if self._search == "hybrid" else self._k
        near: list[tuple[str, float]] = []
        worded: list[tuple[str, float]] = []
        if self._search != "bm25":
            vectors = yield from call(self._embedder.embed, self._embedder.aembed, [query])
            near = yield from self._index.nearest(vectors, depth)
        if self._search != "dense":
            yield from self._catch_up()
            worded = yield from in_thread(self._keywords.search, query, depth)
        if self._search == "hybrid":
            return _fuse(worded, near, self._dense_weight)[: self._k]
        alone: Ranked = [*worded, *near]
        return alone[: self._k]

    def _catch_up(self) -> Flow[None]:
        """Give the keyword index what the collection has gained, also through others."""
        total = yield from self._index.count()
        if total < len(self._keywords):  # somebody deleted from it
            self._keywords = BM25Index()
        while (start := len(self._keywords)) < total:
            page = yield from self._index.page(start)
            pairs = [(item.id, keyworded(item)) for item in page]
            yield from in_thread(self._keywords.add, pairs)
            if len(self._keywords) == start:
                return


def check_options(search: Search, k: int) -> None:
    """Refuse a search that is none, and a k below 1.

    Raises:
        InputError: One of them is.
    """
    if search not in get_args(Search):
        raise InputError(f"search is {search!r}, but must be one of {', '.join(get_args(Search))}")
    if k < 1:
        raise InputError(f"k is {k}, but must be at least 1")


def _fuse(
    worded: Sequence[tuple[str, float]], near: Sequence[tuple[str, float]], dense_weight: float
) -> Ranked:
    # Only the ids are known so far; what is kept is fetched once, after the fusion.
    rankings = [[Reference(identity, "") for identity, _ in ranking] for ranking in (worded, near)]
    fused = reciprocal_rank_fusion(rankings, weights=(1.0, dense_weight))
    return [(reference.id, None) for reference in fused]
