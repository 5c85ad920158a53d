"""ClassifierRouter: known or unknown, by a logistic regression on embeddings (SKR §3.2, eq. 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import extra
from skr_core.models.embedders import HashingEmbedder
from skr_learn.records import Record
from skr_learn.routers.base import Arrays, Floats, Learnt, QuestionRouter

if TYPE_CHECKING:
    from skr_core.ports import Embedder, Vectors

STRENGTH = 10.0
"""scikit-learn's C. Vectors of length one need large weights, so the prior on them is weak."""


class ClassifierRouter(QuestionRouter):
    """A logistic head on a fixed encoder; make one with `fit`.

    It learns which records needed references, leaving out those that no answer got right. The
    score is the probability that a question is unknown. The paper fine-tunes the encoder too: see
    `skr_learn.routers.encoder.EncoderRouter`.

    Example:
        >>> known = [
        ...     Record.of(f"What is {n} plus 1?", direct=("", 1), single=("", 0)) for n in range(4)
        ... ]
        >>> unknown = [
        ...     Record.of(f"Who is CEO of {x} Inc?", direct=("", 0), single=("", 1)) for x in "AB"
        ... ]
        >>> ClassifierRouter.fit(known + unknown).decide("Who is CEO of C Inc?").retrieve
        True
    """

    kind: ClassVar[str] = "classifier"

    def __init__(self, learnt: Learnt, weights: Floats, **common: Any) -> None:
        super().__init__(learnt, **common)
        if weights.ndim != 1 or len(weights) < 2 or not np.isfinite(weights).all():
            raise ValueError("the weights are not numbers")
        self._weights = weights

    @classmethod
    def fit(
        cls,
        records: Sequence[Record],
        *,
        embedder: Embedder | None = None,
        threshold: float = 0.5,
    ) -> Self:
        """Learn from records.

        Args:
            records: The records.
            embedder: Turns questions into vectors; a `HashingEmbedder` by default.
            threshold: The probability of unknown above which retrieval happens.

        Raises:
            InputError: No answer is right on any record.
            MissingDependency: scikit-learn is not installed.
        """
        embedder = embedder or HashingEmbedder()
        learnt = Learnt.of(records, informative=True)
        weights = _weights(embedder.embed(learnt.texts), learnt.unknown)
        return cls(learnt, weights, threshold=threshold, embedder=embedder)

    def _learn(self, learnt: Learnt, kept: NDArray[np.bool_]) -> None:
        if self.embedder is not None:
            self._weights = _weights(self.embedder.embed(learnt.texts), learnt.unknown)

    def _judge(self, given: Vectors) -> tuple[Floats, None]:
        logits = given @ self._weights[:-1] + self._weights[-1]
        return 0.5 * (1 + np.tanh(0.5 * logits)), None  # overflows nowhere

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, {"weights": self._weights}

    @classmethod
    def _restored(cls, parameters: Mapping[str, Any], arrays: Arrays, **common: Any) -> Self:
        return cls(weights=arrays["weights"].astype(np.float64), **common)


def _weights(vectors: Vectors, unknown: NDArray[np.bool_]) -> Floats:
    """Return the weights of the dimensions and the constant term, shape (d + 1,)."""
    d, n = vectors.shape[1], len(unknown)
    if unknown.all() or not unknown.any():  # nothing to tell apart
        return np.append(np.zeros(d), np.log((unknown.sum() + 1) / (n - unknown.sum() + 1)))
    with extra("learning"):
        from sklearn.linear_model import LogisticRegression
    fitted = LogisticRegression(C=STRENGTH, max_iter=1000).fit(vectors, unknown)
    return np.append(fitted.coef_[0], fitted.intercept_).astype(np.float64)
