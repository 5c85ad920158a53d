"""Whether a router sends questions the right way, and what it knows when it says that it knows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_learn.calibration.intervals import interval
from skr_learn.learning.rows import Floats
from skr_learn.metrics import Interval, bootstrap_ratio


@dataclass(frozen=True, slots=True)
class Guidance:
    """What a router's decisions are worth as advice (SKR §5.1 and §5.2).

    Attributes:
        beneficial_guidance: Share of the questions that are sent the right way, among those on
            which the answers with and without retrieval differ (SKR Figure 4). Advice that knows
            nothing has a half of it on average; `n` counts the questions that differ.
        accuracy_when_known: Accuracy of the direct answers to the questions that the router says
            are known (SKR Table 2); `n` counts those questions.
    """

    beneficial_guidance: Interval
    accuracy_when_known: Interval

    @classmethod
    def of(cls, scores: Floats, retrieved: NDArray[np.bool_]) -> Self:
        """Judge decisions.

        Args:
            scores: Of the actions, the direct one first and the dearest last, shape (n, a).
            retrieved: What was decided, shape (n,) or (runs, n); several runs are averaged.

        Example:
            >>> scores = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
            >>> found = Guidance.of(scores, np.array([False, True, True]))
            >>> found.beneficial_guidance.mean, found.beneficial_guidance.n
            (1.0, 2)
            >>> found.accuracy_when_known.mean, found.accuracy_when_known.n
            (1.0, 1)
        """
        runs = np.atleast_2d(retrieved)
        benefit = scores[:, -1] - scores[:, 0]
        differs = benefit != 0
        right = (runs == (benefit > 0)).mean(axis=0)
        known = (~runs).mean(axis=0)
        claimed = known > 0
        of_known = bootstrap_ratio((known * scores[:, 0])[claimed], known[claimed])
        count = round(float(known.sum()))
        return cls(interval(right[differs]), replace(of_known, n=count))

    def row(self) -> dict[str, Any]:
        """Both as plain values, each with its interval and the questions that it is of."""
        found: dict[str, Any] = {}
        for name in ("beneficial_guidance", "accuracy_when_known"):
            each: Interval = getattr(self, name)
            found[name] = each.mean if each.n else None
            found[f"{name}_ci"] = [each.low, each.high] if each.n else None
            found[f"{name}_n"] = each.n
        return found
