"""RoutingCurve: accuracy against cost, at every rule of a candidate, drawn beside the constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

HEIGHT = 3.3
"""Inches."""
POINTS = 50
"""Of the oracle's frontier, which has as many as there are questions to be helped."""
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
        at, best = oracle_frontier(table)
        some = at[np.linspace(0, len(at) - 1, POINTS).astype(int)]
        costs = np.unique([*(each.costs.mean() for each in ordered), *ends, *some])
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
            tuple(costs.tolist()),
            tuple(np.interp(costs, at, best).tolist()),
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

    def __call__(self, figure: Figure) -> None:
        """Draw the curve on an empty figure."""
        from skr_learn.figures import INK, SERIES, label

        axes = figure.add_subplot()
        axes.fill_between(self.costs, self.low, self.high, color=SERIES[0], alpha=0.15, lw=0)
        axes.plot(self.costs, self.accuracy, color=SERIES[0], label=label(self.router))
        axes.plot(self.oracle_costs, self.oracle, ":", color=INK, label="best possible", lw=1)
        names = list(self.constants)
        costs = [self.constant_costs[name] for name in names]
        means = [self.constants[name].mean for name in names]
        axes.plot(costs, means, "o--", color=SERIES[1], label="always the same", lw=1)
        for name, cost, mean in zip(names, costs, means, strict=True):
            axes.annotate(name, (cost, mean), (4, -12), textcoords="offset points", color=INK)
        axes.plot([self.chosen_cost], [self.chosen.mean], "D", color=SERIES[2], label="chosen")
        axes.set_xlabel(COST_LABELS.get(self.unit, self.unit))
        axes.set_ylabel("accuracy")
        axes.legend(loc="lower right")
