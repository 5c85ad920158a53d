"""LandmarkRidge: kernel ridge regression for many records, on a thousand inducing points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import extra
from skr_learn.learning.kernel import Kernel
from skr_learn.learning.ridge import repeated
from skr_learn.learning.rows import Floats
from skr_learn.learning.signals import Signals
from skr_learn.learning.threads import side_by_side

LANDMARKS = 1000
"""Inducing points; memory and time are linear in the number of records."""
BLOCK = 4096
"""Records computed together: 32 MB of kernel values."""
JITTER = 1e-8
"""Keeps the landmarks' matrix invertible where two of them are the same."""


class LandmarkRidge:
    """Predicts targets as a weighted sum of kernel values between a question and the landmarks.

    Every record counts (the "subset of regressors" of sparse Gaussian processes). What it adds is a
    sum, so more records can be added at any time, and none of them has to be kept.

    Args:
        kernel: How similar two questions are.
        landmarks: Some of the records, m of them.
        targets: Measured at the landmarks, shape (m, t): evidence, not used to predict.
        sums: Σφφ' (m, m), Σφ (m, 1), Σφy' (m, t), Σy (t,) and n over the records, by name.
    """

    def __init__(
        self, kernel: Kernel, landmarks: Signals, targets: Floats, sums: Mapping[str, Floats]
    ) -> None:
        self.kernel, self.signals, self.targets = kernel, landmarks, targets
        self._sums = dict(sums)

    @classmethod
    def fit(cls, kernel: Kernel, signals: Signals, targets: Floats) -> LandmarkRidge:
        """Draw the landmarks at random and add up all records."""
        n, t = targets.shape
        chosen = landmarks_of(n)
        m = len(chosen)
        zeros = {
            "products": np.zeros((m, m)),
            "features": np.zeros((m, 1)),
            "moments": np.zeros((m, t)),
            "total": np.zeros(t),
            "count": np.zeros(()),
        }
        model = cls(kernel, signals[chosen], targets[chosen], zeros)
        return model.extended(signals, targets)

    def predict(self, signals: Signals) -> Floats:
        """Predict the targets, shape (n, t)."""
        parts = [
            self.kernel.between(signals[b], self.signals) @ self._weights
            for b in _blocks(len(signals))
        ]
        return np.concatenate(parts or [np.zeros((0, self.targets.shape[1]))]) + self.mean

    def held_out(self, signals: Signals, targets: Floats, groups: NDArray[np.int64]) -> Floats:
        """Exact leave-one-out predictions, the landmarks staying as they are.

        Args:
            signals: Of the records that were added, n of them.
            targets: Theirs, shape (n, t).
            groups: Records of equal numbers are left out together, shape (n,).
        """
        lower = np.asarray(np.linalg.cholesky(self._ridge), dtype=np.float64)
        found = np.empty_like(targets)

        def seen(part: Any) -> tuple[Floats, Floats]:
            """Features, and these in coordinates in which the ridge is the identity, (m, n)."""
            features = self._features(signals[part])
            return features, _solved(lower, features.T)

        def left_out(block: slice) -> Floats:
            features, whitened = seen(block)
            residual = targets[block] - self.mean - features @ self._solved
            own = np.einsum("mn,mn->n", whitened, whitened)
            expected: Floats = targets[block] - residual / (1 - own)[:, None]
            return expected

        blocks = list(_blocks(len(signals)))
        works = [partial(left_out, block) for block in blocks]
        for block, expected in zip(blocks, side_by_side(works), strict=True):
            found[block] = expected
        for group in repeated(groups):
            features, whitened = seen(group)
            residual = targets[group] - self.mean - features @ self._solved
            # (1 - H)⁻¹ r by whichever of both sides is smaller.
            if len(group) <= len(self.signals):
                rest = np.eye(len(group)) - whitened.T @ whitened
                error = np.linalg.solve(rest, residual)
            else:
                without = np.linalg.solve(
                    self._ridge - features.T @ features, features.T @ residual
                )
                error = residual + features @ without
            found[group] = targets[group] - error
        return found

    def extended(self, signals: Signals, targets: Floats) -> LandmarkRidge:
        """A model of more records; each costs the same, however many there are."""

        def summed(block: slice) -> dict[str, Any]:
            features, wanted = self._features(signals[block]), targets[block]
            return {
                "products": features.T @ features,
                "features": features.sum(axis=0)[:, None],
                "moments": features.T @ wanted,
                "total": wanted.sum(axis=0),
                "count": len(wanted),
            }

        sums = {name: np.array(value) for name, value in self._sums.items()}
        for part in side_by_side([partial(summed, block) for block in _blocks(len(signals))]):
            for name, value in part.items():
                sums[name] += value
        return LandmarkRidge(self.kernel, self.signals, self.targets, sums)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The model as plain arrays, for a file."""
        own = {f"sum_{name}": value for name, value in self._sums.items()}
        return own | {"targets": self.targets} | self.kernel.arrays() | self.signals.arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LandmarkRidge:
        """A model from what `arrays` returned."""
        return cls(
            Kernel.from_arrays(arrays),
            Signals.from_arrays(arrays),
            arrays["targets"],
            {name.removeprefix("sum_"): arrays[name] for name in arrays if name.startswith("sum_")},
        )

    def _features(self, signals: Signals) -> Floats:
        """Coordinates in which the landmarks' own kernel matrix is the identity, shape (n, m)."""
        return _solved(self._lower, self.kernel.between(signals, self.signals).T).T

    @cached_property
    def _lower(self) -> Floats:
        among = self.kernel.between(self.signals, self.signals)
        among.flat[:: len(self.signals) + 1] += JITTER * among[0, 0]
        lower: Floats = np.asarray(np.linalg.cholesky(among), dtype=np.float64)
        return lower

    @cached_property
    def mean(self) -> Floats:
        """Of each target over the records, shape (t,)."""
        mean: Floats = self._sums["total"] / self._sums["count"]
        return mean

    @cached_property
    def _ridge(self) -> Floats:
        return self._sums["products"] + np.eye(len(self.signals))

    @cached_property
    def _solved(self) -> Floats:
        centred = self._sums["moments"] - self._sums["features"] * self.mean
        solved: Floats = np.asarray(np.linalg.solve(self._ridge, centred), dtype=np.float64)
        return solved

    @cached_property
    def _weights(self) -> Floats:
        with extra("learning"):
            from scipy.linalg import solve_triangular

        weights: Floats = solve_triangular(self._lower, self._solved, lower=True, trans="T")
        return weights


def landmarks_of(n: int) -> NDArray[np.int64]:
    """Indices of the landmarks among n records, drawn at random.

    Example:
        >>> len(landmarks_of(50_000))
        1000
    """
    return np.sort(np.random.default_rng(0).permutation(n)[:LANDMARKS])


def _solved(lower: Floats, values: Floats) -> Floats:
    """What a lower triangle has to be multiplied with."""
    with extra("learning"):
        from scipy.linalg import solve_triangular

    solved: Floats = solve_triangular(lower, values, lower=True, check_finite=False)
    return solved


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, n, BLOCK))
