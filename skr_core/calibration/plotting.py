"""Drawing a routing curve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skr_core.errors import InputError, extra

if TYPE_CHECKING:
    from skr_core.calibration.curve import RoutingCurve

FORMATS = (".png", ".svg", ".pdf")
COST_LABELS = {
    "retrievals": "retrievals a question",
    "calls": "model calls a question",
    "tokens": "thousand tokens a question",
    "usd": "US dollars a question",
}
"""What a cost is of, for people."""


def draw(curve: RoutingCurve, path: str | Path) -> None:
    """Draw accuracy against cost, with the policies that a router has to beat.

    Args:
        curve: What is drawn.
        path: A file whose name ends in .png, .svg or .pdf.

    Raises:
        InputError: It ends in something else.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: a plot is a file that ends in {', '.join(FORMATS)}")
    with extra("plots"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)  # draws into memory: needs no display
    axes = figure.add_subplot()
    axes.fill_between(curve.costs, curve.low, curve.high, alpha=0.2, color="C0", linewidth=0)
    axes.plot(curve.costs, curve.accuracy, color="C0", label=curve.router)
    axes.plot(curve.costs, curve.random_line, color="0.5", linestyle="--", label="at random")
    axes.plot(curve.costs, curve.oracle, color="0.7", linestyle=":", label="oracle")
    for action, accuracy in curve.constants.items():
        place = (curve.constant_costs[action], accuracy.mean)
        axes.plot(*[[each] for each in place], "o", color="0.3")
        axes.annotate(action, place, xytext=(0, -12), textcoords="offset points", ha="center")
    axes.plot([curve.chosen_cost], [curve.chosen.mean], "D", color="C1", label="chosen")
    axes.set(xlabel=COST_LABELS[curve.unit], ylabel="accuracy")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
