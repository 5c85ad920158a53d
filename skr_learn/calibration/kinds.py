"""The kind of question that a router serves worst: a cluster of the records' questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import extra
from skr_core.texts import words
from skr_learn.calibration.intervals import interval
from skr_learn.learning.rows import Floats, Rows
from skr_learn.learning.signals import Training
from skr_learn.metrics import Interval

SIZE = 100
"""Questions a cluster, on average: fewer have intervals as wide as any difference."""
MOST = 12
"""Clusters, however many records there are."""
COMPONENTS = 20
"""Dimensions that sparse rows are reduced to before they are clustered (LSA)."""
NAMED = 4
"""Words that describe a cluster."""


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """Questions of one kind, and what routing changed for them.

    Attributes:
        words: That are typical of its questions.
        example: The question in its middle.
        change: Accuracy minus that of the best constant policy.
    """

    words: tuple[str, ...]
    example: str
    change: Interval

    def __str__(self) -> str:
        return f'"{self.example}" ({", ".join(self.words)})'


def weakest_kind(training: Training, change: Floats) -> QuestionKind | None:
    """The cluster of questions whose accuracy falls most; None where none falls.

    Args:
        training: The records.
        change: What cross-fitted decisions changed on each of them, shape (n,).
    """
    count = min(MOST, len(training) // SIZE)
    if count < 2:
        return None
    labels, middles = _clusters(training.signals.question, count)
    means = [change[labels == label].mean() for label in range(count)]
    worst = int(np.argmin(means))
    if means[worst] >= 0:
        return None
    inside = labels == worst
    questions = [str(question) for question in training.questions]
    return QuestionKind(
        typical_words(questions, inside), questions[middles[worst]], interval(change[inside])
    )


def typical_words(questions: Sequence[str], inside: NDArray[np.bool_]) -> tuple[str, ...]:
    """The words that are most typical of some of the questions, the most typical one first.

    Each adds p log(p/q) to the divergence of both word distributions, where p and q are the shares
    of questions inside and outside that hold it.

    Example:
        >>> asked = ["Who wrote Emma?", "Who wrote Ulysses?", "Who sang Hello?", "When was it?"]
        >>> typical_words(asked, np.array([True, True, False, False]))[0]
        'wrote'
    """
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for question, within in zip(questions, inside, strict=True):
        counts[not within].update(set(words(question)))
    n, others = int(inside.sum()), int((~inside).sum())

    def divergence(word: str) -> float:
        p, q = counts[0][word] / (n + 1), (counts[1][word] + 1) / (others + 1)
        return float(p * np.log(p / q))

    found = sorted(counts[0], key=lambda word: (-divergence(word), word))
    return tuple(found[:NAMED])


def _clusters(rows: Rows, count: int) -> tuple[NDArray[Any], list[int]]:
    """The cluster of each row, and the index of the row nearest to the middle of each."""
    with extra("learning"):
        from sklearn.cluster import KMeans
        from sklearn.decomposition import TruncatedSVD

    matrix: Any = rows.matrix
    if not isinstance(matrix, np.ndarray):
        matrix = rows.columns(rows.used).matrix  # a tenth of them
        matrix = TruncatedSVD(min(COMPONENTS, len(rows) - 1), random_state=0).fit_transform(matrix)
    fitted = KMeans(count, n_init=1, random_state=0).fit(matrix)
    return fitted.labels_, fitted.transform(matrix).argmin(axis=0).tolist()
