"""What a router does at each price of its path: what a person looks at who chooses one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skr_core.types import Action
from skr_learn.calibration.intervals import normal_interval
from skr_learn.learning.outcomes import CostUnit
from skr_learn.learning.pricing import LIMIT_PRICE, best_actions, price_path
from skr_learn.learning.rows import Floats
from skr_learn.learning.rule import Expected
from skr_learn.metrics import Interval

_UNITS: dict[CostUnit, str] = {
    "retrievals": "a retrieval",
    "calls": "a model call",
    "tokens": "a thousand tokens",
    "usd": "a dollar",
}


@dataclass(frozen=True, slots=True)
class AtPrice:
    """What routers that were not fitted on the records do at one price.

    Attributes:
        price: Accuracy that a unit of cost is worth.
        shares: How often each action is taken.
        cost: Mean cost a question.
        accuracy: Of what is taken.
        change: Accuracy minus that of the best constant policy.
    """

    price: float
    shares: Mapping[Action, float]
    cost: float
    accuracy: Interval
    change: Interval

    def named(self, unit: CostUnit) -> str:
        """The price in words.

        Example:
            >>> of_one = Interval(1.0, 1.0, 1.0, 1)
            >>> AtPrice(0.05, {"direct": 1.0}, 0.0, of_one, of_one).named("retrievals")
            'Where a retrieval has to be worth 5.0 points of accuracy'
        """
        if abs(self.price) >= LIMIT_PRICE:
            return "Where only cost counts" if self.price > 0 else "Where no cost is too high"
        if self.price < 0:
            return f"Where {_UNITS[unit]} may lose {-100 * self.price:.1f} points of accuracy"
        return f"Where {_UNITS[unit]} has to be worth {100 * self.price:.1f} points of accuracy"


def at_prices(expected: Expected, constant: Floats) -> tuple[AtPrice, ...]:
    """What is done at the prices of a path, the cheapest first.

    Args:
        expected: Of n records, each by a router that was not fitted on it.
        constant: Scores of the best constant policy, shape (n,).

    Example:
        >>> from skr_learn.learning.outcomes import ActionTable
        >>> scores, costs = np.array([[0.0, 1.0], [1.0, 1.0]] * 9), np.tile([0.0, 1.0], (18, 1))
        >>> table = ActionTable(("direct", "single"), scores, costs)
        >>> found = at_prices(Expected(scores, costs, table, table), scores[:, 1])
        >>> [each.cost for each in found]
        [0.0, 0.5, 1.0]
    """
    table, rows = expected.table, np.arange(len(expected.table))
    found = []
    for price in price_path(expected.scores, expected.costs).prices[::-1]:
        taken = best_actions(expected.scores, expected.costs, float(price))
        reached = table.scores[rows, taken]
        found.append(
            AtPrice(
                price=float(price),
                shares={
                    action: float((taken == column).mean())
                    for column, action in enumerate(table.actions)
                },
                cost=float(table.costs[rows, taken].mean()),
                accuracy=normal_interval(reached),
                change=normal_interval(reached - constant),
            )
        )
    return tuple(found)
