"""Means with bootstrap intervals; two systems are compared on the same questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 2_000
"""Enough that the interval's ends are stable to about a tenth of its width."""
KEPT = 10_000
"""Questions up to which the resamples are kept for the next figure: 20 MB at most."""
TOGETHER = 5_000_000
"""Questions that are drawn together, so that 100,000 of them do not need gigabytes."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95 % bootstrap interval over `n` questions.

    Attributes:
        mean: The mean of what could be judged.
        low: The lower end of the interval.
        high: The upper end.
        n: The number of questions judged.
        n_failed: Questions that could not be judged, which are in none of the other numbers.
    """

    mean: float
    low: float
    high: float
    n: int
    n_failed: int = field(default=0, repr=False)


def bootstrap(
    values: Sequence[float] | Sequence[bool] | NDArray[np.float64],
    *,
    seed: int = 0,
    n_failed: int = 0,
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
    numerators: Sequence[float] | Sequence[bool] | NDArray[np.float64],
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


def mean_by_question(
    values: Sequence[float] | NDArray[np.float64], groups: NDArray[np.int64]
) -> Interval:
    """The mean of values with its interval, for which questions are resampled, not values.

    Args:
        values: One for each answer, shape (n,).
        groups: The number of each answer's question, shape (n,), from 0 on.

    Returns:
        The interval; its ``n`` counts questions.

    Example:
        >>> mean_by_question([1.0, 1.0, 0.0, 0.0], np.array([0, 0, 1, 1])).n
        2
    """
    counts = np.bincount(groups).astype(np.float64)
    if len(counts) == len(values):
        return bootstrap(values)
    return bootstrap_ratio(np.bincount(groups, weights=values).astype(np.float64), counts)


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
        seed: The seed of the resampling.
        n_failed: Questions that could not be judged.

    Example:
        >>> bootstrap_sums([[1.0, 2.0], [1.0, 1.0]], np.subtract).mean
        1.0
    """
    rows = [np.asarray(column, dtype=np.float64) for column in columns]
    size = rows[0].size
    if size == 0:
        return Interval(0.0, 0.0, 0.0, 0, n_failed)
    # `scipy.stats.bootstrap` gives the same intervals, but its import takes a second, it refuses a
    # single value, and it draws anew for every figure of the same questions.
    if size <= KEPT:
        sums = np.concatenate([counts @ np.array(rows).T for counts in _counted(size, seed)]).T
    else:
        drawn = [[row[chosen].sum(axis=1) for row in rows] for chosen in _drawn(size, seed)]
        sums = np.concatenate(drawn, axis=1)
    figures = of_sums(*sums)
    low, high = np.percentile(figures, [2.5, 97.5])
    whole = float(of_sums(*(row.sum(keepdims=True) for row in rows))[0])
    return Interval(whole, float(low), float(high), int(size), n_failed)


def _drawn(size: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """The questions of each resample, in portions of shape (some, size)."""
    draws = np.random.default_rng(seed)
    portion = max(1, min(RESAMPLES, TOGETHER // size))
    for start in range(0, RESAMPLES, portion):
        yield draws.integers(0, size, (min(portion, RESAMPLES - start), size))


def _counted(size: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each resample holds each question, in portions of shape (some, size)."""
    kept = _kept(size, seed)
    portion = max(1, TOGETHER // size)
    for start in range(0, RESAMPLES, portion):
        yield kept[start : start + portion].astype(np.float64)


@lru_cache(maxsize=2)
def _kept(size: int, seed: int) -> NDArray[np.uint8]:
    """How often each resample holds each question, as whole numbers, shape (resamples, size).

    Drawing them takes ten times as long as adding up by them.
    """
    found = np.empty((RESAMPLES, size), dtype=np.uint8)
    start = 0
    for chosen in _drawn(size, seed):
        places = chosen + size * np.arange(len(chosen))[:, None]
        counts = np.bincount(places.ravel(), minlength=chosen.size)
        found[start : start + len(chosen)] = counts.reshape(chosen.shape)
        start += len(chosen)
    return found


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)


def normal_interval(values: NDArray[np.float64]) -> Interval:
    """The mean of values from 0 to 1 with its 95 % interval, which is never of no width.

    Two values of 1 and two of 0 are added for the interval (Agresti and Coull): of 100 answers that
    are all right, the next need not be.

    Example:
        >>> interval = normal_interval(np.ones(100))
        >>> interval.mean, round(interval.low, 2), interval.high
        (1.0, 0.95, 1.0)
    """
    n, mean = len(values), float(values.mean())
    centre = (float(values.sum()) + 2.0) / (n + 4)
    spread = float(((values - centre) ** 2).sum()) + 2 * (1 - centre) ** 2 + 2 * centre**2
    margin = 1.96 * float(np.sqrt(spread)) / (n + 4)
    return Interval(mean, max(0.0, min(mean, centre - margin)),
                    min(1.0, max(mean, centre + margin)), n)  # fmt: skip
