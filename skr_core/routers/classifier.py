"""ClassifierRouter: known or unknown, by a classification head on embeddings (SKR §3.2, eq. 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_core.learning.rows import Floats, Rows, TextEmbedder
from skr_core.learning.signals import Signals, Training
from skr_core.models.ngrams import NgramEmbedder
from skr_core.ports import LanguageModel
from skr_core.routers.fitted import FittedRouter
from skr_core.self_knowledge.records import SelfKnowledge, Stamp
from skr_core.types import Decision, Usage

PRECISION = 0.1
"""Of the prior on each weight: weak, because embeddings of length one need large weights."""
FREE = 1e-6
"""Of the prior on the constant term, which may go wherever the labels' share is."""
STEPS = 50
"""Of the optimiser: more move the weights, but no longer the decisions."""


class ClassifierRouter(FittedRouter):
    """A logistic head on a fixed encoder; make one with `fit`.

    It learns which records needed references, leaving out those that neither answer got right. The
    score is the probability that a question is unknown. It keeps no question: what it knows is a
    weight and a precision for each dimension, which more records sharpen. The paper fine-tunes the
    encoder too: see `skr_core.routers.encoder.EncoderRouter`.

    Example:
        >>> known = [SelfKnowledge(f"What is {n} plus 1?", (), "", "", 1.0, 0.0) for n in range(4)]
        >>> unknown = [SelfKnowledge(f"Who is CEO of {x} Inc?", (), "", "", 0.0, 1.0) for x in "AB"]
        >>> ClassifierRouter.fit(known + unknown).decide("Who is CEO of C Inc?").retrieve
        True
    """

    kind: ClassVar[str] = "classifier"

    def __init__(
        self,
        weights: Floats,
        precision: Floats,
        *,
        threshold: float,
        embedder: TextEmbedder,
        stamp: Stamp,
    ) -> None:
        super().__init__(embedder, stamp, threshold)
        self._weights, self._precision = weights, precision

    @classmethod
    def fit(
        cls,
        records: Sequence[SelfKnowledge],
        *,
        embedder: TextEmbedder | None = None,
        threshold: float = 0.5,
    ) -> Self:
        """Learn from records.

        Args:
            records: Of self-knowledge.
            embedder: For the questions; an `NgramEmbedder` by default.
            threshold: Retrieval happens where the probability of unknown is above it.

        Raises:
            InputError: Neither answer is right on any record.
        """
        embedder = embedder or NgramEmbedder()
        training = Training.of(records, embedder, drafts=False)
        return cls.of_training(training, embedder, threshold=threshold)

    @classmethod
    def of_training(
        cls, training: Training, embedder: TextEmbedder, *, threshold: float = 0.5
    ) -> Self:
        """The same as `fit`, when the records have been embedded already."""
        if not len(training.telling):
            raise InputError("neither answer is right on any record, so nothing is known")
        d = int(training.signals.question.matrix.shape[1])
        precision = np.full(d + 1, PRECISION)
        precision[-1] = FREE
        router = cls(
            np.zeros(d + 1),
            precision,
            threshold=threshold,
            embedder=embedder,
            stamp=training.stamp,
        )
        router._learn(training)
        return router

    def scores(self, signals: Signals) -> Floats:
        """The probability of unknown for each question, shape (n,)."""
        return _sigmoid(signals.question.times(self._weights[:-1]) + self._weights[-1])

    def _decide_seen(self, signals: Signals, usage: Usage) -> Decision:
        score = float(self.scores(signals)[0])
        return Decision(
            retrieve=score > self.threshold,
            score=score,
            threshold=self.threshold,
            reason=f"needs references with a probability of {score:.0%}, "
            f"and retrieval begins above {self.threshold:.0%}",
            usage=usage,
        )

    def _learn(self, training: Training) -> None:
        # Fitting is learning from a prior that knows nothing; updating from one that knows.
        training = training.telling
        if len(training):
            rows, labels = training.signals.question, training.unknown.astype(np.float64)
            # Where no question has an entry, nothing is learnt: of 262,144 columns most are empty.
            told = np.append(rows.used, len(self._weights) - 1)
            self._weights[told], self._precision[told] = posterior(
                rows.columns(rows.used), labels, self._weights[told], self._precision[told]
            )

    def _saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, {
            "weights": self._weights.astype(np.float32),
            "precision": self._precision.astype(np.float32),
        }

    @classmethod
    def _restored(
        cls,
        parameters: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        embedder: TextEmbedder,
        stamp: Stamp,
        model: LanguageModel | None,
    ) -> Self:
        return cls(
            arrays["weights"].astype(np.float64),
            arrays["precision"].astype(np.float64),
            threshold=parameters["threshold"],
            embedder=embedder,
            stamp=stamp,
        )


def posterior(rows: Rows, labels: Floats, mean: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Logistic regression from a Gaussian prior to a Gaussian posterior (Laplace, diagonal).

    Args:
        rows: Shape (n, d).
        labels: 0 or 1, shape (n,).
        mean: Of the prior over weights and constant term, shape (d + 1,).
        precision: Of the same, shape (d + 1,).

    Returns:
        Mean and precision of the posterior.
    """
    from scipy.optimize import minimize

    def loss(weights: Floats) -> tuple[float, Floats]:
        logits = rows.times(weights[:-1]) + weights[-1]
        away = weights - mean
        error = _sigmoid(logits) - labels
        value = np.logaddexp(0, logits).sum() - labels @ logits + 0.5 * precision @ away**2
        slope = np.append(rows.turned_times(error), error.sum()) + precision * away
        return float(value), slope

    found = minimize(loss, mean, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    weights = np.asarray(found.x, dtype=np.float64)
    chance = _sigmoid(rows.times(weights[:-1]) + weights[-1])
    told = chance * (1 - chance)
    gained = np.append(rows.squares_times(told), told.sum())
    return weights, precision + gained


def _sigmoid(logits: Floats) -> Floats:
    chance: Floats = 0.5 * (1 + np.tanh(0.5 * logits))  # overflows nowhere
    return chance
