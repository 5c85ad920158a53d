"""The drawings of results: SVG and CSS inside the report's page, and a PNG of a run's means.

The page runs no script. matplotlib is imported when a PNG is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from io import BytesIO

from skr_core.errors import extra
from skr_core.evaluation.report.tables import Result

STYLE = """
:root { color-scheme: light dark; --line: #8885; --mark: #2a6fb0; --good: #1a7f4b; --bad: #b3392f }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem;
  overflow-wrap: anywhere }
h1 { font-size: 1.5rem } h2 { font-size: 1.25rem; margin-top: 2.5rem }
h3 { font-size: 1.05rem; margin-top: 2rem } h4 { font-size: .95rem; margin: 1rem 0 .25rem }
.run { opacity: .7; margin: 0 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; font-size: .9rem }
dd { margin: 0 }
.tables { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr));
  gap: 1rem }
table { border-collapse: collapse; width: 100%; font-size: .85rem; align-self: start }
th, td { padding: .25rem .4rem; border-bottom: 1px solid var(--line); text-align: right;
  font-variant-numeric: tabular-nums; vertical-align: top }
th:first-child { text-align: left; font-weight: 500 }
td:last-child, th:last-child { white-space: nowrap }
th:first-child { min-width: 6rem }
thead th { font-weight: 700 }
.failed { color: var(--bad); white-space: nowrap }
.up { color: var(--good) } .down { color: var(--bad) }
img, svg { display: block; max-width: 100%; height: auto; margin: 1rem 0 }
img { background: #fff }
.bar { display: grid; grid-template-columns: minmax(5rem, 9rem) 1fr; gap: .1rem .6rem;
  font-size: .85rem; align-items: center; margin: .2rem 0 }
.bar i { display: block; height: .8rem; background: var(--mark); border-radius: 2px;
  min-width: 2px }
.bar small { grid-column: 2 }
details { border: 1px solid var(--line); border-radius: 6px; padding: .5rem .75rem;
  margin: .5rem 0 }
summary { cursor: pointer; font-weight: 600 }
"""

WIDTH, HEIGHT, EDGE = 360, 240, 36


def bars(rows: Sequence[tuple[str, float, str]], *, percent: bool = True) -> str:
    """Horizontal bars: a name, a length from 0 to 1, and a remark.

    Example:
        >>> "width:50.0%" in bars([("1 round", 0.5, "8 questions")])
        True
    """
    drawn = []
    for name, length, remark in rows:
        value = f"{length:.1%}, " if percent else ""
        width = 100 * min(max(length, 0.0), 1.0)
        drawn.append(
            f'<div class="bar"><span>{escape(name)}</span><i style="width:{width:.1f}%"></i>'
            f"<small>{value}{escape(remark)}</small></div>"
        )
    return "".join(drawn)


def curve(
    points: Sequence[tuple[float, float]], constants: Sequence[tuple[str, float, float]]
) -> str:
    """Accuracy over the share of questions retrieved for, with named points beside the line.

    Example:
        >>> curve([(0.0, 0.4), (1.0, 0.5)], [("always", 1.0, 0.5)]).count("<circle")
        1
    """
    heights = [accuracy for _, accuracy in points] + [each[2] for each in constants]
    low, high = min(heights, default=0.0), max(heights, default=1.0)
    margin = max(0.02, (high - low) * 0.15)
    low, high = max(0.0, low - margin), min(1.0, high + margin)

    def at(rate: float, accuracy: float) -> tuple[float, float]:
        across = EDGE + rate * (WIDTH - 2 * EDGE)
        return across, HEIGHT - EDGE - (accuracy - low) / (high - low) * (HEIGHT - 2 * EDGE)

    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*each) for each in sorted(points)))
    marks = []
    for name, rate, accuracy in constants:
        x, y = at(rate, accuracy)
        anchor = "end" if rate > 0.5 else "start"
        marks.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="var(--mark)"/>'
            f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="{anchor}">{escape(name)} '
            f"{accuracy:.3f}</text>"
        )
    path = f'<polyline points="{line}" fill="none" stroke="var(--mark)" stroke-width="2"/>'
    bottom, right = HEIGHT - EDGE, WIDTH - EDGE
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH * 1.5:.0f}" role="img" '
        f'font-size="11" fill="currentColor">'
        f'<path d="M{EDGE} {EDGE / 2}V{bottom}H{right}" fill="none" stroke="currentColor"/>'
        f'<text x="{EDGE}" y="{bottom + 14}">0 %</text>'
        f'<text x="{right}" y="{bottom + 14}" text-anchor="end">100 % retrieved</text>'
        f'<text x="2" y="{EDGE / 2 + 8}">{high:.2f}</text><text x="2" y="{bottom}">{low:.2f}</text>'
        f"{path if points else ''}{''.join(marks)}</svg>"
    )


def plot(result: Result) -> bytes:
    """The plotted measures of every condition with their intervals, as a PNG.

    One panel a measure, one under the other, so that they can be read on a telephone; a condition
    without the measure is left out of its panel.
    """
    with extra("plots"):
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
