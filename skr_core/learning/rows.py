"""Rows of vectors, dense or sparse, behind one face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    Matrix: TypeAlias = NDArray[np.float32] | csr_matrix[np.float32]

Floats = NDArray[np.float64]


class TextEmbedder(Protocol):
    """What routers compare texts with: an `Embedder`, or one whose vectors are sparse."""

    @property
    def name(self) -> str:
        """What identifies it in a saved router."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 for each text."""

    async def aembed(self, texts: Sequence[str]) -> Matrix:
        """The same, awaited."""


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

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, chosen: Any) -> Rows:
        return Rows(self.matrix[chosen])

    def dot(self, other: Rows) -> Floats:
        """All products of my rows with those of the other, shape (mine, theirs): cosines."""
        products: Any = self.matrix @ other._turned
        found = products if isinstance(products, np.ndarray) else products.toarray()
        return found.astype(np.float64)

    def times(self, weights: Floats) -> Floats:
        """My rows times a vector of d weights, shape (n,)."""
        product: Floats = np.asarray(self.matrix @ weights, dtype=np.float64)
        return product

    def turned_times(self, values: Floats) -> Floats:
        """The sum of my rows, each times its value, shape (d,)."""
        product: Floats = np.asarray(self._turned @ values, dtype=np.float64)
        return product

    def squares_times(self, values: Floats) -> Floats:
        """The sum of my rows with squared entries, each times its value, shape (d,)."""
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
        return np.unique(self.matrix.indices).astype(np.int64)

    def columns(self, chosen: NDArray[np.int64]) -> Rows:
        """My rows in these columns alone."""
        return Rows(self.matrix[:, chosen])

    def and_also(self, more: Rows) -> Rows:
        """My rows followed by more."""
        if isinstance(self.matrix, np.ndarray) and isinstance(more.matrix, np.ndarray):
            return Rows(np.concatenate([self.matrix, more.matrix]))
        from scipy import sparse

        both: Any = [self.matrix, more.matrix]
        return Rows(sparse.csr_matrix(sparse.vstack(both)))

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """As plain arrays, for a file."""
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
        """What `arrays` was made of.

        Raises:
            KeyError: They hold no such rows.
        """
        if name in arrays:
            return cls(arrays[name])
        from scipy import sparse

        parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
        rows, columns = arrays[f"{name}_shape"].tolist()
        return cls(sparse.csr_matrix(parts, shape=(rows, columns)))

    @cached_property
    def _turned(self) -> Any:
        # Turned once: the product of a single question is then a sum over a few rows.
        if isinstance(self.matrix, np.ndarray):
            return self.matrix.T
        return self.matrix.T.tocsr()
