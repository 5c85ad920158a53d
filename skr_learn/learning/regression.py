"""The regression for as many records as there are: on every one of them, or on landmarks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_learn.learning.kernel import Kernel
from skr_learn.learning.landmarks import LandmarkRidge, landmarks_of
from skr_learn.learning.ridge import ExactRidge
from skr_learn.learning.rows import Floats
from skr_learn.learning.signals import Signals

EXACT = 5_000
"""Records up to which every one is compared with every other: about ten seconds and 1 GB."""

Ridge = ExactRidge | LandmarkRidge


def fit_ridge(signals: Signals, targets: Floats, kernel: Kernel) -> tuple[Ridge, NDArray[np.int64]]:
    """A regression, and the indices of the records that it keeps.

    Args:
        signals: Of the records, n of them.
        targets: What is predicted, shape (n, t).
        kernel: How similar two records are.

    Example:
        >>> from skr_learn.learning import Observed
        >>> from skr_core.models.embedders import HashingEmbedder
        >>> signals = Signals.of([Observed("Who?", "Ada")], HashingEmbedder())
        >>> ridge, kept = fit_ridge(signals, np.ones((1, 1)), Kernel.fit(signals))
        >>> is_exact(ridge), kept.tolist()
        (True, [0])
    """
    n = len(signals)
    if n <= EXACT:
        return ExactRidge(kernel, signals, targets), np.arange(n)
    return LandmarkRidge.fit(kernel, signals, targets), landmarks_of(n)


def grown(ridge: Ridge, signals: Signals, targets: Floats) -> tuple[Ridge, NDArray[np.int64]]:
    """A regression on more records, and which of those kept before, followed by these, it keeps."""
    held = len(ridge.signals)
    if not isinstance(ridge, ExactRidge):
        return ridge.extended(signals, targets), np.arange(held)
    if held + len(signals) <= EXACT:
        return ridge.extended(signals, targets), np.arange(held + len(signals))
    all_targets = np.concatenate([ridge.targets, targets])
    return fit_ridge(ridge.signals.concatenated(signals), all_targets, ridge.kernel)


def held_out(ridge: Ridge, signals: Signals, targets: Floats, groups: NDArray[np.int64]) -> Floats:
    """What is predicted of each record that it was fitted on without that record, shape (n, t).

    Args:
        ridge: Fitted on these records.
        signals: Theirs, n of them.
        targets: Theirs, shape (n, t).
        groups: Records of equal numbers are left out together, shape (n,).
    """
    if isinstance(ridge, ExactRidge):
        return ridge.held_out(groups)
    return ridge.held_out(signals, targets, groups)


def is_exact(ridge: Ridge) -> bool:
    """Whether every record is kept: what a file has to say of its arrays."""
    return isinstance(ridge, ExactRidge)


def ridge_of(arrays: Mapping[str, NDArray[Any]], *, exact: bool) -> Ridge:
    """A regression from what its ``arrays`` returned."""
    return ExactRidge.from_arrays(arrays) if exact else LandmarkRidge.from_arrays(arrays)
