"""Choosing the score above which retrieval pays, or finding that no score says so."""

from __future__ import annotations

import numpy as np

from skr_core.learning.rows import Floats
from skr_core.metrics.routing import PARITY, area_contributions, mean_of_ties

ALWAYS, NEVER = -2.0, 2.0
"""Thresholds below and above every score: a benefit lies between -1 and 1."""
STEP = 0.05
"""Twenty looks at the curve: a finer walk stops at the first bad luck of a few questions."""
CAUTION = 1.28
"""Standard errors kept in hand at each step (one-sided 90 %)."""
GUARD = 1.64
"""Standard errors by which scores must order the benefit at all (one-sided 95 %)."""

FEWEST = 10
"""Questions whose own outcomes are believed; of fewer, all may be alike by chance."""


def parity_threshold(
    scores: Floats, direct: Floats, augmented: Floats, *, price: float | None = None
) -> float:
    """The threshold that saves as many retrievals as can be saved for hardly any accuracy.

    Begins at the better constant policy: always, or never where that is better by more than one
    standard error. Walks away from it in steps of 5 % of the questions, least benefit first, and
    ends before the step that, seen with caution, falls more than half a point below the best so
    far. Then looks once at the place where the scores part the questions best: if no accuracy is
    lost even there, the walk was too timid. Scores that do not order the benefit keep the constant.

    Args:
        scores: Of questions the router has not seen, shape (n,).
        direct: Scores of the direct answers, shape (n,).
        augmented: Scores of the augmented answers, shape (n,).
        price: What a retrieval costs, in accuracy. Where it is given, no accuracy beyond it is
            given away.

    Returns:
        A score, or `ALWAYS` or `NEVER`.

    Example:
        >>> direct = np.repeat([0.0, 1.0], 100)
        >>> 0.0 < parity_threshold(1 - direct, direct, np.ones(200)) < 1.0
        True
        >>> parity_threshold(np.zeros(200), direct, np.ones(200)) == ALWAYS
        True
    """
    n = len(scores)
    if n == 0:
        return ALWAYS
    benefit = augmented - direct - (price or 0.0)
    slack = PARITY if price is None else 0.0
    spread = max(float(np.mean((augmented - direct) ** 2)), 1 / n)
    begin_at_always = -benefit.mean() <= np.sqrt(spread / n)
    constant = ALWAYS if begin_at_always else NEVER
    contributions = area_contributions(scores, direct, augmented)
    if contributions.mean() < GUARD * contributions.std() / np.sqrt(n):
        return constant
    order = np.argsort(scores if begin_at_always else -scores, kind="stable")
    ranked = scores[order]
    steps = mean_of_ties(scores, -benefit if begin_at_always else benefit)[order]
    change = np.concatenate([[0.0], np.cumsum(steps)]) / n
    reached, best = 0, 0.0
    for share in np.arange(STEP, 1 + STEP / 2, STEP):
        place = round(share * n)
        # The observed spread of a small step is too often nought: take that of all records.
        cautious = change[place] - CAUTION * np.sqrt(share * spread / n)
        if cautious < best - slack:
            break
        # Saving retrievals is worth the slack; more of them have to pay.
        if begin_at_always or cautious > best:
            reached = place
        best = max(best, cautious)
    parted = _parting(change, ranked)
    if parted > reached:
        taken = np.where(np.arange(n) < parted, steps, 0.0)
        cautious = change[parted] - CAUTION * taken.std() / np.sqrt(n)
        if cautious >= best - slack and (begin_at_always or cautious > best):
            reached = parted
    # Equal scores are treated alike: the cut lies before the tie that it would divide.
    while 0 < reached < n and ranked[reached - 1] == ranked[reached]:
        reached -= 1
    if reached == 0:
        return constant
    if reached == n:
        return NEVER if begin_at_always else ALWAYS
    return float((ranked[reached - 1] + ranked[reached]) / 2)


def _parting(change: Floats, ranked: Floats) -> int:
    """The place where the change is furthest above the line of as many questions at random.

    It lies between different scores, `FEWEST` questions or more from either end; 0 means nowhere.
    """
    n = len(ranked)
    places = np.arange(FEWEST, n - FEWEST + 1)
    places = places[ranked[places - 1] != ranked[np.minimum(places, n - 1)]]
    if not len(places):
        return 0
    above = change[places] - places / n * change[n]
    return int(places[np.argmax(above)])


def rate_threshold(scores: Floats, rate: float) -> float:
    """The threshold above which a share of the scores lies.

    Example:
        >>> rate_threshold(np.array([0.1, 0.2, 0.3, 0.4]), 0.5)
        0.25
    """
    n = len(scores)
    above = round(rate * n)
    if above <= 0:
        return NEVER
    if above >= n:
        return ALWAYS
    ranked = np.sort(scores)
    return float((ranked[n - above - 1] + ranked[n - above]) / 2)
