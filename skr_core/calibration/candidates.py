"""The routers that calibration chooses among and replay compares, by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skr_core.calibration.folds import folds
from skr_core.learning.rows import Floats, TextEmbedder
from skr_core.learning.signals import Training
from skr_core.learning.threshold import parity_threshold
from skr_core.routers.classifier import ClassifierRouter
from skr_core.routers.combined import CombinedRouter
from skr_core.routers.fitted import FittedRouter
from skr_core.routers.knn import KNNRouter

Fit = Callable[[Training, TextEmbedder], FittedRouter]


@dataclass(frozen=True)
class Candidate:
    """A way to fit a router.

    Attributes:
        name: As commands know it.
        fit: Fits it, with its own threshold.
        own_threshold: Whether that is part of the method, rather than to be calibrated.
    """

    name: str
    fit: Fit
    own_threshold: bool = False

    def held_out(self, training: Training, embedder: TextEmbedder, fitted: FittedRouter) -> Floats:
        """Scores of the training records by routers that have not seen them, shape (n,)."""
        if isinstance(fitted, CombinedRouter):
            return fitted.held_out(training)
        scores = np.zeros(len(training))
        for train, test in folds(training.groups):
            scores[test] = self.fit(training[train], embedder).scores(training[test].signals)
        return scores

    def fit_at_parity(self, training: Training, embedder: TextEmbedder) -> FittedRouter:
        """The router with its own threshold, or with one chosen on scores held out."""
        fitted = self.fit(training, embedder)
        if not self.own_threshold:
            held_out = self.held_out(training, embedder, fitted)
            fitted.threshold = parity_threshold(held_out, training.direct, training.augmented)
        return fitted


CANDIDATES = {
    each.name: each
    for each in (
        Candidate("combined", CombinedRouter.of_training),
        Candidate(
            "combined-question",
            lambda training, embedder: CombinedRouter.of_training(training, embedder, drafts=False),
        ),
        Candidate(
            "benefit",
            lambda training, embedder: KNNRouter.of_training(training, embedder, rule="benefit"),
        ),
        Candidate("paper", KNNRouter.of_training, own_threshold=True),
        Candidate("classifier", ClassifierRouter.of_training, own_threshold=True),
    )
}
"""The first is preferred to the others, unless one is clearly better on the records."""
