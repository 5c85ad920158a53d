"""Bootstrap intervals hold the mean, repeat themselves and narrow with n."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skr_learn.metrics import Interval, bootstrap, bootstrap_ratio, statistics


def test_constants_have_no_width():
    assert bootstrap([2.0] * 9) == Interval(2.0, 2.0, 2.0, 9)


def test_nothing_has_mean_zero():
    assert bootstrap([]) == Interval(0.0, 0.0, 0.0, 0)


def test_booleans_are_shares():
    interval = bootstrap([True, True, False, False])
    assert (interval.mean, interval.n) == (0.5, 4)
    assert 0 <= interval.low < 0.5 < interval.high <= 1


def test_the_width_is_that_of_the_normal_interval():
    values = np.random.default_rng(1).normal(3, 2, 400)
    interval = bootstrap(values.tolist())
    half = 1.96 * values.std() / 20
    assert interval.mean == pytest.approx(values.mean())
    assert interval.high - interval.mean == pytest.approx(half, rel=0.15)
    assert interval.mean - interval.low == pytest.approx(half, rel=0.15)


def test_the_intervals_are_those_of_scipy():
    draws = np.random.default_rng(3)
    above, below = draws.normal(2, 1, 300), draws.uniform(1, 3, 300)
    expected = stats.bootstrap(
        (above, below),
        lambda a, b, axis: a.sum(axis) / b.sum(axis),
        paired=True,
        n_resamples=2_000,
        method="percentile",
        random_state=np.random.default_rng(0),
    ).confidence_interval
    interval = bootstrap_ratio(above.tolist(), below.tolist())
    assert interval.mean == pytest.approx(above.sum() / below.sum())
    assert (interval.low, interval.high) == pytest.approx(tuple(expected), rel=0.01)


def test_a_denominator_of_zero_gives_zero():
    assert bootstrap_ratio([0.0, 0.0], [0.0, 0.0]) == Interval(0.0, 0.0, 0.0, 2)


def test_a_seed_repeats_itself():
    values = np.random.default_rng(1).normal(size=50).tolist()
    assert bootstrap(values) == bootstrap(values)
    assert bootstrap(values, seed=1) != bootstrap(values, seed=2)


def test_many_values_are_drawn_in_portions():
    interval = bootstrap([0.0, 1.0] * 5_000)
    assert interval.mean == 0.5
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * 0.005, rel=0.15)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_the_interval_lies_within_the_values(values: list[float]):
    interval = bootstrap(values)
    slack = 1e-6
    assert min(values) - slack <= interval.low <= interval.high <= max(values) + slack
    assert min(values) - slack <= interval.mean <= max(values) + slack


@pytest.mark.parametrize("size", [1, 7, 400])
def test_resamples_that_are_kept_are_those_that_are_drawn(
    size: int, monkeypatch: pytest.MonkeyPatch
):
    draws = np.random.default_rng(2)
    above, below = draws.normal(size=size).tolist(), draws.uniform(1, 2, size).tolist()
    kept = bootstrap(above), bootstrap_ratio(above, below)
    monkeypatch.setattr(statistics, "KEPT", 0)
    monkeypatch.setattr(statistics, "TOGETHER", 1_000)
    for one, other in zip(kept, (bootstrap(above), bootstrap_ratio(above, below)), strict=True):
        assert (one.mean, one.low, one.high) == pytest.approx((other.mean, other.low, other.high))


def test_the_same_questions_are_drawn_once(monkeypatch: pytest.MonkeyPatch):
    drawn: list[int] = []
    draw = statistics._drawn
    monkeypatch.setattr(
        statistics, "_drawn", lambda size, seed: (drawn.append(size), draw(size, seed))[1]
    )
    for value in range(5):
        bootstrap([float(value)] * 83)
    assert drawn == [83]
