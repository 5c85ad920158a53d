"""The drawings of results: forests for what is compared, lines for what changes with a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skr_app.report.tables import Result, figures, in_words, is_share, series_of
from skr_learn.curve import HEIGHT, MARKS, draw_against_cost
from skr_learn.figures import FAINT, PAPER, SERIES, label, png
from skr_learn.metrics import Interval

_ROOM = 58
"""Characters that stand beside one another in a drawing."""


@dataclass(frozen=True)
class Forest:
    """One line for each interval, under its name, its figures and its n.

    Attributes:
        rows: The intervals by name, from the top.
        share: Whether the axis is that of a share, from 0 to 1.
        signed: Whether the rows are differences: the axis has its 0 in sight, those of shares are
            counted in points, and a mark is filled where the interval leaves 0 out.

    Example:
        >>> Forest([("loop", Interval(0.5, 0.4, 0.6, 9))], share=True).height
        0.73
    """

    rows: Sequence[tuple[str, Interval]]
    share: bool
    signed: bool = False

    @property
    def height(self) -> float:
        """Inches that it takes."""
        return 0.35 + len(self.rows) * (0.6 if self._long else 0.38) + 0.2 * self.signed

    def __call__(self, figure: Any) -> None:
        """Draw it on an empty figure."""
        self.on(figure.add_subplot())

    def on(self, axes: Any) -> None:
        """Draw it on axes."""
        factor = 100.0 if self.share and self.signed else 1.0
        if self.signed:
            axes.axvline(0, color=FAINT, lw=1)
        # Lines of the grid do not run through words.
        words = {
            "transform": axes.get_yaxis_transform(),
            "bbox": {"fc": PAPER, "ec": "none", "pad": 0.8},
        }
        for place, (name, cell) in enumerate(self.rows):
            name_at, figures_at = -place + (0.42 if self._long else 0.12), -place + 0.12
            longest = _ROOM if self._long else _ROOM - len(self._figures(cell))
            axes.text(0, name_at, label(name, longest), **words)
            axes.text(1, figures_at, self._figures(cell), ha="right", **words)
            low, mean, high = (factor * each for each in (cell.low, cell.mean, cell.high))
            sure, colour = not self.signed or low > 0 or high < 0, SERIES[0]
            at = -place - 0.14
            axes.plot([low, high], [at, at], color=colour, lw=1.6, clip_on=False)
            filled = colour if sure else "none"
            axes.plot([mean], [at], "o", color=colour, mfc=filled, ms=5, clip_on=False)
        axes.set_ylim(-len(self.rows) + 0.6, 0.8 if self._long else 0.55)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y", visible=False)
        ends = [factor * end for _, cell in self.rows for end in (cell.low, cell.high)]
        low, high = min([0.0, *ends]), max([0.0, *ends])
        if self.signed:
            room = 0.1 * (high - low) or 1.0
            axes.set_xlim(low - room, high + room)
            axes.set_xlabel("points" if self.share else "difference")
        else:
            axes.set_xlim(0, 1 if self.share else 1.05 * high or 1.0)

    @property
    def _long(self) -> bool:
        """Whether a name is too long to stand beside its figures."""
        return any(
            len(label(name)) + len(self._figures(cell)) + 2 > _ROOM for name, cell in self.rows
        )

    def _figures(self, cell: Interval) -> str:
        return f"{figures(cell, share=self.share, signed=self.signed)}, n {cell.n:,}"


@dataclass(frozen=True)
class Lines:
    """A line for each series with its intervals, over a number.

    Attributes:
        series: The points by the name of their line.
        over: The thing that the number counts.
        share: Whether the axis is that of a share, from 0 to 1.
        levels: Intervals that do not change with the number, as dashed lines.
    """

    series: Mapping[str, Sequence[tuple[float, Interval]]]
    over: str
    share: bool
    levels: Sequence[tuple[str, Interval]] = ()

    @property
    def height(self) -> float:
        """Inches that they take."""
        return 2.6 + 0.2 * ((self._named + 1) // 2)

    @property
    def _named(self) -> int:
        named = len(self.series) + len(self.levels)
        return named if named > 1 else 0

    def __call__(self, figure: Any) -> None:
        """Draw them on an empty figure."""
        axes = figure.add_subplot()
        self.on(axes)
        if self._named:
            figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)

    def on(self, axes: Any) -> None:
        """Draw them on axes."""
        for place, (name, points) in enumerate(self.series.items()):
            ordered = sorted(points, key=lambda each: each[0])
            at, cells = [x for x, _ in ordered], [cell for _, cell in ordered]
            colour, mark = SERIES[place % len(SERIES)], MARKS[place % len(MARKS)]
            low, high = [cell.low for cell in cells], [cell.high for cell in cells]
            axes.fill_between(at, low, high, alpha=0.15, lw=0, color=colour)
            axes.plot(
                *(at, [cell.mean for cell in cells]),
                marker=mark,
                ms=4.5,
                color=colour,
                clip_on=False,
                label=label(name, 30),
            )
        for place, (name, cell) in enumerate(self.levels):
            style = ("--", ":", "-.")[place % 3]
            axes.axhline(cell.mean, color=FAINT, ls=style, label=label(name, 30))
        axes.set_xlabel(label(self.over))
        axes.set_xlim(left=0)
        axes.set_ylim(0, 1 if self.share else None)


@dataclass(frozen=True)
class AgainstCost:
    """What is right against what it costs: a mark with its interval for each policy.

    Attributes:
        marks: The name, the mean cost and the accuracy of each policy.
        cost: The name of the cost.
        oracle: Mean costs, ascending, and the best accuracy at each.
    """

    marks: Sequence[tuple[str, float, Interval]]
    cost: str
    oracle: tuple[Sequence[float], Sequence[float]] = ((), ())

    @property
    def height(self) -> float:
        """Inches that it takes."""
        return HEIGHT

    def __call__(self, figure: Any) -> None:
        """Draw it on an empty figure."""
        draw_against_cost(figure.add_subplot(), self.marks, self.cost, self.oracle)


def drawing_of(result: Result, measure: str) -> Forest | Lines:
    """One measure of a result: lines where its rows stand for numbers, else a forest."""
    series, levels = series_of(result, measure)
    share = is_share(measure, [row.cells[measure] for row in result.rows if measure in row.cells])
    if series:
        return Lines(series, result.over, share, levels)
    return Forest(levels, share)


def plot(result: Result) -> bytes:
    """The plotted measures of every condition with their intervals, as a PNG.

    One panel a measure, one under the other, so that they can be read on a telephone; a condition
    without the measure is left out of its panel.
    """
    measures = [each for each in result.plotted if each in result.measures] or result.measures[:1]
    panels = {measure: drawing_of(result, measure) for measure in measures}
    heights = [each.height + 0.3 for each in panels.values()]

    def draw(figure: Any) -> None:
        figure.suptitle(label(result.experiment), fontsize=11)
        grid = figure.add_gridspec(len(panels), height_ratios=heights) if panels else ()
        for (measure, panel), place in zip(panels.items(), grid, strict=True):
            axes = figure.add_subplot(place)
            panel.on(axes)
            axes.set_title(in_words(measure), loc="left", fontsize=10)
            if isinstance(panel, Lines) and len(axes.get_legend_handles_labels()[1]) > 1:
                axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))

    return png(draw, 0.4 + sum(heights))
