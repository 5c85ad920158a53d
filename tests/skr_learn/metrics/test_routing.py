"""Properties of curves over all rates of retrieval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_learn.metrics.routing import accuracy_by_rate, area_contributions, saved_at_parity

outcome = st.tuples(st.integers(-3, 3), st.booleans(), st.booleans())
replays = st.lists(outcome, min_size=1, max_size=60).map(
    lambda rows: tuple(np.array(column, dtype=float) for column in zip(*rows, strict=True))
)


@given(replays)
def test_no_scores_beat_the_oracle(replay):
    scores, direct, augmented = replay
    oracle = area_contributions(augmented - direct, direct, augmented).mean()
    assert area_contributions(scores, direct, augmented).mean() <= oracle + 1e-12


@given(replays)
def test_the_ends_are_never_and_always(replay):
    scores, direct, augmented = replay
    curve = accuracy_by_rate(scores, direct, augmented)
    assert curve[0] == pytest.approx(direct.mean())
    assert curve[-1] == pytest.approx(augmented.mean())


@given(replays)
def test_scores_that_are_all_alike_lie_on_the_random_line(replay):
    _, direct, augmented = replay
    curve = accuracy_by_rate(np.zeros_like(direct), direct, augmented)
    assert curve == pytest.approx(np.linspace(direct.mean(), augmented.mean(), len(curve)))
    area = area_contributions(np.zeros_like(direct), direct, augmented).mean()
    assert area == pytest.approx(0, abs=1e-12)


@given(replays)
def test_the_area_is_the_mean_distance_to_the_random_line(replay):
    scores, direct, augmented = replay
    curve = accuracy_by_rate(scores, direct, augmented)
    line = np.linspace(direct.mean(), augmented.mean(), len(curve))
    area = area_contributions(scores, direct, augmented).mean()
    assert area == pytest.approx((curve - line).mean())


@given(replays, st.floats(0, 0.5), st.floats(0, 0.5))
def test_more_slack_saves_no_less(replay, one: float, other: float):
    less, more = sorted([one, other])
    saved = [saved_at_parity(*replay, slack=slack) for slack in (less, more)]
    assert 0 <= saved[0] <= saved[1] <= 1


@given(replays, st.integers(-5, 5))
def test_only_the_order_of_scores_counts(replay, shift: int):
    scores, direct, augmented = replay
    moved = accuracy_by_rate(2 * scores + shift, direct, augmented)
    assert moved == pytest.approx(accuracy_by_rate(scores, direct, augmented))


def test_no_questions_save_nothing():
    assert saved_at_parity(np.zeros(0), np.zeros(0), np.zeros(0)) == 0.0
