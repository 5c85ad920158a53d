"""Means with bootstrap intervals; two systems are compared on the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2_000
"""Enough that the interval's ends are stable to about a tenth of its width."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95 % bootstrap interval over `n` questions."""

    mean: float
    low: float
    high: float
    n: int


def bootstrap(values: Sequence[float] | Sequence[bool], *, seed: int = 0) -> Interval:
    """The mean of values with its 95 % percentile interval; nothing has mean 0.

    For a paired comparison give the differences, question by question.

    Example:
        >>> bootstrap([1.0, 1.0, 1.0])
        Interval(mean=1.0, low=1.0, high=1.0, n=3)
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0:
        return Interval(0.0, 0.0, 0.0, 0)
    draws = np.random.default_rng(seed)
    # In portions, so that 100,000 questions do not need gigabytes.
    portion = max(1, min(RESAMPLES, 5_000_000 // sample.size))
    means: list[float] = []
    while len(means) < RESAMPLES:
        chosen = draws.integers(0, sample.size, (min(portion, RESAMPLES - len(means)), sample.size))
        means.extend(sample[chosen].mean(axis=1).tolist())
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(sample.mean()), float(low), float(high), int(sample.size))
