"""A routing curve in characters, for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skr_learn.calibration.plotting import COST_LABELS

if TYPE_CHECKING:
    from skr_learn.calibration import RoutingCurve

WIDTH, HEIGHT = 56, 12


def curve_in_characters(curve: RoutingCurve) -> str:
    """Accuracy against cost: the router's curve, the constant policies, and what is chosen.

    Args:
        curve: What calibration found.

    Returns:
        Lines of a chart with its axes and a legend below.
    """
    constants = {
        action: (curve.constant_costs[action], each.mean)
        for action, each in curve.constants.items()
    }
    points = [*zip(curve.costs, curve.accuracy, strict=True), *constants.values()]
    grid = _Grid([cost for cost, _ in points], [accuracy for _, accuracy in points])
    for cost, accuracy in zip(curve.costs, curve.random_line, strict=True):
        grid.put(cost, accuracy, "·")
    for cost, accuracy in zip(curve.costs, curve.accuracy, strict=True):
        grid.put(cost, accuracy, "•")
    for action, (cost, accuracy) in constants.items():
        grid.put(cost, accuracy, action[0].upper())
    grid.put(curve.chosen_cost, curve.chosen.mean, "◆")
    named = "  ".join(f"{action[0].upper()} {action}" for action in constants)
    return "\n".join(
        [
            *grid.lines(COST_LABELS[curve.unit]),
            f"◆ chosen  • {curve.router}  · drawn at random  {named}",
        ]
    )


class _Grid:
    """Characters at places given in costs and accuracies."""

    def __init__(self, costs: Sequence[float], accuracies: Sequence[float]) -> None:
        self._right = max(costs, default=0.0) or 1.0
        self._bottom, self._top = min(accuracies, default=0.0), max(accuracies, default=1.0)
        self._cells = [[" "] * WIDTH for _ in range(HEIGHT)]

    def put(self, cost: float, accuracy: float, mark: str) -> None:
        """Put a mark; what lies outside of the chart stands at its edge."""
        column = round(cost / self._right * (WIDTH - 1))
        height = (accuracy - self._bottom) / (self._top - self._bottom or 1.0)
        row = round((1 - height) * (HEIGHT - 1))
        self._cells[min(max(row, 0), HEIGHT - 1)][min(max(column, 0), WIDTH - 1)] = mark

    def lines(self, label: str) -> list[str]:
        """The chart, with accuracies to its left and costs below it."""
        edge = {0: f"{self._top:.2f}", HEIGHT - 1: f"{self._bottom:.2f}"}
        rows = [
            f"{edge.get(row, ''):>5} ┤{''.join(cells)}" for row, cells in enumerate(self._cells)
        ]
        end = f"{self._right:.2f} {label}"
        return [*rows, f"{'':>6}└{'─' * WIDTH}", f"{'':>7}0{end:>{WIDTH - 1}}"]
