"""Thresholds: caution where little is known, and constants where nothing is."""

from __future__ import annotations

import numpy as np
import pytest

from skr_core.learning.threshold import ALWAYS, NEVER, parity_threshold, rate_threshold


def outcomes(n: int, *, always: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(seed).random((2, n))
    return (draws[0] < 0.4).astype(float), (draws[1] < always).astype(float)


def test_scores_that_know_nothing_end_at_the_better_constant():
    scores = np.random.default_rng(1).normal(size=1000)
    assert parity_threshold(scores, *outcomes(1000, always=0.6)) == ALWAYS
    assert parity_threshold(scores, *outcomes(1000, always=0.1)) == NEVER


def test_scores_that_know_save_retrievals():
    direct, augmented = outcomes(1000, always=0.6)
    scores = augmented - direct + np.random.default_rng(1).normal(size=1000)
    threshold = parity_threshold(scores, direct, augmented)
    assert ALWAYS < threshold < NEVER
    assert np.where(scores > threshold, augmented, direct).mean() > augmented.mean()


def test_a_dearer_retrieval_happens_less_often():
    direct, augmented = outcomes(2000, always=0.6)
    scores = augmented - direct + np.random.default_rng(1).normal(size=2000)
    rates = [
        (scores > parity_threshold(scores, direct, augmented, price=price)).mean()
        for price in (0.0, 0.2, 0.6)
    ]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > rates[-1]


def test_few_records_or_none_keep_the_constant():
    assert parity_threshold(np.zeros(0), np.zeros(0), np.zeros(0)) == ALWAYS
    assert parity_threshold(np.ones(1), np.ones(1), np.ones(1)) == ALWAYS


def test_equal_scores_are_never_parted():
    direct, augmented = outcomes(1000, always=0.6)
    scores = np.round(augmented - direct + np.random.default_rng(1).normal(size=1000))
    threshold = parity_threshold(scores, direct, augmented)
    assert threshold not in set(scores.tolist())


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.3, 0.5, 1.0])
def test_a_wanted_rate_is_met(rate: float):
    scores = np.random.default_rng(0).random(200)
    assert (scores > rate_threshold(scores, rate)).mean() == pytest.approx(rate)
