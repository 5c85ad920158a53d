"""Parting records so that no question is judged by a router that has seen it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

FOLDS = 5

Places = NDArray[np.int64]


def folds(
    groups: NDArray[np.int64], *, parts: int = FOLDS, seed: int = 0
) -> Iterator[tuple[Places, Places]]:
    """Places to fit on and places to judge; every record is judged once.

    Args:
        groups: Records of equal numbers stay together, shape (n,).
        parts: At most; fewer where there are fewer groups.
        seed: Of the lot.

    Example:
        >>> [(fit.tolist(), judge.tolist()) for fit, judge in folds(np.array([0, 0, 1]))]
        [([2], [0, 1]), ([0, 1], [2])]
    """
    names, place = np.unique(groups, return_inverse=True)
    parts = min(parts, len(names))
    fold = (np.random.default_rng(seed).permutation(len(names)) % max(1, parts))[place]
    for part in range(parts):
        yield np.flatnonzero(fold != part), np.flatnonzero(fold == part)
