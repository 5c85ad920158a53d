"""RoutingCurve: what a router is worth on records, and whether routing pays at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from skr_core.types import Action
from skr_learn.calibration.guidance import Guidance
from skr_learn.calibration.intervals import interval
from skr_learn.calibration.kinds import QuestionKind
from skr_learn.calibration.prices import AtPrice, at_prices
from skr_learn.learning.outcomes import ActionTable, CostUnit
from skr_learn.learning.pricing import best_actions, price_path
from skr_learn.learning.rows import Floats
from skr_learn.learning.rule import Expected
from skr_learn.metrics import Interval

Policy = Literal["router", "direct", "single", "loop"]

_FEWER: dict[CostUnit, tuple[str, str]] = {
    "retrievals": ("fewer retrievals", "more retrievals"),
    "calls": ("fewer model calls", "more model calls"),
    "tokens": ("fewer tokens", "more tokens"),
    "usd": ("less money", "more money"),
}
_ALWAYS: dict[Action, str] = {
    "direct": "answer every question directly",
    "single": "retrieve once for every question",
    "loop": "run the loop for every question",
}


@dataclass(frozen=True)
class RoutingCurve:
    """Accuracy against cost, on records that the router was not fitted on.

    Attributes:
        router: Which router.
        unit: What cost is counted in; tokens in thousands.
        costs: Mean cost a question at each price of a path, the router's own calls included,
            from the cheapest.
        accuracy: At each of these costs.
        low: Lower ends of the accuracies' 95 % intervals.
        high: Upper ends.
        oracle: Accuracy at the same number of changes of action if the scores were known.
        constants: Accuracy of each action taken for every question.
        constant_costs: What that costs a question.
        shares: How often each action is taken at the price that calibration chooses.
        chosen: Accuracy there.
        chosen_cost: Mean cost there.
        against_constant: Accuracy there minus that of the best constant policy.
        recommended: The router, or the action of a constant policy where it does not pay.
        compared: Worth over mixing constant policies, of every router that was tried.
        guidance: Of every router that was tried, whether it sends questions the right way.
        assumed_steps: Retrievals assumed for loops that nobody counted; None where none are.
        own_calls: Whether the router calls the model itself.
        weakest: The kind of question that loses most by it; None where none loses.
        at_prices: What the router does at each price of the path.
        drawn_from: Of how many records these were drawn; None where they are all.
    """

    router: str
    unit: CostUnit
    costs: tuple[float, ...]
    accuracy: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    oracle: tuple[float, ...]
    constants: Mapping[Action, Interval]
    constant_costs: Mapping[Action, float]
    shares: Mapping[Action, float]
    chosen: Interval
    chosen_cost: float
    against_constant: Interval
    recommended: Policy
    compared: Mapping[str, Interval]
    guidance: Mapping[str, Guidance]
    assumed_steps: float | None = None
    own_calls: bool = False
    weakest: QuestionKind | None = None
    at_prices: tuple[AtPrice, ...] = ()
    drawn_from: int | None = None

    @classmethod
    def of(
        cls,
        expected: Expected,
        taken: NDArray[np.int64],
        constants: ActionTable,
        *,
        router: str,
        recommended: Policy,
        compared: Mapping[str, Interval] | None = None,
        guidance: Mapping[str, Guidance] | None = None,
        own_calls: bool = False,
        weakest: QuestionKind | None = None,
        drawn_from: int | None = None,
    ) -> RoutingCurve:
        """Draw the curve.

        Args:
            expected: Of n records, each by a router that was not fitted on it.
            taken: Indices of the actions that these routers chose, shape (n,).
            constants: Of all actions on record.
            router: Its name.
            recommended: What is recommended.
            compared: See above.
            guidance: See above.
            own_calls: See above.
            weakest: See above.
            drawn_from: See above.

        Example:
            >>> scores = np.array([[0.0, 1.0], [1.0, 1.0]] * 9)
            >>> table = ActionTable(("direct", "single"), scores, np.tile([0.0, 1.0], (18, 1)))
            >>> curve = RoutingCurve.of(Expected(scores, table.costs, table, table),
            ...     np.array([1, 0] * 9), table, router="oracle", recommended="router")
            >>> curve.chosen.mean, curve.chosen_cost, curve.saved
            (1.0, 0.5, 0.5)
        """
        table, rows = expected.table, np.arange(len(taken))
        costs, points, oracle = _points(expected)
        best = best_constant(constants)
        achieved = table.scores[rows, taken]
        return cls(
            router=router,
            unit=table.unit,
            costs=costs,
            accuracy=tuple(point.mean for point in points),
            low=tuple(point.low for point in points),
            high=tuple(point.high for point in points),
            oracle=oracle,
            constants={
                action: interval(constants.scores[:, column])
                for column, action in enumerate(constants.actions)
            },
            constant_costs=dict(
                zip(constants.actions, constants.costs.mean(axis=0).tolist(), strict=True)
            ),
            shares={
                action: float((taken == column).mean())
                for column, action in enumerate(table.actions)
            },
            chosen=interval(achieved),
            chosen_cost=float(table.costs[rows, taken].mean()),
            against_constant=interval(achieved - constants.scores[:, best]),
            recommended=recommended,
            compared=dict(compared or {}),
            guidance=dict(guidance or {}),
            assumed_steps=constants.assumed_steps,
            own_calls=own_calls,
            weakest=weakest,
            at_prices=at_prices(expected, constants.scores[:, best]),
            drawn_from=drawn_from,
        )

    @property
    def best_constant(self) -> Action:
        """The action of highest mean accuracy; of equal ones the cheapest."""
        return max(
            self.constants,
            key=lambda action: (self.constants[action].mean, -self.constant_costs[action]),
        )

    @property
    def chosen_rate(self) -> float:
        """Share of the questions that are retrieved for."""
        return 1 - self.shares.get("direct", 0.0)

    @property
    def saved(self) -> float:
        """Share of the best constant policy's cost that the router saves; below 0 it costs more."""
        return self._saved_at(self.chosen_cost)

    @property
    def random_line(self) -> tuple[float, ...]:
        """The best accuracy of drawing among constant policies at each of the costs."""
        points = sorted((self.constant_costs[each], self.constants[each].mean) for each in
                        self.constants)  # fmt: skip
        return tuple(_mixed(points, cost) for cost in self.costs)

    @property
    def sentence(self) -> str:
        """Whether routing pays on these records, and at what accuracy it saves what."""
        n, told = self.chosen.n, ""
        if self.assumed_steps is not None:
            told = f" Loops that nobody counted are taken to retrieve {self.assumed_steps:g} times."
        if self.drawn_from is not None:
            told += (
                f" The {n} records were drawn at random from {self.drawn_from} to compare routers; "
                "an arbiter or a ladder learns from them too, a router from all."
            )
        if self.recommended != "router":
            return (
                f"Routing does not pay on these {n} records: {_ALWAYS[self.recommended]}, because "
                f"no router tells well enough which questions need more.{told}"
            )
        own = ", its own calls included," if self.own_calls else ""
        text = (
            f"Routing pays on these {n} records: {self.router} {_doing(self.shares)}: "
            f"{self._spending(self.chosen_cost)}{own} at {_points_of(self.against_constant)}, "
            f"against the best constant policy ({self.best_constant})."
        )
        if self.weakest is not None:
            change = self.weakest.change
            text += (
                f" Questions like {self.weakest} lose most by it: {_points_of(change)}, "
                f"of {change.n} questions."
            )
        return text + told

    def sentence_at(self, place: int) -> str:
        """What the router does at one of `at_prices`, and what that saves."""
        at = self.at_prices[place]
        return (
            f"{at.named(self.unit)}, {self.router} {_doing(at.shares)}: {self._spending(at.cost)} "
            f"at {_points_of(at.change)}, against the best constant policy ({self.best_constant})."
        )

    def _spending(self, spent: float) -> str:
        """A mean cost beside that of the best constant policy."""
        fewer, more = _FEWER[self.unit]
        saved = self._saved_at(spent)
        return f"{_percent(abs(saved))} {fewer if saved >= 0 else more}"

    def _saved_at(self, spent: float) -> float:
        cost = self.constant_costs[self.best_constant]
        return 1 - spent / cost if cost else 0.0

    def plot(self, path: str | Path) -> None:
        """Draw the curve into a PNG, SVG or PDF file, by its name's ending."""
        from skr_learn.calibration.plotting import CurveDrawing
        from skr_learn.figures import save

        drawing = CurveDrawing(self)
        save(drawing, drawing.height, path)


def best_constant(table: ActionTable) -> int:
    """Index of the action of highest mean score; of equal ones the cheapest.

    Example:
        >>> costs = np.array([[0.0, 1.0]])
        >>> best_constant(ActionTable(("direct", "single"), np.ones((1, 2)), costs))
        0
    """
    scores, costs = table.scores.mean(axis=0), table.costs.mean(axis=0)
    return int(np.lexsort((costs, -scores))[0])


def _points(
    expected: Expected,
) -> tuple[tuple[float, ...], list[Interval], tuple[float, ...]]:
    """Costs, accuracies and the oracle's accuracies at the prices of a path, cheapest first."""
    table, rows = expected.table, np.arange(len(expected.table))
    path = price_path(expected.scores, expected.costs)
    ideal = price_path(table.scores, table.costs)
    best = [
        float(table.scores[rows, best_actions(table.scores, table.costs, float(price))].mean())
        for price in ideal.prices
    ]
    costs, points = [], []
    for price in path.prices[::-1]:
        taken = best_actions(expected.scores, expected.costs, float(price))
        costs.append(float(table.costs[rows, taken].mean()))
        points.append(interval(table.scores[rows, taken]))
    oracle: Floats = np.interp(path.positions[::-1], ideal.positions, best)
    return tuple(costs), points, tuple(oracle.tolist())


def _doing(shares: Mapping[Action, float]) -> str:
    done = f"answers {_percent(shares['direct'])} of the questions without retrieval"
    if "single" in shares and "loop" in shares:
        done += f" and {_percent(shares['single'])} in one round"
    return done


def _mixed(points: list[tuple[float, float]], cost: float) -> float:
    """The best accuracy at a cost of drawing between two of the points."""
    found = [accuracy for each, accuracy in points if each <= cost]
    for low, below in points:
        for high, above in points:
            if low < cost < high:
                found.append(below + (above - below) * (cost - low) / (high - low))
    return max(found, default=points[0][1])


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _points_of(change: Interval) -> str:
    low, high = 100 * change.low, 100 * change.high
    return f"{100 * change.mean:+.1f} points ({low:+.1f} to {high:+.1f})"
