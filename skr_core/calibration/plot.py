"""Drawing a routing curve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skr_core.errors import InputError

if TYPE_CHECKING:
    from skr_core.calibration.curve import RoutingCurve

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
