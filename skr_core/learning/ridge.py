"""ExactRidge: kernel ridge regression on every record, with exact leave-one-out predictions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_core.learning.kernel import Kernel
from skr_core.learning.likelihood import inverse_and_log_determinant
from skr_core.learning.rows import Floats
from skr_core.learning.signals import Signals


class ExactRidge:
    """Predicts targets as a weighted sum of kernel values between a question and all records.

    It is the mean of a Gaussian process, whose noise has variance 1 because the kernel's weights
    are in its units. Its inverse also gives what each record's prediction would have been without
    it. Time grows with n³ and memory with n².

    Args:
        kernel: How similar two questions are.
        signals: Of the records, n of them.
        targets: What is predicted, shape (n, t).
        inverse: Of the kernel matrix plus noise, where it has been computed already.

    Example:
        >>> from skr_core.models.embedders import HashingEmbedder
        >>> from skr_core.learning import Observed
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
        inverse: Floats | None = None,
    ) -> None:
        self.kernel, self.signals, self.targets = kernel, signals, targets
        if inverse is not None:
            self._inverse = inverse

    def predict(self, signals: Signals) -> Floats:
        """Predict the targets, shape (n, t)."""
        return self.kernel.between(signals, self.signals) @ self._weights + self.mean

    def held_out(self, groups: NDArray[np.int64]) -> Floats:
        """Exact leave-one-out predictions of the records, shape (n, t).

        Args:
            groups: Records of equal numbers are left out together, shape (n,).
        """
        found = self.targets - self._weights / self._inverse.diagonal()[:, None]
        for group in repeated(groups):
            block = self._inverse[np.ix_(group, group)]
            found[group] = self.targets[group] - np.linalg.solve(block, self._weights[group])
        return found

    def extended(self, signals: Signals, targets: Floats) -> ExactRidge:
        """A model of more records, by the block inverse: n² operations for each instead of n³."""
        between = self.kernel.between(self.signals, signals)
        among = self.kernel.between(signals, signals)
        among.flat[:: len(signals) + 1] += 1.0
        projected = self._inverse @ between
        corner = np.linalg.inv(among - between.T @ projected)
        side = -projected @ corner
        inverse = np.block([[self._inverse - side @ projected.T, side], [side.T, corner]])
        return ExactRidge(
            self.kernel,
            self.signals.concatenated(signals),
            np.concatenate([self.targets, targets]),
            inverse,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The model as plain arrays; the inverse is computed again when it is needed."""
        own = {"targets": self.targets, "weights": self._weights}
        return own | self.kernel.arrays() | self.signals.arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ExactRidge:
        """A model from what `arrays` returned."""
        model = cls(
            Kernel.from_arrays(arrays), Signals.from_arrays(arrays), np.array(arrays["targets"])
        )
        model._weights = np.array(arrays["weights"])
        return model

    @cached_property
    def mean(self) -> Floats:
        """Of each target over the records, shape (t,)."""
        mean: Floats = self.targets.mean(axis=0)
        return mean

    @cached_property
    def _weights(self) -> Floats:
        weights: Floats = self._inverse @ (self.targets - self.mean)
        return weights

    @cached_property
    def _inverse(self) -> Floats:
        matrix = self.kernel.between(self.signals, self.signals)
        matrix.flat[:: len(self.signals) + 1] += 1.0
        return inverse_and_log_determinant(matrix)[0]


def repeated(groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The indices of each number that occurs more than once.

    Example:
        >>> [group.tolist() for group in repeated(np.array([3, 1, 3]))]
        [[0, 2]]
    """
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    return [part for part in parts if len(part) > 1]
