"""Splitting records so that no question is judged by a router that was fitted on it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import extra

FOLDS = 5

Indices = NDArray[np.int64]


def folds(
    groups: NDArray[np.int64], *, parts: int = FOLDS, seed: int = 0
) -> Iterator[tuple[Indices, Indices]]:
    """Indices to fit on and indices to judge; every record is judged once.

    Args:
        groups: Records of equal numbers stay together, shape (n,).
        parts: At most; fewer where there are fewer groups.
        seed: Of the shuffle.

    Example:
        >>> [(fit.tolist(), judge.tolist()) for fit, judge in folds(np.array([0, 0, 1]))]
        [([0, 1], [2]), ([2], [0, 1])]
    """
    parts = min(parts, len(np.unique(groups)))
    if parts < 2:  # nothing to fit on
        yield np.arange(0), np.arange(len(groups))
        return
    with extra("learning"):
        from sklearn.model_selection import GroupKFold

    splitter = GroupKFold(n_splits=parts, shuffle=True, random_state=seed)
    yield from splitter.split(groups, groups=groups)
