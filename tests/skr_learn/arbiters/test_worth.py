"""What going on gains, expected by two regressions, each as far as it helps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skr_core import HashingEmbedder
from skr_learn.arbiters.rungs import views_of_rungs
from skr_learn.arbiters.worth import Worth
from skr_learn.learning import Signals
from skr_learn.learning.rows import Floats
from tests.skr_learn.arbiters.test_ladder import RECORDS

ACTIONS = ("direct", "single", "loop")
GROUPS = np.arange(len(RECORDS))


@pytest.fixture(scope="module")
def signals() -> Signals:
    return views_of_rungs(RECORDS, ACTIONS, HashingEmbedder())[0].signals


@pytest.fixture(scope="module")
def scores() -> Floats:
    return np.array([[each.score for each in record.outcomes.values()] for record in RECORDS])


def test_where_a_few_records_follow_a_rule_the_trees_hardly_count(signals, scores):
    worth, held_out = Worth.with_held_out(signals, scores, GROUPS)
    assert worth.shares.max() < 0.1
    gains = held_out[:, 1] - held_out[:, 0]
    assert gains[:40].max() < -0.5
    assert gains[40:].min() > 0.5


def test_the_shares_are_those_that_expect_unseen_records_best(signals, scores):
    noise = np.random.default_rng(0).normal(size=len(RECORDS))
    noisy = np.column_stack([scores[:, 0], scores[:, 1] + noise])
    worth, held_out = Worth.with_held_out(signals, noisy, GROUPS)
    gained, expected = (each[:, 1] - each[:, 0] for each in (noisy, held_out))
    ridge = worth.ridge.held_out(GROUPS)
    alone = ridge[:, 1] - ridge[:, 0]
    assert 0 <= worth.shares[0] <= 1
    assert ((gained - expected) ** 2).mean() <= ((gained - alone) ** 2).mean() + 1e-12
    if 0 < worth.shares[0] < 1:  # then what is left cannot be explained by either
        further = (expected - alone)[:, None]
        slope = LinearRegression(fit_intercept=False).fit(further, gained - expected).coef_
        assert slope == pytest.approx(0.0, abs=1e-6)


def test_it_comes_back_from_its_arrays_as_it_was(signals, scores):
    worth, _ = Worth.with_held_out(signals, scores, GROUPS)
    again = Worth.from_arrays(worth.arrays(), exact=True)
    assert np.array_equal(again.expected(signals), worth.expected(signals))
    assert len(again.trees) == 2


def test_behind_the_last_rung_nothing_is_gained(signals, scores):
    worth, held_out = Worth.with_held_out(signals, scores[:, 2:], GROUPS)
    assert not worth.trees
    assert held_out.shape == worth.expected(signals).shape == (len(RECORDS), 1)
    assert Worth.from_arrays(worth.arrays(), exact=True).expected(signals).shape == held_out.shape
