"""RoutingCurve: accuracy against cost, at every rule of a candidate, drawn beside the constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skr_core.types import Action
from skr_learn.aims import Served
from skr_learn.costs import ActionTable
from skr_learn.metrics import Interval, normal_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

HEIGHT = 3.3
"""Inches."""
ALWAYS: Mapping[str, str] = {
    "direct": "no search",
    "single": "one search",
    "loop": "always the loop",
}
"""The constant policies by their actions, as drawings name them."""
POINTS = 50
"""Of the oracle's frontier, which has as many as there are questions to be helped."""
MARKS = "Dos^vPX"
COST_LABELS = {
    "retrievals": "retrievals a question",
    "calls": "calls of the model a question",
    "tokens": "thousand tokens a question",
    "usd": "US dollars a question",
    "cost": "cost a question",
}


def oracle_frontier(table: ActionTable) -> tuple[Floats, Floats]:
    """The best mean score that any choice of actions could have, at each mean cost.

    An oracle that knows all scores spends where a unit of cost buys most, so the frontier is
    concave: nothing that chooses among these answers, at random or not, lies above it.

    Args:
        table: What n questions' a actions were worth and cost.

    Returns:
        The mean costs, ascending, and the score at each, both of shape (m,); between two of them
        lies the straight line, and the last score holds beyond the last cost.

    Example:
        >>> right = np.array([[0.0, 1.0], [1.0, 1.0]])
        >>> calls = np.array([[0.0, 1.0], [0.0, 1.0]])
        >>> costs, scores = oracle_frontier(ActionTable(("direct", "loop"), right, calls, calls))
        >>> costs.tolist(), scores.tolist()
        ([0.0, 0.5], [0.5, 1.0])
    """
    start, steps = np.zeros(2), []
    for points in np.stack([table.costs, table.scores], axis=2):
        ordered = points[np.lexsort((-points[:, 1], points[:, 0]))]
        at, left = ordered[0], ordered[1:]
        start += at
        while len(left := left[left[:, 1] > at[1]]):
            added = left - at
            best = int(np.lexsort((-added[:, 0], -_slopes(added)))[0])
            steps.append(added[best])
            at, left = left[best], left[best + 1 :]
    found = np.array(steps).reshape(-1, 2)
    path = np.cumsum([start, *found[np.argsort(-_slopes(found), kind="stable")]], axis=0)
    return path[:, 0] / len(table), path[:, 1] / len(table)


def frontier_with(
    table: ActionTable, costs: Iterable[float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Some points of the oracle's frontier, with those at given costs among them.

    Args:
        table: What n questions' a actions were worth and cost.
        costs: Mean costs at which a drawing holds a mark, so that none lies above the line.

    Returns:
        The mean costs, ascending, and the best score at each.
    """
    at, best = oracle_frontier(table)
    some = at[np.linspace(0, len(at) - 1, POINTS).astype(int)]
    found = np.unique([*costs, *some])
    return tuple(found.tolist()), tuple(np.interp(found, at, best).tolist())


def _slopes(added: Floats) -> Floats:
    slopes: Floats = added[:, 1] / added[:, 0]
    return slopes


@dataclass(frozen=True)
class RoutingCurve:
    """Accuracy against cost, on records that the router was not fitted on.

    Attributes:
        router: The name of the candidate.
        unit: What cost is counted in; tokens in thousands.
        costs: The mean cost a question at each rule, the router's own calls included, ascending.
        accuracy: The accuracy at each of these costs.
        low: The lower ends of the accuracies' 95 % intervals.
        high: The upper ends.
        constants: The accuracy of each action taken for every question.
        constant_costs: What that costs a question.
        chosen: The accuracy of what calibration recommends.
        chosen_cost: Its mean cost.
        oracle_costs: Mean costs a question, ascending.
        oracle: The best accuracy that any choice among these very answers could have at each.
    """

    router: str
    unit: str
    costs: tuple[float, ...]
    accuracy: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    constants: Mapping[Action, Interval]
    constant_costs: Mapping[Action, float]
    chosen: Interval
    chosen_cost: float
    oracle_costs: tuple[float, ...]
    oracle: tuple[float, ...]

    @classmethod
    def of(
        cls, router: str, rules: Sequence[Served], table: ActionTable, chosen: Served
    ) -> RoutingCurve:
        """Draw the curve of a candidate.

        Args:
            router: Its name.
            rules: What each of its rules served of n questions.
            table: What the actions were worth and cost.
            chosen: What is recommended served.
        """
        ordered = sorted(rules, key=lambda each: float(each.costs.mean()))
        points = [normal_interval(each.scores) for each in ordered]
        columns = dict(enumerate(table.actions))
        ends = [*table.costs.mean(axis=0), chosen.costs.mean()]
        oracle = frontier_with(table, [*(each.costs.mean() for each in ordered), *ends])
        return cls(
            router,
            table.unit,
            tuple(float(each.costs.mean()) for each in ordered),
            tuple(point.mean for point in points),
            tuple(point.low for point in points),
            tuple(point.high for point in points),
            {action: normal_interval(table.scores[:, place]) for place, action in columns.items()},
            {action: float(table.costs[:, place].mean()) for place, action in columns.items()},
            normal_interval(chosen.scores),
            float(chosen.costs.mean()),
            *oracle,
        )

    @property
    def height(self) -> float:
        """The height of the drawing in inches."""
        return HEIGHT

    def plot(self, path: str | Path) -> None:
        """Draw the curve into a PNG, SVG or PDF file, by its name's ending.

        Raises:
            InputError: The name ends in something else, or the file cannot be written.
            MissingDependency: matplotlib is not installed.
        """
        from skr_learn.figures import save

        save(self, HEIGHT, path)

    @property
    def marks(self) -> list[tuple[str, float, Interval]]:
        """What is compared: name, mean cost and accuracy, what was chosen first."""
        constants = [
            (ALWAYS[name], self.constant_costs[name], each) for name, each in self.constants.items()
        ]
        return [(f"chosen: {self.router}", self.chosen_cost, self.chosen), *constants]

    def __call__(self, figure: Figure) -> None:
        """Draw the curve on an empty figure."""
        from skr_learn.figures import SERIES

        axes = figure.add_subplot()
        axes.fill_between(self.costs, self.low, self.high, color=SERIES[0], alpha=0.15, lw=0)
        axes.plot(self.costs, self.accuracy, color=SERIES[0])
        draw_against_cost(
            axes,
            self.marks,
            COST_LABELS.get(self.unit, self.unit),
            (self.oracle_costs, self.oracle),
        )


def draw_against_cost(
    axes: Axes,
    marks: Sequence[tuple[str, float, Interval]],
    cost: str,
    oracle: tuple[Sequence[float], Sequence[float]] = ((), ()),
) -> None:
    """Draw what is right against what it costs, below the best that was possible.

    Args:
        axes: Where it is drawn, beside what is there already.
        marks: The name, the mean cost and the accuracy of each policy.
        cost: The name of the cost.
        oracle: Mean costs, ascending, and the best accuracy at each.
    """
    from skr_learn.figures import INK, SERIES, name_marks

    at, best = oracle
    if at:
        axes.plot(at, best, ":", color=INK, lw=1.2)
    for place, (_, x, each) in enumerate(marks):
        colour = SERIES[place % len(SERIES)]
        axes.plot([x, x], [each.low, each.high], color=colour, lw=1.4, clip_on=False)
        axes.plot([x], [each.mean], MARKS[place % len(MARKS)], color=colour, ms=7, clip_on=False)
    heights = [end for _, _, each in marks for end in (each.low, each.high)] + [*best]
    low, high = min(heights, default=0.0), max(heights, default=1.0)
    axes.set_ylim(max(0.0, np.floor(10 * low - 0.3) / 10), min(1.0, np.ceil(10 * high + 0.3) / 10))
    dearest = max([x for _, x, _ in marks] + [*at[-1:]], default=0.0)
    axes.set_xlim(0, 1.08 * dearest or 1.0)
    axes.set(xlabel=cost, ylabel="right answers")
    axes.yaxis.set_major_formatter("{x:.0%}")
    named = [(f"{name}, {each.mean:.0%}", x, each.mean) for name, x, each in marks]
    if at:
        named.insert(0, ("best possible", at[-1], best[-1]))
    name_marks(axes, named)
