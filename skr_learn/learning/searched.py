"""SearchedRows: rows that are searched for the nearest, compared with each or along a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_learn.learning.graph import NeighbourGraph, can_make_graphs
from skr_learn.learning.nearest import nearest
from skr_learn.learning.rows import Floats, Rows

LARGE = 100_000
"""Rows from which a graph is made by default."""
GROWTH = 0.1
"""Share of rows that may be added before a new graph is made; they are compared with each."""


@dataclass(frozen=True)
class SearchedRows:
    """Rows that are searched for the nearest.

    Attributes:
        rows: Most of them, or all.
        added: What came later to many rows, which are not copied for it.
        graph: Of `rows`; None where these are compared with each.
        approximate: Whether a graph was asked for; None where their number decides.

    Example:
        >>> searched = SearchedRows.of(Rows(np.eye(3, dtype=np.float32)), 1)
        >>> searched.search(Rows(np.eye(3, dtype=np.float32)[[2]]), 1)[0].tolist()
        [[2]]
    """

    rows: Rows
    added: Rows | None = None
    graph: NeighbourGraph | None = None
    approximate: bool | None = None

    @classmethod
    def of(cls, rows: Rows, k: int, approximate: bool | None = None) -> Self:
        """Make a graph for k nearest, or none.

        Args:
            rows: Of unit length, n of them.
            k: How many will be searched for.
            approximate: Whether to make one; by default of dense rows from 100,000, where the
                extra is installed.

        Raises:
            InputError: A graph of sparse rows is asked for.
            MissingDependency: One is asked for, and the extra is not installed.
        """
        dense = isinstance(rows.matrix, np.ndarray)
        if approximate and not dense:
            raise InputError("sparse rows are compared with each: give an embedder that has none")
        wanted = approximate
        if wanted is None:
            wanted = dense and len(rows) >= LARGE and can_make_graphs()
        if not wanted:
            return cls(rows, approximate=approximate)
        graph = NeighbourGraph.of(np.asarray(rows.matrix), k)
        return cls(Rows(graph.matrix), graph=graph, approximate=approximate)

    def __len__(self) -> int:
        return len(self.rows) + (0 if self.added is None else len(self.added))

    def search(self, asked: Rows, k: int) -> tuple[NDArray[np.int64], Floats]:
        """Indices and cosines of the k nearest, best first, shape (m, min(k, n)) each."""
        first = nearest(self.rows, asked, k) if self.graph is None else self.graph.search(asked, k)
        if self.added is None:
            return first
        found, cosines = nearest(self.added, asked, k)
        found = np.concatenate([first[0], found + len(self.rows)], axis=1)
        cosines = np.concatenate([first[1], cosines], axis=1)
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(found, order, axis=1), np.take_along_axis(cosines, order, axis=1)

    def grown(self, more: Rows, k: int) -> SearchedRows:
        """The same with more rows behind them."""
        added = more if self.added is None else self.added.concatenated(more)
        many = self.graph is not None or len(self.rows) >= LARGE
        if many and len(added) <= GROWTH * len(self.rows):
            return replace(self, added=added)
        return SearchedRows.of(self.rows.concatenated(added), k, self.approximate)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The rows as plain arrays, for a file."""
        graph = {} if self.graph is None else self.graph.arrays()
        added = {} if self.added is None else self.added.arrays("added")
        return {**self.rows.arrays("question"), **added, **graph}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], approximate: bool | None = None
    ) -> Self:
        """Rows from what `arrays` returned.

        Raises:
            KeyError: The arrays hold no rows.
            ValueError: They are no rows, or their graph leads outside of them.
        """
        rows = Rows.from_arrays("question", arrays)
        has_added = any(name.startswith("added") for name in arrays)
        added = Rows.from_arrays("added", arrays) if has_added else None
        if "graph_links" not in arrays:
            return cls(rows, added, approximate=approximate)
        return cls(rows, added, NeighbourGraph.from_arrays(arrays["question"], arrays), approximate)
