"""The worth of routers' decisions and scores on answers that are on record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError

Floats = NDArray[np.float64]

PARITY = 0.005
"""Accuracy that may be lost for retrievals saved: half a point, which users do not notice."""


def accuracy_by_rate(scores: Floats, direct: Floats, augmented: Floats) -> Floats:
    """Accuracy when the share 0/n, 1/n … n/n of highest score is retrieved for, shape (n + 1,).

    Questions of equal scores are taken as if in random order.

    Args:
        scores: The scores of n questions, shape (n,).
        direct: The scores of their direct answers, shape (n,).
        augmented: The scores of their augmented answers, shape (n,).

    Example:
        >>> one, nothing = np.array([1.0, 1.0]), np.array([0.0, 1.0])
        >>> accuracy_by_rate(np.array([0.9, 0.1]), direct=nothing, augmented=one).tolist()
        [0.5, 1.0, 1.0]
    """
    order = np.argsort(-scores, kind="stable")
    gains = mean_of_ties(scores, augmented - direct)[order]
    return np.asarray(
        np.mean(direct) + np.concatenate([[0.0], np.cumsum(gains)]) / max(1, len(scores))
    )


def area_contributions(scores: Floats, direct: Floats, augmented: Floats) -> Floats:
    """The contribution of each question to the area gain, shape (n,); their mean is the gain.

    The area gain is the mean over all rates of the accuracy at that rate minus the random line: 0
    for scores that know nothing. A question of rank r is retrieved for at n - r of n + 1 rates.

    Example:
        >>> one, nothing = np.array([1.0, 1.0]), np.array([0.0, 1.0])
        >>> float(area_contributions(np.array([0.9, 0.1]), nothing, one).mean())
        0.08333333333333333
    """
    n, benefit = len(scores), augmented - direct
    share = np.empty(n)
    share[np.argsort(-scores, kind="stable")] = (n - np.arange(n)) / (n + 1)
    # The mean share is a half, so centring the benefit changes no mean but narrows the interval.
    centred: Floats = benefit - (benefit.mean() if n else 0.0)
    return (mean_of_ties(scores, share) - 0.5) * centred


def saved_at_parity(
    scores: Floats, direct: Floats, augmented: Floats, *, slack: float = PARITY
) -> float:
    """The largest share of retrievals saved within `slack` of the better constant's accuracy.

    It is read off the curve of these very answers, in hindsight.

    Example:
        >>> right = np.array([1.0, 1.0])
        >>> saved_at_parity(np.array([0.9, 0.1]), np.array([0.0, 1.0]), right)
        0.5
    """
    if not len(scores):
        return 0.0
    accuracy = accuracy_by_rate(scores, direct, augmented)
    wanted = max(np.mean(direct), np.mean(augmented)) - slack
    # A sum of hundreds of terms may miss what it equals by a rounding error.
    return 1 - int(np.flatnonzero(accuracy >= wanted - 1e-9)[0]) / len(scores)


def mean_of_ties(scores: Floats, values: Floats) -> Floats:
    """Each value replaced by the mean over all questions of its score, shape (n,).

    Example:
        >>> mean_of_ties(np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 5.0])).tolist()
        [0.5, 0.5, 5.0]
    """
    _, inverse, count = np.unique(scores, return_inverse=True, return_counts=True)
    means: Floats = (np.bincount(inverse, values) / count)[inverse]
    return means


def guidance(retrieved: NDArray[np.bool_], benefit: Floats) -> Floats:
    """The contribution of each decision to the gain over the random line, shape (n,).

    Their mean is the gain.

    Example:
        >>> float(guidance(np.array([True, False]), np.array([1.0, 0.0])).mean())
        0.25
    """
    if not len(benefit):
        return np.zeros(0)
    added: Floats = (retrieved - retrieved.mean()) * (benefit - benefit.mean())
    return added


def beneficial_guidance(benefit: Floats, retrieve: Sequence[bool] | NDArray[np.bool_]) -> float:
    """Share of the questions that retrieval helps or hurts and the router sends right (Figure 4).

    Questions on which both answers score the same do not count: either way is as good. A router
    that knows nothing has half; where nothing counts, so has every router. (SKR §5.2)

    Args:
        benefit: Score with retrieval minus score without, shape (n,).
        retrieve: The router's decision on each, shape (n,).

    Raises:
        InputError: There are not as many decisions as questions.

    Example:
        >>> beneficial_guidance(np.array([1.0, -1.0, 0.0]), [True, True, False])
        0.5
    """
    chosen = np.asarray(retrieve, dtype=bool)
    if len(benefit) != len(chosen):
        raise InputError(f"{len(chosen)} decisions for {len(benefit)} questions")
    differs = benefit != 0
    right = (benefit > 0) == chosen
    return float(right[differs].mean()) if differs.any() else 0.5


def corruption_rate(direct_right: Sequence[bool], augmented_right: Sequence[bool]) -> float:
    """Share of all questions that are right without references and wrong with them (W2R §5).

    Args:
        direct_right: Whether the answer without references is right, question by question.
        augmented_right: Whether the answer with references is.

    Raises:
        InputError: The two differ in length.

    Example:
        >>> corruption_rate([True, True, False], [False, True, False]) == 1 / 3
        True
    """
    if len(direct_right) != len(augmented_right):
        raise InputError(f"{len(direct_right)} direct answers for {len(augmented_right)} others")
    pairs = list(zip(direct_right, augmented_right, strict=True))
    return sum(before and not after for before, after in pairs) / len(pairs) if pairs else 0.0
