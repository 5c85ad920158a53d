"""The nearest rows: those that comparing with each finds, of equals the earlier."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from skr_learn.learning import Rows
from skr_learn.learning.nearest import ASKED, PRODUCTS, nearest

N, M = 3 * PRODUCTS // ASKED, ASKED + 44
"""More rows than are compared at once, and more that are asked for."""


def unit_rows(n: int, d: int = 8, *, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((n, d))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def compared_with_each(rows: np.ndarray, asked: np.ndarray, k: int) -> np.ndarray:
    return np.argsort(-(asked @ rows.T), axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("k", [1, 10, 101])
@pytest.mark.parametrize("of", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_what_is_found_is_what_comparing_with_each_finds(of, k: int):
    rows, asked = unit_rows(N), unit_rows(M, seed=1)
    found, cosines = nearest(Rows(of(rows)), Rows(of(asked)), k)
    expected = compared_with_each(rows, asked, k)
    # Cosines that differ by a rounding error may change places.
    assert np.allclose(cosines, np.take_along_axis(asked @ rows.T, expected, axis=1), atol=1e-6)
    assert (found == expected).mean() > 0.999
    assert cosines.dtype == np.float64
    assert np.abs(cosines).max() <= 1.0


@pytest.mark.parametrize("of", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_of_equals_the_earlier_is_found(of):
    rows = np.zeros((N, 4), dtype=np.float32)
    rows[:, 0] = 1.0
    rows[[7, N - 2]] = [0.0, 1.0, 0.0, 0.0]
    asked = Rows(of(rows[np.r_[np.zeros(M - 1, dtype=int), 7]]))
    found, _ = nearest(Rows(of(rows)), asked, 4)
    assert (found[:-1] == [0, 1, 2, 3]).all()
    assert found[-1].tolist() == [7, N - 2, 0, 1]


def test_fewer_rows_than_are_asked_for():
    found, cosines = nearest(Rows(unit_rows(3)), Rows(unit_rows(2)), 10)
    assert found.shape == cosines.shape == (2, 3)
    assert found[:, 0].tolist() == [0, 1]


def test_nothing_asked():
    found, cosines = nearest(Rows(unit_rows(3)), Rows(unit_rows(0)), 2)
    assert found.shape == cosines.shape == (0, 2)


def test_the_best_are_found_wherever_they_stand():
    rows = unit_rows(1_000)
    best = np.arange(0, 960, 80)  # every eightieth: all in one of the groups that are looked at
    rows[best] = rows[0]
    found, _ = nearest(Rows(rows), Rows(rows[[0]]), 10)
    assert found.tolist() == [best[:10].tolist()]
