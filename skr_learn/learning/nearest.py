"""The most similar of many rows, each of which is compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_learn.learning.rows import Floats, Rows

ASKED = 256
"""Rows that are asked for together."""
PRODUCTS = 2**20
"""Similarities held at a time, 4 MB, which stay in the processor's cache."""
SPARSE_PRODUCTS = 2**23
"""The same of sparse rows, of which all are compared at once."""


def nearest(rows: Rows, asked: Rows, k: int) -> tuple[NDArray[np.int64], Floats]:
    """The k most similar rows of each that is asked for, best first; of equals the earlier one.

    Args:
        rows: To search, n of them.
        asked: Of the same width, m of them.
        k: How many; fewer are found where there are fewer rows.

    Returns:
        Indices and cosines, shape (m, min(k, n)) each.

    Example:
        >>> found, cosines = nearest(Rows(np.eye(3, dtype=np.float32)), Rows(np.eye(3)[[1]]), 2)
        >>> found.tolist(), cosines.tolist()
        ([[1, 0]], [[1.0, 0.0]])
    """
    k, dense = min(k, len(rows)), isinstance(rows.matrix, np.ndarray)
    together = ASKED if dense else max(1, SPARSE_PRODUCTS // max(1, len(rows)))
    indices, cosines = np.zeros((len(asked), k), dtype=np.int64), np.zeros((len(asked), k))
    for start in range(0, len(asked), together):
        some = slice(start, start + together)
        indices[some], cosines[some] = _nearest(rows, asked[some], k)
    return indices, cosines.clip(-1.0, 1.0)  # never beyond by a rounding error


def _nearest(rows: Rows, asked: Rows, k: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    m = len(asked)
    each = np.arange(m)[:, None]
    indices, best = np.zeros((m, 0), dtype=np.int64), np.zeros((m, 0), dtype=np.float32)
    for start, products in _products(rows, asked, k):
        # Of equals the earlier row stays.
        hits = products > best[:, -1:] if start else products >= _reached(products, k)
        flat = np.flatnonzero(hits)  # many times faster than finding both numbers of a place
        who, where = np.divmod(flat, products.shape[1])
        some, more = _as_table(who, start + where, products.ravel()[flat], m, k)
        if start:
            some = np.concatenate([indices, some], axis=1)
            more = np.concatenate([best, more], axis=1)
        order = np.argsort(-more, axis=1, kind="stable")[:, :k]
        indices, best = some[each, order], more[each, order]
    return indices, best


def _reached(products: NDArray[Any], k: int) -> NDArray[Any]:
    """For each row a value that k of it or a few more reach, shape (m, 1).

    It is the k-th of the greatest of groups, each of which reaches it: these are many times fewer.
    """
    m, n = products.shape
    groups = max(8 * k, n // 32)
    if n >= 2 * groups:
        size = n // groups
        products = products[:, : size * groups].reshape(m, size, groups).max(axis=1)
    return np.partition(products, -k, axis=1)[:, [-k]]


def _as_table(
    who: NDArray[np.int64], where: NDArray[np.int64], values: NDArray[Any], m: int, k: int
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Places and values as m rows, from the ascending numbers of these; at least k columns."""
    counts = np.bincount(who, minlength=m)
    width = max(k, int(counts.max(initial=0)))
    filled = np.arange(width) < counts[:, None]
    places, table = np.zeros((m, width), dtype=np.int64), np.full((m, width), -np.inf, values.dtype)
    places[filled], table[filled] = where, values
    return places, table


def _products(rows: Rows, asked: Rows, k: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Where some of the rows begin, and the cosines of what is asked with them, (m, some)."""
    if not isinstance(rows.matrix, np.ndarray):
        yield 0, asked.products(rows)
        return
    some = max(k, PRODUCTS // max(1, len(asked)))
    for start in range(0, len(rows), some):
        yield start, asked.products(rows[start : start + some])
