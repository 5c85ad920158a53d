"""Means with bootstrap intervals; two systems are compared on the same questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 2_000
"""Enough that the interval's ends are stable to about a tenth of its width."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95 % bootstrap interval over `n` questions.

    Attributes:
        mean: Of what could be judged.
        low: Lower end of the interval.
        high: Upper end.
        n: Questions judged.
        n_failed: Questions that could not be judged, which are in none of the other numbers.
    """

    mean: float
    low: float
    high: float
    n: int
    n_failed: int = field(default=0, repr=False)


def bootstrap(
    values: Sequence[float] | Sequence[bool], *, seed: int = 0, n_failed: int = 0
) -> Interval:
    """The mean of values with its 95 % percentile interval; nothing has mean 0.

    For a paired comparison give the differences, question by question.

    Example:
        >>> interval = bootstrap([1.0, 1.0, 1.0])
        >>> interval.mean, interval.low, interval.high, interval.n
        (1.0, 1.0, 1.0, 3)
    """
    n = len(values)
    return bootstrap_sums([values], lambda sums: sums / n, seed=seed, n_failed=n_failed)


def bootstrap_ratio(
    numerators: Sequence[float] | Sequence[bool],
    denominators: Sequence[float] | NDArray[np.float64],
    *,
    seed: int = 0,
    n_failed: int = 0,
) -> Interval:
    """Σ numerators / Σ denominators with its 95 % percentile interval; 0/0 is 0.

    For measures that are no mean over questions, such as an F1 over all of them.

    Example:
        >>> bootstrap_ratio([2.0, 0.0], [2.0, 2.0]).mean
        0.5
    """
    return bootstrap_sums([numerators, denominators], _ratio, seed=seed, n_failed=n_failed)


def bootstrap_sums(
    columns: Sequence[Sequence[float] | Sequence[bool] | NDArray[np.float64]],
    of_sums: Callable[..., NDArray[np.float64]],
    *,
    seed: int = 0,
    n_failed: int = 0,
) -> Interval:
    """A figure of the sums of columns with its 95 % percentile interval.

    Args:
        columns: Each with a value for every question, shape (n,).
        of_sums: From an array of sums of each column to the figure of each.
        seed: Of the resampling.
        n_failed: Questions that could not be judged.

    Example:
        >>> bootstrap_sums([[1.0, 2.0], [1.0, 1.0]], np.subtract).mean
        1.0
    """
    rows = [np.asarray(column, dtype=np.float64) for column in columns]
    size = rows[0].size
    if size == 0:
        return Interval(0.0, 0.0, 0.0, 0, n_failed)
    # `scipy.stats.bootstrap` gives the same intervals at the same speed, at half of it for ratios,
    # but its import takes a second, and it refuses a single value.
    draws = np.random.default_rng(seed)
    # In portions, so that 100,000 questions do not need gigabytes.
    portion = max(1, min(RESAMPLES, 5_000_000 // size))
    figures: list[float] = []
    while len(figures) < RESAMPLES:
        chosen = draws.integers(0, size, (min(portion, RESAMPLES - len(figures)), size))
        figures.extend(of_sums(*(row[chosen].sum(axis=1) for row in rows)).tolist())
    low, high = np.percentile(figures, [2.5, 97.5])
    whole = float(of_sums(*(row.sum(keepdims=True) for row in rows))[0])
    return Interval(whole, float(low), float(high), int(size), n_failed)


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)
