"""How true the chances are that are told of answers, and whom to abstain from by them.

A chance is what a policy expects an answer's score to be. It is judged on answers that it was not
learnt from.

Example:
    >>> told = Reliability.of(np.array([0.9, 0.9, 0.1, 0.1]), np.array([1.0, 1.0, 0.0, 0.0]))
    >>> told.surest_of(0.5).accuracy.mean, told.surest_of(1.0).accuracy.mean, round(told.brier, 2)
    (1.0, 0.5, 0.01)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skr_learn.metrics.bootstrapping import Interval, normal_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

BINS = 10
SHARES = tuple(part / 20 for part in range(1, 21))
"""Of the answers, the surest first, whose accuracy is measured."""
TOLD = (0.25, 0.5, 0.75)
"""Those of them that a table shows."""


@dataclass(frozen=True)
class Surest:
    """The answers above a chance.

    Attributes:
        share: The share of the answers that they are.
        chance: The chance that they have at least: abstain below it to serve no others.
        accuracy: Their mean score.
    """

    share: float
    chance: float
    accuracy: Interval


@dataclass(frozen=True)
class Reliability:
    """How true the chances of n answers are.

    Attributes:
        error: The calibration error, see `calibration_error`.
        brier: The mean squared difference of chance and score.
        surest: The surest answers, at each of `SHARES`: their risk and coverage.
    """

    error: float
    brier: float
    surest: tuple[Surest, ...]

    @classmethod
    def of(cls, chances: Floats, scores: Floats) -> Reliability:
        """Compare the chances of n answers with their scores, shape (n,) each."""
        order = np.argsort(-chances, kind="stable")
        surest = []
        for share in SHARES:
            rows = order[: max(1, round(share * len(order)))]
            surest.append(Surest(share, float(chances[rows[-1]]), normal_interval(scores[rows])))
        brier = float(np.mean((chances - scores) ** 2))
        return cls(calibration_error(chances, scores), brier, tuple(surest))

    def surest_of(self, share: float) -> Surest:
        """Return the surest answers, of which there are this share."""
        return min(self.surest, key=lambda each: abs(each.share - share))

    @property
    def sentence(self) -> str:
        """What a user has to know of it."""
        quarter, half = self.surest_of(0.25).accuracy, self.surest_of(0.5).accuracy
        return (
            f"Each answer has a chance, off by {100 * self.error:.0f} points in the mean: the "
            f"surest half is right in {half.mean:.0%} (likely {half.low:.0%} to {half.high:.0%}), "
            f"the surest quarter in {quarter.mean:.0%}."
        )

    @property
    def height(self) -> float:
        """The height of the drawing in inches."""
        return 3.0

    def plot(self, path: str | Path) -> None:
        """Draw how many of the surest answers are wrong, into a PNG, SVG or PDF file.

        Raises:
            InputError: The name ends in something else, or the file cannot be written.
            MissingDependency: matplotlib is not installed.
        """
        from skr_learn.figures import save

        save(self, self.height, path)

    def __call__(self, figure: Figure) -> None:
        """Draw it on an empty figure."""
        from skr_learn.figures import SERIES, name_marks

        axes = figure.add_subplot()
        shares = [each.share for each in self.surest]
        low = [1 - each.accuracy.high for each in self.surest]
        high = [1 - each.accuracy.low for each in self.surest]
        axes.fill_between(shares, low, high, color=SERIES[0], alpha=0.15, lw=0)
        axes.plot(shares, [1 - each.accuracy.mean for each in self.surest], color=SERIES[0])
        told = [self.surest_of(share) for share in (*TOLD, 1.0)]
        marks = [(each.share, 1 - each.accuracy.mean) for each in told]
        axes.plot(*zip(*marks, strict=True), "o", color=SERIES[1], ls="", clip_on=False)
        axes.set(xlabel="answered, the surest first", ylabel="wrong answers")
        axes.set(xlim=(0, 1.04), ylim=(0, max(0.1, 1.1 * max(high))), xticks=(0, *TOLD, 1))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:.0%}")
        name_marks(axes, [(f"{wrong:.0%} wrong", share, wrong) for share, wrong in marks])


def calibration_error(chances: Floats, scores: Floats, bins: int = BINS) -> float:
    """The mean distance of chances and scores, over bins of equally many answers.

    Args:
        chances: The chances of n answers, shape (n,).
        scores: Their scores, from 0 to 1, shape (n,).
        bins: How many bins there are, from the least sure to the surest.

    Example:
        >>> calibration_error(np.array([0.8] * 10), np.array([1.0] * 8 + [0.0] * 2), bins=1)
        0.0
    """
    parts = np.array_split(np.argsort(chances, kind="stable"), min(bins, len(chances)))
    apart = [len(part) * abs(chances[part].mean() - scores[part].mean()) for part in parts]
    return float(round(sum(apart) / len(chances), 12))
