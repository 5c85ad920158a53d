"""Novelty: whether a question is unlike all on record, so that nothing was learnt about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skr_learn.learning.kernel import Kernel
from skr_learn.learning.likelihood import inverse_and_log_determinant
from skr_learn.learning.rows import Floats
from skr_learn.learning.signals import Signals
from skr_learn.learning.threads import one_thread

TYPICAL = 500
"""Records that a question is compared with."""
JUDGED = 1_000
"""Other records that show how far a question of theirs lies from these."""
SHARE = 0.05
"""Of the records' own questions that would be called novel: a test at the level of 5 %."""


EXPLAINED = 0.5
"""Share of the prior variance; where the records explain more, no question is novel."""


@dataclass(frozen=True)
class Novelty:
    """A conformal test on the variance that a Gaussian process leaves to a question.

    Far from all records the expectation of a kernel is an accident of a few features. A question is
    called novel where its variance is higher than that of 95 % of the records' own, each without
    itself, and where the records explain less than half of it. A router treats it as the average
    question.

    Attributes:
        kernel: How similar two questions are.
        typical: Signals of some of the records.
        limit: The variance above which a question is novel.

    Example:
        >>> from skr_core.models.embedders import HashingEmbedder
        >>> from skr_learn.learning import Observed
        >>> texts = [f"Who is number {n}?" for n in range(60)] + ["Why, in 3 words (no more), me?"]
        >>> signals = Signals.of(
        ...     [Observed(text) for text in texts], HashingEmbedder(), drafts=False
        ... )
        >>> novelty = Novelty.fit(Kernel.fit(signals), signals[:60])
        >>> bool(novelty.novel(signals)[-1])
        True
    """

    kernel: Kernel
    typical: Signals
    limit: float

    @classmethod
    def fit(cls, kernel: Kernel, signals: Signals) -> Novelty:
        """Take the limit from records of which each is compared with others alone."""
        order = np.random.default_rng(0).permutation(len(signals))
        novelty = cls(kernel, signals[np.sort(order[:TYPICAL])], np.inf)
        others = signals[np.sort(order[TYPICAL : TYPICAL + JUDGED])]
        variances = novelty.variances(others) if len(others) > TYPICAL else novelty.held_out
        return cls(kernel, novelty.typical, float(np.quantile(variances, 1 - SHARE)))

    def novel(self, signals: Signals) -> NDArray[np.bool_]:
        """Which questions are unlike all on record, shape (n,)."""
        unexplained = EXPLAINED * self.kernel.weights.sum()
        novel: NDArray[np.bool_] = self.variances(signals) > max(self.limit, unexplained) * (
            1 + 1e-9
        )
        return novel

    def variances(self, signals: Signals) -> Floats:
        """What remains of the prior variance of each question, in units of the noise, (n,)."""
        with one_thread():
            between = self.kernel.between(signals, self.typical)
            explained = np.einsum("nm,nm->n", between @ self._inverse, between)
        variances: Floats = self.kernel.weights.sum() - explained
        return variances

    @property
    def held_out(self) -> Floats:
        """The same of the typical records, each without itself."""
        variances: Floats = 1 / self._inverse.diagonal() - 1
        return variances

    @cached_property
    def _inverse(self) -> Floats:
        matrix = self.kernel.between(self.typical, self.typical)
        matrix.flat[:: len(self.typical) + 1] += 1.0
        return inverse_and_log_determinant(matrix)[0]
