"""Rows: products of parts are the same whether they are read off those of the whole or not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skr_learn.learning import Rows
from skr_learn.learning import rows as module
from skr_learn.learning.nearest import nearest
from skr_learn.learning.rows import REMEMBERED

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
        assert np.array_equal(fold[2:9].dot(part), fold.dot(part)[2:9])
        assert fold.dot(part).dtype == np.float64
        others = Rows(matrix[:5])
        assert np.allclose(fold.dot(others), expected[order[:40], :5], atol=1e-6)
    # Afterwards they are multiplied, and a part made before finds nothing that is kept.
    assert np.allclose(fold.dot(part), expected[np.ix_(order[:40], order[[3, 7]])], atol=1e-6)
    assert rows._among is None


def test_sparse_rows_are_multiplied_in_blocks(monkeypatch: pytest.MonkeyPatch):
    expected = Rows(DRAWN).products(Rows(DRAWN[:7]))
    monkeypatch.setattr(module, "BLOCK", 7)
    found = Rows(DRAWN).products(Rows(DRAWN[:7]))
    assert found.dtype == np.float32
    assert np.array_equal(found, expected)
    assert np.allclose(found, (DRAWN @ DRAWN[:7].T).toarray())


def test_the_nearest_are_read_off_too(monkeypatch: pytest.MonkeyPatch):
    rows, order = Rows(DRAWN), np.random.default_rng(0).permutation(60)
    fold, asked = order[:50], order[50:]
    expected = nearest(rows[fold], rows[asked], 5)
    with rows.multiplied_once():
        kept, others = rows[fold], rows[asked]
        monkeypatch.setattr(Rows, "_transposed", None)  # nothing is multiplied any more
        found = nearest(kept, others, 5)
    assert np.array_equal(found[0], expected[0])
    assert np.allclose(found[1], expected[1])


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
