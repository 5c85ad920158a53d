"""Means with intervals, whatever the number of questions."""

from __future__ import annotations

import numpy as np

from skr_learn.learning.rows import Floats
from skr_learn.metrics import Interval, bootstrap

RESAMPLED = 10_000
"""Questions up to which intervals are resampled; with more, the normal one is the same."""


def interval(values: Floats) -> Interval:
    """The mean with its 95 % interval.

    Example:
        >>> interval(np.ones(20_000))
        Interval(mean=1.0, low=1.0, high=1.0, n=20000)
    """
    if len(values) <= RESAMPLED:
        return bootstrap(values.tolist())
    return normal_interval(values)


def normal_interval(values: Floats) -> Interval:
    """The mean with its 95 % interval as if means were spread normally: quick, for many of them.

    Example:
        >>> normal_interval(np.zeros(20))
        Interval(mean=0.0, low=0.0, high=0.0, n=20)
    """
    mean, margin = float(values.mean()), 1.96 * float(values.std()) / float(np.sqrt(len(values)))
    return Interval(mean, mean - margin, mean + margin, len(values))
