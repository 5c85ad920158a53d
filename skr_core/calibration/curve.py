"""RoutingCurve: what a router is worth on records, and whether routing pays at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_core.learning.rows import Floats
from skr_core.metrics.routing import (
    accuracy_by_rate,
    area_contributions,
    mean_of_ties,
    saved_at_parity,
)
from skr_core.metrics.statistics import Interval, bootstrap

Policy = Literal["router", "always", "never"]

POINTS = 21
"""Every 5 % of the questions."""
RESAMPLED = 10_000
"""Questions up to which intervals are resampled; with more, the normal one is the same."""


@dataclass(frozen=True)
class RoutingCurve:
    """Accuracy against the share of questions retrieved for, on records the router never saw.

    Attributes:
        router: Which router.
        rates: Shares of the questions, 0 to 1.
        accuracy: At each rate, those of highest score retrieved for.
        low: Lower ends of the accuracies' 95 % intervals.
        high: Upper ends.
        oracle: Accuracy at each rate if it were known which questions retrieval helps.
        never: Accuracy of the direct answers.
        always: Accuracy of the augmented answers.
        chosen_rate: Share retrieved for with the thresholds that calibration chooses.
        chosen: Accuracy there.
        against_constant: The same minus the better constant policy, question by question.
        gain: The same minus the random line at that rate.
        area_gain: Mean over all rates of accuracy minus the random line.
        saved_at_parity: The largest share of retrievals that could be saved within half a point of
            the better constant: read off this very curve.
        recommended: The router, or a constant policy where it does not pay.
        compared: Area gain of every router that was tried.
    """

    router: str
    rates: tuple[float, ...]
    accuracy: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    oracle: tuple[float, ...]
    never: Interval
    always: Interval
    chosen_rate: float
    chosen: Interval
    against_constant: Interval
    gain: Interval
    area_gain: Interval
    saved_at_parity: float
    recommended: Policy
    compared: Mapping[str, Interval]

    @classmethod
    def of(
        cls,
        scores: Floats,
        retrieved: NDArray[np.bool_],
        direct: Floats,
        augmented: Floats,
        *,
        router: str,
        recommended: Policy,
        compared: Mapping[str, Interval] | None = None,
    ) -> RoutingCurve:
        """Draw the curve.

        Args:
            scores: Of n records, shape (n,), each by a router that has not seen it.
            retrieved: What these routers decided, shape (n,).
            direct: Scores of the direct answers, shape (n,).
            augmented: Scores of the augmented answers, shape (n,).
            router: Its name.
            recommended: What is recommended.
            compared: See above.

        Example:
            >>> direct, augmented = np.array([0.0, 1.0] * 9), np.ones(18)
            >>> curve = RoutingCurve.of(1 - direct, direct < 1, direct, augmented,
            ...                         router="oracle", recommended="router")
            >>> curve.chosen_rate, curve.chosen.mean, curve.saved_at_parity
            (0.5, 1.0, 0.5)
        """
        n, benefit = len(direct), augmented - direct
        rates = np.linspace(0, 1, POINTS)
        places = np.round(rates * n).astype(int)
        rank = np.empty(n)
        rank[np.argsort(-scores, kind="stable")] = np.arange(n)
        points = [
            interval(direct + mean_of_ties(scores, (rank < place) * 1.0) * benefit)
            for place in places
        ]
        achieved = np.where(retrieved, augmented, direct)
        better = augmented if augmented.mean() >= direct.mean() else direct
        return cls(
            router=router,
            rates=tuple(rates.round(4).tolist()),
            accuracy=tuple(point.mean for point in points),
            low=tuple(point.low for point in points),
            high=tuple(point.high for point in points),
            oracle=tuple(accuracy_by_rate(benefit, direct, augmented)[places].tolist()),
            never=interval(direct),
            always=interval(augmented),
            chosen_rate=float(retrieved.mean()),
            chosen=interval(achieved),
            against_constant=interval(achieved - better),
            gain=interval(guidance(retrieved, benefit)),
            area_gain=interval(area_contributions(scores, direct, augmented)),
            saved_at_parity=saved_at_parity(scores, direct, augmented),
            recommended=recommended,
            compared=dict(compared or {}),
        )

    @property
    def random_line(self) -> tuple[float, ...]:
        """Accuracy at each rate if the questions were drawn by lot."""
        never, always = self.never.mean, self.always.mean
        return tuple(never + rate * (always - never) for rate in self.rates)

    @property
    def sentence(self) -> str:
        """Whether routing pays on these records, in one sentence."""
        n, saved = self.never.n, 1 - self.chosen_rate
        constant = "always" if self.always.mean >= self.never.mean else "never"
        if self.recommended != "router":
            return (
                f"Routing does not pay on these {n} records: {self.recommended} retrieve, "
                f"because no router tells well enough which questions retrieval helps."
            )
        change = self.against_constant
        return (
            f"Routing pays on these {n} records: {self.router} saves {saved:.0%} of the retrievals "
            f"and changes accuracy by {change.mean:+.3f} ({change.low:+.3f} to {change.high:+.3f}) "
            f"against {constant} retrieving."
        )

    def plot(self, path: str | Path) -> None:
        """Draw the curve into a PNG or SVG file, by its name's ending."""
        from skr_core.calibration.curve import draw

        draw(self, path)


def guidance(retrieved: NDArray[np.bool_], benefit: Floats) -> Floats:
    """What each decision adds to the gain over the random line, shape (n,): their mean is the gain.

    Example:
        >>> float(guidance(np.array([True, False]), np.array([1.0, 0.0])).mean())
        0.25
    """
    if not len(benefit):
        return np.zeros(0)
    added: Floats = (retrieved - retrieved.mean()) * (benefit - benefit.mean())
    return added


def interval(values: Floats) -> Interval:
    """The mean with its 95 % interval.

    Example:
        >>> interval(np.ones(20_000))
        Interval(mean=1.0, low=1.0, high=1.0, n=20000)
    """
    if len(values) <= RESAMPLED:
        return bootstrap(values.tolist())
    mean, margin = float(values.mean()), 1.96 * float(values.std()) / float(np.sqrt(len(values)))
    return Interval(mean, mean - margin, mean + margin, len(values))


FORMATS = (".png", ".svg", ".pdf")


def draw(curve: RoutingCurve, path: str | Path) -> None:
    """Draw accuracy against the retrieval rate, with the policies it has to beat.

    Args:
        curve: What is drawn.
        path: A file whose name ends in .png, .svg or .pdf.

    Raises:
        InputError: It ends in something else.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: a plot is a file that ends in {', '.join(FORMATS)}")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)  # draws into memory: needs no display
    axes = figure.add_subplot()
    axes.fill_between(curve.rates, curve.low, curve.high, alpha=0.2, color="C0", linewidth=0)
    axes.plot(curve.rates, curve.accuracy, color="C0", label=curve.router)
    axes.plot(curve.rates, curve.random_line, color="0.5", linestyle="--", label="at random")
    axes.plot(curve.rates, curve.oracle, color="0.7", linestyle=":", label="oracle")
    ends = ((0.0, curve.never.mean, "never"), (1.0, curve.always.mean, "always"))
    for rate, accuracy, name in ends:
        axes.plot([rate], [accuracy], "o", color="0.3")
        side = -6 if rate else 6
        axes.annotate(
            name,
            (rate, accuracy),
            xytext=(side, -12),
            textcoords="offset points",
            ha="right" if rate else "left",
        )
    axes.plot([curve.chosen_rate], [curve.chosen.mean], "D", color="C1", label="chosen")
    axes.set(xlabel="share of questions retrieved for", ylabel="accuracy", xlim=(-0.02, 1.02))
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
