"""Which action a price chooses: the best expected score less price times cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skr_learn.learning.rows import Floats

LIMIT_PRICE = 1e9
"""A price at which cost alone decides; its negative chooses the dearest action."""
POINTS = 20
"""Prices that are looked at between the two ends: one for each 5 % of the changes of action."""
HALVINGS = 60
"""Of the interval that holds a price: to the precision of a float."""


def best_actions(scores: Floats, costs: Floats, price: float) -> NDArray[np.int64]:
    """The action of highest expected score less price times expected cost.

    Args:
        scores: Expected, shape (n, a).
        costs: Expected, shape (n, a).
        price: Accuracy that a unit of cost is worth.

    Returns:
        Column indices, shape (n,); of equal actions the first.

    Example:
        >>> best_actions(np.array([[0.3, 0.5, 0.6]]), np.array([[0.0, 1.0, 3.0]]), 0.1).tolist()
        [1]
    """
    actions: NDArray[np.int64] = np.argmax(scores - price * costs, axis=1)
    return actions


@dataclass(frozen=True)
class PricePath:
    """Ascending prices, from the dearest action for every question to the cheapest one.

    Attributes:
        prices: Shape (m,).
        positions: The share of all changes of action that lies below each price, 0 to 1.
    """

    prices: Floats
    positions: Floats

    @property
    def weights(self) -> Floats:
        """Of each price in an integral over the positions (trapezoidal rule), adding up to 1."""
        gaps = np.diff(self.positions)
        weights: Floats = (np.append(gaps, 0.0) + np.append(0.0, gaps)) / 2
        return weights


def price_path(scores: Floats, costs: Floats, points: int = POINTS) -> PricePath:
    """Prices at which equal numbers of questions have changed their action.

    Each price lies midway between two at which a question changes, so equal questions stay
    together.

    Args:
        scores: Expected, shape (n, a).
        costs: Expected, shape (n, a).
        points: Steps from one end to the other; fewer where there are fewer changes.

    Example:
        >>> scores, costs = np.array([[0.0, 0.1], [0.0, 0.3]]), np.array([[0.0, 1.0]] * 2)
        >>> path = price_path(scores, costs)
        >>> path.prices[1:-1].tolist(), path.positions.tolist()
        ([0.2], [0.0, 0.5, 1.0])
    """
    changes, counts = np.unique(_changes(scores, costs), return_counts=True)
    passed = np.cumsum(counts)
    wanted = counts.sum() * np.arange(1, points) / points
    # The last gap before the change that would go beyond the wanted number.
    gaps = np.unique(np.searchsorted(passed, wanted + 1e-9, side="right")) - 1
    gaps = gaps[(gaps >= 0) & (gaps < len(changes) - 1)]
    inner = (changes[gaps] + changes[gaps + 1]) / 2
    return PricePath(
        np.concatenate([[-LIMIT_PRICE], inner, [LIMIT_PRICE]]),
        np.concatenate([[0.0], passed[gaps] / max(1, counts.sum()), [1.0]]),
    )


def rate_price(scores: Floats, costs: Floats, rate: float) -> float:
    """The price at which a share of the questions is retrieved for.

    Args:
        scores: Expected, shape (n, a); the first column is the direct answer.
        costs: Expected, shape (n, a).
        rate: The share, 0 to 1.

    Example:
        >>> scores, costs = np.array([[0.0, 0.1], [0.0, 0.3]]), np.array([[0.0, 1.0]] * 2)
        >>> rate_price(scores, costs, 0.5)
        0.2
    """
    n = len(scores)
    wanted = round(rate * n)
    if wanted <= 0:
        return LIMIT_PRICE
    if wanted >= n:
        return -LIMIT_PRICE
    saved = costs[:, 1:] - costs[:, :1]
    leaving = np.where(
        saved > 0, (scores[:, 1:] - scores[:, :1]) / np.maximum(saved, 1e-12), -LIMIT_PRICE
    ).max(axis=1)
    ranked = np.sort(leaving)
    return float((ranked[n - wanted - 1] + ranked[n - wanted]) / 2)


def price_within(scores: Floats, costs: Floats, spent: Floats, budget: float) -> float:
    """The lowest price from 0 that keeps the mean cost within a budget, with caution.

    The mean is known to a standard error, which is kept free: on new questions it may be as much
    higher.

    Args:
        scores: Expected, shape (n, a).
        costs: Expected, shape (n, a).
        spent: What the actions cost in fact, shape (n, a).
        budget: Cost a question.

    Example:
        >>> scores, costs = np.array([[0.3, 0.5], [0.3, 0.4]] * 50), np.array([[0.0, 1.0]] * 100)
        >>> round(price_within(scores, costs, costs, 0.6), 3)
        0.1
    """

    def exceeded(price: float) -> bool:
        taken = best_actions(scores, costs, price)[:, None]
        paid = np.take_along_axis(spent, taken, axis=1)
        return bool(paid.mean() + paid.std() / np.sqrt(len(paid)) > budget)

    if not exceeded(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while exceeded(high) and high < LIMIT_PRICE:
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeded(middle) else (low, middle)
    return high


def _changes(scores: Floats, costs: Floats) -> Floats:
    """The prices at which one action of a question becomes better than another, as one array."""
    columns = scores.shape[1]
    first, second = np.triu_indices(columns, 1)
    gap = costs[:, second] - costs[:, first]
    differ = np.abs(gap) > 1e-12
    changes: Floats = (scores[:, second] - scores[:, first])[differ] / gap[differ]
    return changes
