"""ExactRidge: kernel ridge regression on every record, with exact leave-one-out predictions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_learn.learning.kernel import Kernel
from skr_learn.learning.likelihood import root_of_inverse
from skr_learn.learning.rows import Floats
from skr_learn.learning.signals import Signals


class ExactRidge:
    """Predicts targets as a weighted sum of kernel values between a question and all records.

    It is the mean of a Gaussian process, whose noise has variance 1 because the kernel's weights
    are in its units. The inverse of its covariance also gives what each record's prediction would
    have been without it. Time grows with n³ and memory with n².

    Args:
        kernel: How similar two questions are.
        signals: Of the records, n of them.
        targets: What is predicted, shape (n, t).
        root: Of the inverse of the kernel matrix plus noise, which is this matrix times its
            transpose, where it has been computed already; shape (n, n).
        weights: Of the records, where they have been computed already; shape (n, t).

    Example:
        >>> from skr_core.models.embedders import HashingEmbedder
        >>> from skr_learn.learning import Observed
        >>> signals = Signals.of(
        ...     [Observed("Who?", "Ada"), Observed("When?", "1815")], HashingEmbedder()
        ... )
        >>> model = ExactRidge(Kernel.fit(signals), signals, np.array([[1.0], [0.0]]))
        >>> bool(model.predict(signals)[0, 0] > model.predict(signals)[1, 0])
        True
    """

    def __init__(
        self,
        kernel: Kernel,
        signals: Signals,
        targets: Floats,
        root: Floats | None = None,
        weights: Floats | None = None,
    ) -> None:
        self.kernel, self.signals, self.targets = kernel, signals, targets
        self._known_root, self._known_weights = root, weights

    def predict(self, signals: Signals) -> Floats:
        """Predict the targets, shape (n, t)."""
        between = self.kernel.between(signals, self.signals)
        predicted: Floats = between @ self._weights + self.mean
        return predicted

    def held_out(self, groups: NDArray[np.int64]) -> Floats:
        """Exact leave-one-out predictions of the records, shape (n, t).

        Args:
            groups: Records of equal numbers are left out together, shape (n,).
        """
        root = self._root
        diagonal: Floats = np.einsum("nm,nm->n", root, root)
        found = self.targets - self._weights / diagonal[:, None]
        for group in repeated(groups):
            block = root[group] @ root[group].T
            found[group] = self.targets[group] - np.linalg.solve(block, self._weights[group])
        return found

    def extended(self, signals: Signals, targets: Floats) -> ExactRidge:
        """A model of more records, by blocks: n² operations for each instead of n³."""
        between = self.kernel.between(self.signals, signals)
        among = self.kernel.between(signals, signals)
        among.flat[:: len(signals) + 1] += 1.0
        projected = self._root @ (self._root.T @ between)
        corner = root_of_inverse(among - between.T @ projected)
        below = np.zeros((len(signals), len(self.signals)))
        return ExactRidge(
            self.kernel,
            self.signals.concatenated(signals),
            np.concatenate([self.targets, targets]),
            np.block([[self._root, -projected @ corner], [below, corner]]),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The model as plain arrays; the root is computed again when it is needed."""
        own = {"targets": self.targets, "weights": self._weights}
        return own | self.kernel.arrays() | self.signals.arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ExactRidge:
        """A model from what `arrays` returned."""
        return cls(
            Kernel.from_arrays(arrays),
            Signals.from_arrays(arrays),
            np.array(arrays["targets"]),
            weights=np.array(arrays["weights"]),
        )

    @cached_property
    def mean(self) -> Floats:
        """Of each target over the records, shape (t,)."""
        mean: Floats = self.targets.mean(axis=0)
        return mean

    # Not `cached_property`, whose lock all instances share in Python 3.11: regressions are fitted
    # side by side.
    @property
    def _weights(self) -> Floats:
        if self._known_weights is None:
            centred = self.targets - self.mean
            self._known_weights = self._root @ (self._root.T @ centred)
        return self._known_weights

    @property
    def _root(self) -> Floats:
        if self._known_root is None:
            matrix = self.kernel.between(self.signals, self.signals)
            matrix.flat[:: len(self.signals) + 1] += 1.0
            self._known_root = root_of_inverse(matrix)
        return self._known_root


def repeated(groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The indices of each number that occurs more than once.

    Example:
        >>> [group.tolist() for group in repeated(np.array([3, 1, 3]))]
        [[0, 2]]
    """
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    return [part for part in parts if len(part) > 1]
