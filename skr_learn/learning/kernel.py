"""How similar two questions are in all that is known of them before retrieval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_learn.learning.rows import Floats
from skr_learn.learning.signals import Signals

PARTS = ("question", "draft", "features", "confidence")
"""The kernels that are added, in the order of their weights."""
FEATURES = PARTS.index("features")
CLIP = 4.0
"""Standard deviations after which a feature is clipped: a question of 200 words is just long."""
UNSTATED = 2.0
"""Standard deviations between the mean confidence and one that is not stated."""
CONSTANT = 1e-9
"""A feature that varies less than this says nothing about a question."""


@dataclass(frozen=True)
class Kernel:
    """A weighted sum of Gaussian kernels: over both texts, the features and the confidence.

    In a sum each signal contributes by itself: a question is similar to another in what it asks, in
    what was answered or in its form, without having to be similar in all three. The weights are
    prior variances in units of the noise; `skr_learn.learning.likelihood` learns them.

    Attributes:
        columns: Which features vary, shape (p,).
        mean: Of these, shape (p,).
        scale: Their standard deviations, shape (p,).
        confidence: Mean and standard deviation; None where none was stated, or always the same.
        weights: Of the parts, shape (4,); 0 for a part that the signals lack.
        relevance: Weights of the squared distances of the features, shape (p,).

    Example:
        >>> from skr_core.models.embedders import HashingEmbedder
        >>> from skr_learn.learning import Observed
        >>> signals = Signals.of(
        ...     [Observed("Who?", "Ada"), Observed("When?", "1815")], HashingEmbedder()
        ... )
        >>> kernel = Kernel.fit(signals)
        >>> bool(np.allclose(kernel.between(signals, signals).diagonal(), kernel.weights.sum()))
        True
    """

    columns: NDArray[np.int64]
    mean: Floats
    scale: Floats
    confidence: tuple[float, float] | None
    weights: Floats
    relevance: Floats

    @classmethod
    def fit(cls, signals: Signals) -> Kernel:
        """Take the scales from the signals, with the weights that the prior expects."""
        spread = signals.features.std(axis=0)
        columns = np.flatnonzero(spread > CONSTANT)
        stated = signals.confidence
        stated = None if stated is None else stated[np.isfinite(stated)]
        confidence = (
            (float(stated.mean()), float(stated.std()))
            if stated is not None and stated.size and stated.std() > CONSTANT
            else None
        )
        present = np.array(
            [True, signals.draft is not None, len(columns) > 0, confidence is not None]
        )
        return cls(
            columns,
            signals.features[:, columns].mean(axis=0),
            spread[columns],
            confidence,
            np.where(present, 1 / present.sum(), 0.0),
            np.ones(len(columns)),
        )

    def between(self, these: Signals, those: Signals) -> Floats:
        """The kernel of each of n signals with each of m, shape (n, m)."""
        total = np.zeros((len(these), len(those)))
        for weight, distance in zip(self.weights, self.distances(these, those), strict=True):
            if distance is not None:
                np.negative(distance, out=distance)
                np.exp(distance, out=distance)
                distance *= weight
                total += distance
        return total

    def distances(self, these: Signals, those: Signals) -> Sequence[Floats | None]:
        """Squared distances of each part, shape (n, m) each; None for a part of no weight."""
        draft = features = confidence = None
        if self.weights[1] and these.draft is not None and those.draft is not None:
            draft = _of_cosines(these.draft.dot(those.draft))
        if self.weights[2]:
            root = np.sqrt(self.relevance / max(1, len(self.columns)))
            features = squared_distances(
                self.standardised(these) * root, self.standardised(those) * root
            )
        if self.weights[3] and these.confidence is not None and those.confidence is not None:
            confidence = 0.5 * squared_distances(
                self._stated(these.confidence), self._stated(those.confidence)
            )
        question = _of_cosines(these.question.dot(those.question))
        return question, draft, features, confidence

    def standardised(self, signals: Signals) -> Floats:
        """The features that vary, in standard deviations, shape (n, p)."""
        form = (signals.features[:, self.columns] - self.mean) / self.scale
        return np.clip(form, -CLIP, CLIP)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The kernel as plain arrays, for a file."""
        found = {"columns": self.columns, "mean": self.mean, "scale": self.scale}
        found |= {"part_weights": self.weights, "relevance": self.relevance}
        return found | {"confidence_scale": np.array(self.confidence or ())}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Kernel:
        """A kernel from what `arrays` returned."""
        stated = arrays["confidence_scale"].tolist()
        return cls(
            arrays["columns"],
            arrays["mean"],
            arrays["scale"],
            (stated[0], stated[1]) if stated else None,
            arrays["part_weights"],
            arrays["relevance"],
        )

    def _stated(self, confidence: Floats) -> Floats:
        mean, scale = self.confidence or (0.0, 1.0)
        place = np.clip(np.nan_to_num((confidence - mean) / scale), -CLIP, CLIP)
        return np.column_stack([place, np.isnan(confidence) * UNSTATED])


def squared_distances(these: Floats, those: Floats) -> Floats:
    """Squared Euclidean distances of n rows to m rows, shape (n, m).

    Example:
        >>> squared_distances(np.array([[0.0], [3.0]]), np.array([[1.0]])).tolist()
        [[1.0], [4.0]]
    """
    squared = (these**2).sum(axis=1)[:, None] + (those**2).sum(axis=1)[None, :]
    squared -= (2 * these) @ those.T
    distances: Floats = np.maximum(squared, 0, out=squared)
    return distances


def _of_cosines(cosines: Floats) -> Floats:
    """Squared distances of rows of length 1, in the place of their cosines."""
    cosines *= -2
    cosines += 2
    return cosines
