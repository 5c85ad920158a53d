"""NeighbourGraph: the nearest of very many rows, without comparing with each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import extra
from skr_learn.learning.nearest import nearest
from skr_learn.learning.rows import Floats, Rows

LINKS = 32
"""Of a row on each upper level, and twice as many on the lowest."""
CONSTRUCTION = 100
"""Candidates among which a new row's links are chosen."""
WIDTHS = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536)
"""Candidates that a search may hold; the last where none finds enough."""
RECALL = 0.992
"""Share of the nearest that a search has to find where its width is measured."""
TRIED = 400
"""Rows of which that is measured: it is then known to a thousandth."""


@dataclass(frozen=True)
class NeighbourGraph:
    """A graph of links between similar rows (HNSW), along which faiss walks to the nearest.

    It is made with one thread, so the same rows make the same graph. How wide to search is measured
    when it is made: just wide enough to find 99 % of the nearest. Rows and links are plain arrays,
    which are used where they are, in memory or mapped from a file.

    Attributes:
        matrix: The rows, float32, shape (n, d).
        levels: On how many levels each row is, shape (n,).
        links: Numbers of the rows that each is linked to, level by level, or -1.
        entry: The row at which a search begins.
        width: Candidates that a search holds.

    Example:
        >>> drawn = np.random.default_rng(0).standard_normal((500, 8)).astype(np.float32)
        >>> matrix = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        >>> graph = NeighbourGraph.of(matrix, 5)
        >>> graph.search(Rows(matrix[:3]), 5)[0][:, 0].tolist()
        [0, 1, 2]
    """

    matrix: NDArray[np.float32]
    levels: NDArray[np.int32]
    links: NDArray[np.int32]
    entry: int
    width: int

    @classmethod
    def of(cls, matrix: NDArray[Any], k: int) -> Self:
        """Link the rows, and measure how wide to search for the k nearest.

        Raises:
            MissingDependency: The extra is not installed.
        """
        with extra("nearest"):
            import faiss

        matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        index = faiss.IndexHNSWFlat(matrix.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = CONSTRUCTION
        with _one_thread(faiss):
            index.add(matrix)
        levels = faiss.vector_to_array(index.hnsw.levels)
        links = faiss.vector_to_array(index.hnsw.neighbors)
        entry = int(index.hnsw.entry_point)
        del index  # which has a copy of the rows
        graph = cls(matrix, levels, links, entry, WIDTHS[-1])
        return replace(graph, width=graph._wide_enough(k))

    def search(self, asked: Rows, k: int) -> tuple[NDArray[np.int64], Floats]:
        """The same as `nearest`, but for a few that are overlooked.

        Args:
            asked: Of the same width, m of them.
            k: How many.

        Returns:
            Indices and cosines, shape (m, min(k, n)) each.
        """
        return self._search(asked, min(k, len(self.matrix)), self.width)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The graph as plain arrays, for a file, without its rows."""
        numbers = np.array([self.entry, self.width], dtype=np.int64)
        return {"graph_levels": self.levels, "graph_links": self.links, "graph_search": numbers}

    @classmethod
    def from_arrays(cls, matrix: NDArray[Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """A graph from what `arrays` returned.

        Raises:
            KeyError: The arrays hold no graph.
            ValueError: It leads outside of the rows, where walking would crash the process.
        """
        levels, links = arrays["graph_levels"], arrays["graph_links"]
        entry, width = (int(each) for each in arrays["graph_search"])
        if any(each.dtype != np.int32 or each.ndim != 1 for each in (levels, links)):
            raise ValueError("the links are no numbers of rows")
        if matrix.dtype != np.float32 or matrix.ndim != 2 or not matrix.flags.c_contiguous:
            raise ValueError("the rows are not those of a graph")
        n = len(matrix)
        if len(levels) != n or n == 0 or levels.min() < 1 or levels.max() > 64:
            raise ValueError("the levels are not those of the rows")
        if len(links) != int(_sizes(levels).sum()) or links.min() < -1 or links.max() >= n:
            raise ValueError("the links lead outside of the rows")
        if not 0 <= entry < n or levels[entry] != levels.max():
            raise ValueError("the search begins outside of the rows")
        if not 1 <= width <= WIDTHS[-1]:
            raise ValueError("the search is of no width")
        graph = cls(matrix, levels, links, entry, width)
        graph._check_levels()
        return graph

    def _check_levels(self) -> None:
        """Refuse a link on a level to a row that is not on it."""
        starts = _starts(self.levels)
        for level in range(1, int(self.levels.max())):
            rows = np.flatnonzero(self.levels > level)
            places = starts[rows].astype(np.int64)[:, None] + LINKS * (1 + level) + np.arange(LINKS)
            linked = self.links[places]
            if (self.levels[linked[linked >= 0]] <= level).any():
                raise ValueError("a link leads to a row that is not on its level")

    def _wide_enough(self, k: int) -> int:
        """The smallest width that finds enough of the k nearest of some rows, beside themselves."""
        some = np.sort(np.random.default_rng(0).permutation(len(self.matrix))[:TRIED])
        asked, more = Rows(self.matrix[some]), min(k + 1, len(self.matrix))
        nearest_rows = nearest(Rows(self.matrix), asked, more)[0]
        for width in WIDTHS:
            found = self._search(asked, more, width)[0]
            shares = [
                (np.isin(truth, row).sum() - 1) / max(1, more - 1)
                for truth, row in zip(nearest_rows, found, strict=True)
            ]
            if np.mean(shares) >= RECALL:
                return width
        return WIDTHS[-1]

    def _search(self, asked: Rows, k: int, width: int) -> tuple[NDArray[np.int64], Floats]:
        with extra("nearest"):
            import faiss

        wanted = np.ascontiguousarray(asked.matrix, dtype=np.float32)
        options = faiss.SearchParametersHNSW(efSearch=max(k, width))
        cosines, found = self._index.search(wanted, k, params=options)
        if (found < 0).any():  # the walk ended before k rows were reached
            return nearest(Rows(self.matrix), asked, k)
        order = np.lexsort((found, -cosines), axis=1)
        found, cosines = (np.take_along_axis(each, order, axis=1) for each in (found, cosines))
        return found, np.clip(cosines.astype(np.float64), -1.0, 1.0)

    @cached_property
    def _index(self) -> Any:
        """faiss's own, which looks at the arrays where they are."""
        with extra("nearest"):
            import faiss

        index = faiss.IndexHNSWFlat(self.matrix.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
        storage = faiss.downcast_index(index.storage)
        storage.codes = _view(
            faiss, faiss.MaybeOwnedVectorUInt8, self.matrix.reshape(-1).view(np.uint8)
        )
        storage.ntotal = index.ntotal = len(self.matrix)
        faiss.copy_array_to_vector(np.ascontiguousarray(self.levels), index.hnsw.levels)
        faiss.copy_array_to_vector(_starts(self.levels), index.hnsw.offsets)
        index.hnsw.neighbors = _view(faiss, faiss.MaybeOwnedVectorInt32, self.links)
        index.hnsw.entry_point, index.hnsw.max_level = self.entry, int(self.levels.max()) - 1
        return index


def can_make_graphs() -> bool:
    """Whether the extra is installed."""
    return find_spec("faiss") is not None


def _view(faiss: Any, kind: Any, array: NDArray[Any]) -> Any:
    """A vector of faiss that is the array's own memory, which nobody owns there."""
    return kind.create_view(faiss.swig_ptr(array), array.size, kind().owner)


def _sizes(levels: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many links each row has room for."""
    return LINKS * (1 + levels.astype(np.int64))


def _starts(levels: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Where the links of each row begin, and where the last ones end, shape (n + 1,)."""
    return np.concatenate([[0], np.cumsum(_sizes(levels))]).astype(np.uint64)


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
