"""Rows: products of parts are the same whether they are read off those of the whole or not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skr_core.learning import Rows
from skr_core.learning.rows import REMEMBERED

DRAWN = sparse.random(60, 400, 0.1, format="csr", dtype=np.float32, random_state=1)


@pytest.mark.parametrize("matrix", [DRAWN, DRAWN.toarray()], ids=["sparse", "dense"])
def test_products_of_parts_are_read_off_those_of_the_whole(matrix):
    rows, order = Rows(matrix), np.random.default_rng(0).permutation(60)
    expected = (matrix @ matrix.T).astype(np.float64)
    expected = expected.toarray() if sparse.issparse(expected) else expected
    with rows.multiplied_once():
        fold = rows[order[:40]]
        part = fold[np.array([3, 7])]
        assert np.allclose(fold.dot(part), expected[np.ix_(order[:40], order[[3, 7]])], atol=1e-6)
        assert np.array_equal(rows.dot(fold), rows.dot(rows)[:, order[:40]])
        assert fold.dot(part).dtype == np.float64
        others = Rows(matrix[:5])
        assert np.allclose(fold.dot(others), expected[order[:40], :5], atol=1e-6)
    # Afterwards they are multiplied, and a part made before finds nothing that is kept.
    assert np.allclose(fold.dot(part), expected[np.ix_(order[:40], order[[3, 7]])], atol=1e-6)
    assert rows._among is None


def test_of_many_rows_no_products_are_kept():
    rows = Rows(np.ones((REMEMBERED + 1, 1), dtype=np.float32))
    with rows.multiplied_once():
        assert rows._among is None
        assert rows[np.arange(2)].dot(rows[np.arange(3)]).tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("matrix", [DRAWN, DRAWN.toarray()], ids=["sparse", "dense"])
def test_columns_in_use(matrix):
    used = Rows(matrix).used
    assert set(np.flatnonzero(DRAWN.toarray().any(axis=0))) <= set(used.tolist())
    assert (np.diff(used) > 0).all()
