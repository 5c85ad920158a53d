"""Intervals, and the titles that were found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skr_core import Reference
from skr_core.questions import Context
from skr_learn.metrics import (
    TOLD,
    Interval,
    Reliability,
    all_titles,
    bootstrap,
    bootstrap_ratio,
    bootstrapping,
    calibration_error,
    citation_precision,
    citation_recall,
    facts_within,
    resolvable,
    supporting_fact_recall,
    title_recall,
)


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
    monkeypatch.setattr(bootstrapping, "KEPT", 0)
    monkeypatch.setattr(bootstrapping, "TOGETHER", 1_000)
    for one, other in zip(kept, (bootstrap(above), bootstrap_ratio(above, below)), strict=True):
        assert (one.mean, one.low, one.high) == pytest.approx((other.mean, other.low, other.high))


@pytest.mark.parametrize(
    ("found", "supporting", "recall", "every"),
    [
        (["Jaws", "Cincinnati"], ["Jaws", "Steven Spielberg"], 0.5, False),
        (["Jaws", "Steven Spielberg"], ["Jaws", "Steven Spielberg"], 1.0, True),
        (["jaws ", "Shark"], ["Jaws", "JAWS"], 1.0, True),
        (["Tom &amp; Jerry"], ["Tom & Jerry"], 1.0, True),
        ([], ["Jaws"], 0.0, False),
        (["", " "], ["Jaws"], 0.0, False),
        (["Jaws"], [], 0.0, False),
        (["Jaws"], [""], 0.0, False),
    ],
)
def test_titles(found: list[str], supporting: list[str], recall: float, every: bool):
    assert title_recall(found, supporting) == recall
    assert all_titles(found, supporting) is every
    assert citation_recall(found, supporting) == recall


@pytest.mark.parametrize(
    ("cited", "supporting", "precision"),
    [
        (["Jaws", "Shark"], ["Jaws", "Steven Spielberg"], 0.5),
        (["Jaws", "Jaws"], ["Jaws"], 1.0),
        (["a", "b", "Jaws"], ["Jaws"], 1 / 3),
        ([], ["Jaws"], 0.0),
        (["Jaws"], [], 0.0),
    ],
)
def test_citation_precision(cited: list[str], supporting: list[str], precision: float):
    assert citation_precision(cited, supporting) == pytest.approx(precision)


def test_an_invented_citation_counts_against_precision():
    assert citation_precision(["Jaws"], ["Jaws"], invented=3) == 0.25
    assert citation_precision([], ["Jaws"], invented=1) == 0.0


def test_a_ratio_of_sums():
    interval = bootstrap_ratio([1.0, 0.0, 3.0], [2.0, 0.0, 2.0])
    assert interval.mean == 1.0
    assert bootstrap_ratio([0.0], [0.0]).mean == 0.0


def test_supporting_facts():
    contexts = [Context("Jaws &amp; Co", "It is. It was.", ("It is.", " It was."))]
    facts = [("Jaws & Co", 0), ("Jaws & Co", 7), ("Shark", 0)]
    assert resolvable(facts, contexts) == [("Jaws & Co", 0)]
    found = facts_within([Reference.of("Well. It was.  ", "jaws & co")], contexts)
    assert found == [("Jaws &amp; Co", 1)]
    assert supporting_fact_recall(found, [("Jaws & Co", 1), ("Jaws & Co", 0)]) == 0.5
    assert supporting_fact_recall(found, []) == 0.0


def test_true_chances_are_off_by_little_and_others_by_as_much_as_they_say():
    draw = np.random.default_rng(0)
    chances = draw.uniform(size=20_000)
    scores = (draw.uniform(size=20_000) < chances).astype(float)
    assert calibration_error(chances, scores) < 0.01
    assert calibration_error(np.minimum(chances + 0.2, 1.0), scores) == pytest.approx(
        0.18, abs=0.02
    )
    told = Reliability.of(chances, scores)
    assert told.brier == pytest.approx(1 / 6, abs=0.01)
    surest = [told.surest_of(share) for share in TOLD]
    assert [each.accuracy.mean for each in surest] == pytest.approx([7 / 8, 3 / 4, 5 / 8], abs=0.02)
    assert [each.chance for each in surest] == pytest.approx([0.75, 0.5, 0.25], abs=0.02)
    alone = Reliability.of(np.array([0.7]), np.array([1.0]))
    assert (alone.error, {each.accuracy.mean for each in alone.surest}) == (0.3, {1.0})


CHANCES = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=60
)


@given(CHANCES)
def test_what_is_surest_is_above_its_chance(pairs: list[tuple[float, float]]):
    chances, scores = np.array(pairs).T
    told = Reliability.of(chances, scores)
    assert 0 <= told.error <= 1
    for each in told.surest:
        assert (chances >= each.chance).sum() >= max(1, round(each.share * len(chances)))
        assert each.accuracy.low <= each.accuracy.mean <= each.accuracy.high
