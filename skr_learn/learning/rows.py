"""Rows of vectors, dense or sparse, with one interface."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import extra

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from skr_core.ports import Embedder

    Matrix: TypeAlias = NDArray[np.float32] | csr_matrix[np.float32]

Floats = NDArray[np.float64]

REMEMBERED = 10_000
"""Rows up to which all products among them are kept: 400 MB at most."""
BLOCK = 1_000
"""Sparse rows that are multiplied together: their product is sparse before it is dense."""


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """Embed texts for comparing them: in the sparse form of an embedder that has one.

    Example:
        >>> from skr_core.models.embedders import HashingEmbedder
        >>> embed_texts(HashingEmbedder(), ["Who wrote Emma?"]).shape
        (1, 262144)
    """
    embed_sparse = getattr(embedder, "embed_sparse", None)
    matrix: Matrix = (embed_sparse or embedder.embed)(texts)
    return matrix


async def aembed_texts(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """The same, awaited; the sparse form is computed in a thread."""
    if hasattr(embedder, "embed_sparse"):
        return await asyncio.to_thread(embed_texts, embedder, texts)
    return await embedder.aembed(texts)


class Rows:
    """Vectors of unit length, one row a text.

    Args:
        matrix: Shape (n, d); a numpy array or a scipy CSR matrix.

    Example:
        >>> rows = Rows(np.eye(3, dtype=np.float32))
        >>> rows.dot(rows[[1]]).tolist()
        [[0.0], [1.0], [0.0]]
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self._part_of: tuple[Rows, NDArray[np.int64]] | None = None
        self._among: NDArray[Any] | None = None

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, chosen: Any) -> Rows:
        rows = Rows(self.matrix[chosen])
        if self._whole._among is not None and isinstance(chosen, np.ndarray | slice):
            rows._part_of = self._whole, self._places[chosen]
        return rows

    def dot(self, other: Rows) -> Floats:
        """The dot products of these rows with the other ones, shape (n, m): cosines."""
        return self.products(other).astype(np.float64)

    @contextmanager
    def multiplied_once(self) -> Iterator[None]:
        """Within this block the products of parts of these rows are read off those of the whole.

        Every candidate of a calibration asks for them in every fold. Of more than `REMEMBERED` rows
        nothing is kept.
        """
        self._among = self.products(self) if len(self) <= REMEMBERED else None
        try:
            yield
        finally:
            self._among = None

    def products(self, other: Rows) -> NDArray[Any]:
        """The same in the precision of the rows themselves."""
        among = self._whole._among
        if among is not None and self._whole is other._whole:
            return among[np.ix_(self._places, other._places)]
        if isinstance(self.matrix, np.ndarray):
            return np.asarray(self.matrix @ other._transposed)
        found = np.empty((len(self), len(other)), dtype=self.matrix.dtype)
        for start in range(0, len(self), BLOCK):
            some: Any = self.matrix[start : start + BLOCK] @ other._transposed
            some.toarray(out=found[start : start + BLOCK])
        return found

    def times(self, weights: Floats) -> Floats:
        """The rows times a vector of d weights, shape (n,)."""
        product: Floats = np.asarray(self.matrix @ weights, dtype=np.float64)
        return product

    def transposed_times(self, values: Floats) -> Floats:
        """The sum of the rows, each times its value, shape (d,)."""
        product: Floats = np.asarray(self._transposed @ values, dtype=np.float64)
        return product

    def squares_times(self, values: Floats) -> Floats:
        """The sum of the rows with squared entries, each times its value, shape (d,)."""
        squared: Any = (
            np.square(self.matrix)
            if isinstance(self.matrix, np.ndarray)
            else self.matrix.multiply(self.matrix)
        )
        return np.asarray(squared.T @ values, dtype=np.float64)

    @property
    def used(self) -> NDArray[np.int64]:
        """The columns in which any row has an entry."""
        if isinstance(self.matrix, np.ndarray):
            return np.arange(self.matrix.shape[1])
        return np.flatnonzero(np.bincount(self.matrix.indices, minlength=self.matrix.shape[1]))

    def columns(self, chosen: NDArray[np.int64]) -> Rows:
        """The rows restricted to these columns."""
        return Rows(self.matrix[:, chosen])

    def concatenated(self, more: Rows) -> Rows:
        """These rows stacked on top of more."""
        if isinstance(self.matrix, np.ndarray) and isinstance(more.matrix, np.ndarray):
            return Rows(np.concatenate([self.matrix, more.matrix]))
        with extra("learning"):
            from scipy import sparse

        both: Any = [self.matrix, more.matrix]
        return Rows(sparse.csr_matrix(sparse.vstack(both)))

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The rows as plain arrays, for a file."""
        if isinstance(self.matrix, np.ndarray):
            return {name: self.matrix}
        return {
            f"{name}_data": self.matrix.data,
            f"{name}_indices": self.matrix.indices,
            f"{name}_indptr": self.matrix.indptr,
            f"{name}_shape": np.array(self.matrix.shape),
        }

    @classmethod
    def from_arrays(cls, name: str, arrays: Mapping[str, NDArray[Any]]) -> Rows:
        """Rows from what `arrays` returned.

        Raises:
            KeyError: The arrays hold no rows of this name.
            ValueError: They point outside of the rows, where reading would crash the process.
        """
        if name in arrays:
            return cls(arrays[name])
        with extra("learning"):
            from scipy import sparse

        data, *places = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
        if data.dtype.kind != "f" or any(each.dtype.kind != "i" for each in places):
            raise ValueError(f"the rows {name} are not sparse")
        rows, columns = arrays[f"{name}_shape"].tolist()
        matrix = sparse.csr_matrix((data, *places), shape=(rows, columns))
        matrix.check_format(full_check=True)
        return cls(matrix)

    @property
    def _whole(self) -> Rows:
        """The rows that these are some of, themselves by default."""
        return self if self._part_of is None else self._part_of[0]

    @property
    def _places(self) -> NDArray[np.int64]:
        """Which of them these are."""
        return np.arange(len(self)) if self._part_of is None else self._part_of[1]

    @cached_property
    def _transposed(self) -> Any:
        # Transposed once: the product with a single question is then a sum over a few rows.
        if isinstance(self.matrix, np.ndarray):
            return self.matrix.T
        return self.matrix.T.tocsr()
