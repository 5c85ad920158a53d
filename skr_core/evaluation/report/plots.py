"""Plots of results, drawn without a screen; matplotlib is imported when one is drawn."""

from __future__ import annotations

from io import BytesIO

from skr_core.evaluation.report.tables import Result


def plot(result: Result) -> bytes:
    """The plotted measures of every condition with their intervals, as a PNG.

    One panel a measure, one under the other, so that they can be read on a telephone; a condition
    without the measure is left out of its panel.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [each for each in result.plotted if each in result.measures] or result.measures[:1]
    height = 0.4 + (0.7 + 0.3 * len(result.rows)) * max(1, len(panels))
    figure = Figure(figsize=(5.2, height), layout="constrained")
    FigureCanvasAgg(figure)
    for place, measure in enumerate(panels):
        rows = [row for row in result.rows if row.cells.get(measure) and row.cells[measure].n]
        axes = figure.add_subplot(len(panels), 1, place + 1)
        cells = [row.cells[measure] for row in rows]
        means = [cell.mean for cell in cells]
        below = [max(0.0, cell.mean - cell.low) for cell in cells]
        above = [max(0.0, cell.high - cell.mean) for cell in cells]
        axes.errorbar(means, range(len(rows)), xerr=[below, above], fmt="o", capsize=3)
        axes.set_yticks(range(len(rows)), [row.name.replace("_", " ") for row in rows])
        axes.invert_yaxis()
        axes.margins(y=0.2)
        axes.set_title(measure.replace("_", " "), fontsize=10)
        axes.grid(axis="x", alpha=0.3)
    figure.suptitle(result.experiment, fontsize=11)
    drawn = BytesIO()
    # Without the date and version, so that the same result gives the same file.
    figure.savefig(drawn, format="png", dpi=110, metadata={"Software": None})
    return drawn.getvalue()
