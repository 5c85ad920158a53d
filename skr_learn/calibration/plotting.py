"""Drawing a routing curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skr_learn.figures import FAINT, INK, SERIES, label

if TYPE_CHECKING:
    from skr_learn.calibration.curve import RoutingCurve

COST_LABELS = {
    "retrievals": "retrievals a question",
    "calls": "model calls a question",
    "tokens": "thousand tokens a question",
    "usd": "US dollars a question",
}
"""What a cost is of, for people."""


@dataclass(frozen=True)
class CurveDrawing:
    """Accuracy against cost, with the policies that a router has to beat.

    Attributes:
        curve: What is drawn.
        height: Inches.
    """

    curve: RoutingCurve
    height: float = 3.9

    def __call__(self, figure: Any) -> None:
        """Draw it on an empty figure."""
        curve = self.curve
        axes = figure.add_subplot()
        axes.fill_between(curve.costs, curve.low, curve.high, alpha=0.18, color=SERIES[0], lw=0)
        axes.plot(curve.costs, curve.accuracy, color=SERIES[0], label=label(curve.router))
        axes.plot(curve.costs, curve.random_line, color=FAINT, ls="--", label="drawn at random")
        axes.plot(curve.costs, curve.oracle, color=SERIES[2], ls=":", label="oracle")
        dearest = max(curve.constant_costs.values(), default=1.0)
        for action, accuracy in curve.constants.items():
            cost = curve.constant_costs[action]
            axes.plot([cost], [accuracy.mean], "o", color=INK, clip_on=False, zorder=3)
            axes.annotate(
                action,
                (cost, accuracy.mean),
                xytext=(0, -13),
                textcoords="offset points",
                ha="left" if cost < dearest / 4 else "right" if cost == dearest else "center",
            )
        axes.plot(
            *([curve.chosen_cost], [curve.chosen.mean], "D"),
            color=SERIES[1],
            label="at the chosen price",
            clip_on=False,
            zorder=4,
        )
        axes.set(xlabel=COST_LABELS[curve.unit], ylabel="accuracy", ylim=(0, 1))
        axes.set_xlim(0, max(1.0, dearest) if curve.unit == "retrievals" else None)
        figure.legend(loc="outside lower center", ncols=2)
