"""ClassifierRouter: known or unknown, by a classification head on embeddings (SKR §3.2, eq. 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError, extra
from skr_core.models.embedders import HashingEmbedder
from skr_core.ports import Embedder
from skr_core.types import Action
from skr_learn.learning.rows import Floats, Rows
from skr_learn.learning.signals import Signals, Training
from skr_learn.learning.threads import one_thread
from skr_learn.routers.fitted import FittedRouter, scored
from skr_learn.self_knowledge.records import SelfKnowledge

PRECISION = 0.1
"""Of the prior on each weight: weak, because embeddings of length one need large weights."""
FREE = 1e-6
"""Of the prior on the constant term, which may go wherever the labels' share is."""
STEPS = 50
"""Of the optimiser: more move the weights, but no longer the decisions."""


class ClassifierRouter(FittedRouter):
    """A logistic head on a fixed encoder; make one with `fit`.

    It learns which records needed references, leaving out those that no answer got right. The
    score is the probability that a question is unknown. It keeps no question: what it knows is a
    weight and a precision for each dimension, which more records sharpen. The paper fine-tunes the
    encoder too: see `skr_learn.routers.encoder.EncoderRouter`.

    Example:
        >>> known = [
        ...     SelfKnowledge.of(f"What is {n} plus 1?", direct=("", 1), single=("", 0))
        ...     for n in range(4)
        ... ]
        >>> unknown = [
        ...     SelfKnowledge.of(f"Who is CEO of {x} Inc?", direct=("", 0), single=("", 1))
        ...     for x in "AB"
        ... ]
        >>> ClassifierRouter.fit(known + unknown).decide("Who is CEO of C Inc?").retrieve
        True
    """

    kind: ClassVar[str] = "classifier"
    features: ClassVar[bool] = False

    def __init__(self, weights: Floats, precision: Floats, **parts: Any) -> None:
        super().__init__(**parts)
        self._weights, self._precision = weights, precision

    @classmethod
    def fit(
        cls,
        records: Sequence[SelfKnowledge],
        *,
        embedder: Embedder | None = None,
        threshold: float = 0.5,
    ) -> Self:
        """Learn from records.

        Args:
            records: Of self-knowledge.
            embedder: For the questions; a `HashingEmbedder` by default.
            threshold: Retrieval happens where the probability of unknown is above it.

        Raises:
            InputError: No answer is right on any record.
        """
        embedder = embedder or HashingEmbedder()
        training = Training.of(records, embedder, drafts=False)
        return cls.of_training(training, embedder, threshold=threshold)

    @classmethod
    def of_training(cls, training: Training, embedder: Embedder, *, threshold: float = 0.5) -> Self:
        """The same as `fit`, when the records have been embedded already."""
        if not len(training.informative):
            raise InputError("no answer is right on any record, so nothing is known")
        d = int(training.signals.question.matrix.shape[1])
        precision = np.full(d + 1, PRECISION)
        precision[-1] = FREE
        router = cls(
            np.zeros(d + 1),
            precision,
            embedder=embedder,
            stamp=training.stamp,
            actions=training.table.pair.actions,
            price=threshold,
            unit=training.table.unit,
        )
        router._learn(training)
        return router

    def expected(self, signals: Signals) -> tuple[Floats, Floats]:
        """The probability of unknown as the score of retrieval, at a cost of 1."""
        return scored(_sigmoid(signals.question.times(self._weights[:-1]) + self._weights[-1]))

    def _reason(self, signals: Signals, score: float, threshold: float, action: Action) -> str:
        return (
            f"needs references with a probability of {score:.0%}, "
            f"and retrieval begins above {threshold:.0%}"
        )

    def _learn(self, training: Training) -> None:
        # Fitting starts from a flat prior, updating from the posterior of the earlier records.
        training = training[np.flatnonzero(np.isfinite(training.benefit))].informative
        if len(training):
            rows, labels = training.signals.question, training.unknown.astype(np.float64)
            # Columns in which no question has an entry, most of 262,144, keep their prior.
            columns = rows.used
            used = np.append(columns, len(self._weights) - 1)
            self._weights[used], self._precision[used] = posterior(
                rows.columns(columns), labels, self._weights[used], self._precision[used]
            )

    def _saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, {
            "weights": self._weights.astype(np.float32),
            "precision": self._precision.astype(np.float32),
        }

    @classmethod
    def _restored(
        cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], **parts: Any
    ) -> Self:
        return cls(
            arrays["weights"].astype(np.float64), arrays["precision"].astype(np.float64), **parts
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
    # scikit-learn's LogisticRegression shrinks towards zero with one strength for all weights. An
    # update without the old records needs a prior with a mean and a precision of each weight.
    with extra("learning"):
        from scipy.optimize import minimize

    def loss(weights: Floats) -> tuple[float, Floats]:
        logits = rows.times(weights[:-1]) + weights[-1]
        away = weights - mean
        error = _sigmoid(logits) - labels
        value = np.logaddexp(0, logits).sum() - labels @ logits + 0.5 * precision @ away**2
        slope = np.append(rows.transposed_times(error), error.sum()) + precision * away
        return float(value), slope

    with one_thread():
        found = minimize(loss, mean, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    weights = np.asarray(found.x, dtype=np.float64)
    chance = _sigmoid(rows.times(weights[:-1]) + weights[-1])
    variance = chance * (1 - chance)
    gained = np.append(rows.squares_times(variance), variance.sum())
    return weights, precision + gained


def _sigmoid(logits: Floats) -> Floats:
    chance: Floats = 0.5 * (1 + np.tanh(0.5 * logits))  # overflows nowhere
    return chance
