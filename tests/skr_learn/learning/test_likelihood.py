"""The kernel's weights come from the records, and 20 records decide little."""

from __future__ import annotations

import numpy as np
import pytest

from skr_core import HashingEmbedder
from skr_learn.learning import Observed, Signals
from skr_learn.learning.kernel import PARTS, Kernel
from skr_learn.learning.likelihood import _Likelihood, learn_kernel
from skr_learn.learning.ridge import ExactRidge

TOPICS = ("harbour", "orchestra", "volcano", "parliament", "bicycle", "monastery")
OPENINGS = ("Who saw the", "When was the", "Where is the", "Which is the")


def signals_of(n: int, seed: int = 0) -> tuple[Signals, np.ndarray, np.ndarray]:
    """Questions with the kind of question and the topic drawn apart."""
    rng = np.random.default_rng(seed)
    openings, topics = rng.integers(0, 4, n), rng.integers(0, 6, n)
    texts = [
        f"{OPENINGS[opening]} {TOPICS[topic]} {rng.integers(0, 10**6)}?"
        for opening, topic in zip(openings, topics, strict=True)
    ]
    observed = [Observed(text, f"answer {rng.integers(0, 10**6)}") for text in texts]
    return Signals.of(observed, HashingEmbedder()), openings, topics


def share(kernel: Kernel, part: str) -> float:
    return float(kernel.weights[PARTS.index(part)] / kernel.weights.sum())


def test_the_gradient_is_exact():
    signals, openings, topics = signals_of(40)
    targets = np.column_stack([openings == 1, topics == 2]).astype(float)
    targets += np.random.default_rng(0).normal(size=targets.shape)
    likelihood = _Likelihood(Kernel.fit(signals), signals, targets)
    point = np.random.default_rng(1).normal(size=likelihood.size) / 2
    _, gradient = likelihood(point)
    for index in range(likelihood.size):
        step = np.zeros(likelihood.size)
        step[index] = 1e-5
        numeric = (likelihood(point + step)[0] - likelihood(point - step)[0]) / 2e-5
        assert gradient[index] == pytest.approx(numeric, rel=1e-4, abs=1e-5)


def test_weights_follow_what_the_outcome_depends_on():
    signals, openings, _ = signals_of(500)
    noise = np.random.default_rng(0).normal(size=500)
    by_form = learn_kernel(signals, ((openings == 1) + 0.5 * noise)[:, None])
    assert share(by_form, "features") > 0.5
    by_nothing = learn_kernel(signals, noise[:, None])
    assert by_nothing.weights.sum() < 0.5 * by_form.weights.sum()
    assert not np.allclose(by_form.weights, Kernel.fit(signals).weights)


def test_learnt_weights_predict_better_than_equal_ones():
    signals, openings, topics = signals_of(400)
    truth = ((openings == 1) ^ (topics < 3)).astype(float)
    noise = 0.7 * np.random.default_rng(0).normal(size=400)
    targets = (truth + noise)[:, None]
    fit, judge = np.arange(300), np.arange(300, 400)

    def error(kernel: Kernel) -> float:
        ridge = ExactRidge(kernel, signals[fit], targets[fit])
        return float(((ridge.predict(signals[judge])[:, 0] - truth[judge]) ** 2).mean())

    assert error(learn_kernel(signals[fit], targets[fit])) < 0.95 * error(Kernel.fit(signals[fit]))


def test_a_relevant_feature_counts_more():
    signals, openings, _ = signals_of(500)
    kernel = learn_kernel(signals, (openings == 1).astype(float)[:, None])
    assert kernel.relevance.max() > 2.0
    assert kernel.relevance.min() < 1.0


def test_twenty_records_of_noise_do_not_run_away():
    signals, _, _ = signals_of(20)
    for seed in range(5):
        noise = np.random.default_rng(seed).normal(size=(20, 1))
        kernel = learn_kernel(signals, noise)
        assert np.abs(np.log(kernel.relevance)).max() < 1.0
        assert kernel.weights.sum() < 10.0


def test_targets_without_noise_or_without_any_difference_are_no_error():
    signals, openings, _ = signals_of(30)
    assert np.isfinite(learn_kernel(signals, openings[:, None].astype(float)).weights).all()
    equal = learn_kernel(signals, np.ones((30, 2)))
    assert np.array_equal(equal.weights, Kernel.fit(signals).weights)
