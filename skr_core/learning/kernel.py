"""How alike two questions are in all that is known of them before retrieval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_core.learning.rows import Floats, Rows
from skr_core.learning.signals import Signals

FEATURE_WEIGHT = 2.0
"""Two for the features and one for each text were best on recorded answers; 1 to 4 are close."""
LIMIT = 4.0
"""Standard deviations after which a feature is cut off: a question of 200 words is just long."""
UNSTATED = 2.0
"""How far, in standard deviations, a confidence that is not stated lies from the mean one."""
CONSTANT = 1e-9
"""A feature that varies less than this says nothing about a question."""


@dataclass(frozen=True)
class Kernel:
    """A sum of bell curves: over both texts, over the features and over the confidence.

    Adding kernels lets each signal speak for itself: a question is like another in what it asks,
    in what was answered or in its form, without having to be like it in all three.

    Attributes:
        columns: Which features vary, shape (p,).
        mean: Of these, shape (p,).
        scale: Their standard deviations, shape (p,).
        confidence: Mean and standard deviation; None where none was stated, or always the same.

    Example:
        >>> from skr_core.models.ngrams import NgramEmbedder
        >>> from skr_core.learning import Observed
        >>> seen = Signals.of([Observed("Who?", "Ada"), Observed("When?", "1815")], NgramEmbedder())
        >>> Kernel.fit(seen).between(seen, seen).diagonal().round(6).tolist()
        [4.0, 4.0]
    """

    columns: NDArray[np.int64]
    mean: Floats
    scale: Floats
    confidence: tuple[float, float] | None

    @classmethod
    def fit(cls, signals: Signals) -> Kernel:
        """Take the scales from the signals."""
        spread = signals.features.std(axis=0)
        columns = np.flatnonzero(spread > CONSTANT)
        stated = signals.confidence
        stated = None if stated is None else stated[np.isfinite(stated)]
        return cls(
            columns,
            signals.features[:, columns].mean(axis=0),
            spread[columns],
            (float(stated.mean()), float(stated.std()))
            if stated is not None and stated.size and stated.std() > CONSTANT
            else None,
        )

    def between(self, these: Signals, those: Signals) -> Floats:
        """The likeness of each of these to each of those, shape (these, those)."""
        alike = _texts_alike(these.question, those.question)
        if these.draft is not None and those.draft is not None:
            alike += _texts_alike(these.draft, those.draft)
        distances = _distances(self._form(these), self._form(those))
        distances *= -1 / max(1, len(self.columns))
        alike += FEATURE_WEIGHT * np.exp(distances, out=distances)
        if self.confidence is None or these.confidence is None or those.confidence is None:
            return alike
        stated = self._stated(these.confidence), self._stated(those.confidence)
        return alike + np.exp(-0.5 * _distances(*stated))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """As plain arrays, for a file."""
        found = {"columns": self.columns, "mean": self.mean, "scale": self.scale}
        return found | {"confidence_scale": np.array(self.confidence or ())}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Kernel:
        """What `arrays` was made of."""
        stated = arrays["confidence_scale"].tolist()
        return cls(
            arrays["columns"],
            arrays["mean"],
            arrays["scale"],
            (stated[0], stated[1]) if stated else None,
        )

    def _form(self, signals: Signals) -> Floats:
        form = (signals.features[:, self.columns] - self.mean) / self.scale
        return np.clip(form, -LIMIT, LIMIT)

    def _stated(self, confidence: Floats) -> Floats:
        mean, scale = self.confidence or (0.0, 1.0)
        place = np.clip(np.nan_to_num((confidence - mean) / scale), -LIMIT, LIMIT)
        return np.column_stack([place, np.isnan(confidence) * UNSTATED])


def _texts_alike(these: Rows, those: Rows) -> Floats:
    # exp(-|u - v|²) of rows of length one, whose squared distance is 2 - 2 u·v.
    cosines = these.dot(those)
    cosines *= 2
    cosines -= 2
    alike: Floats = np.exp(cosines, out=cosines)
    return alike


def _distances(these: Floats, those: Floats) -> Floats:
    squared = (these**2).sum(axis=1)[:, None] + (those**2).sum(axis=1)[None, :]
    squared -= 2 * these @ those.T
    distances: Floats = np.maximum(squared, 0, out=squared)
    return distances
