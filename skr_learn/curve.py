"""RoutingCurve: accuracy against cost, at every rule of a candidate, drawn beside the constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skr_core.types import Action
from skr_learn.aims import Served
from skr_learn.costs import ActionTable
from skr_learn.metrics import Interval, normal_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 3.3
"""Inches."""
COST_LABELS = {
    "retrievals": "retrievals a question",
    "calls": "calls of the model a question",
    "tokens": "thousand tokens a question",
    "usd": "US dollars a question",
    "cost": "cost a question",
}


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
