"""Whether a ladder pays on a user's own records, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.types import Action
from skr_learn.arbiters.ladder import Ladder
from skr_learn.arbiters.rungs import Climb
from skr_learn.arbiters.serving import FEWEST, surely_better
from skr_learn.calibration.choice import Choice
from skr_learn.calibration.intervals import interval
from skr_learn.learning.outcomes import ActionTable, CostUnit
from skr_learn.learning.pricing import LIMIT_PRICE
from skr_learn.learning.rows import Floats
from skr_learn.learning.rule import CAUTION, Aim, Expected
from skr_learn.learning.signals import Training
from skr_learn.metrics import PARITY, Interval

if TYPE_CHECKING:
    from skr_core.ports import Embedder
    from skr_learn.arbiters.estimate import Estimate
    from skr_learn.arbiters.views import Measured

RUNGS = 3
"""With fewer there is nothing to climb that a router and an arbiter do not decide already."""
WORTHWHILE = 0.05
"""Share of the cost that has to be saved where no accuracy is gained."""
_UNITS: dict[CostUnit, str] = {
    "retrievals": "retrievals",
    "calls": "model calls",
    "tokens": "thousand tokens",
    "usd": "dollars",
}


@dataclass(frozen=True)
class Alone:
    """What is served without a ladder: by a router or a constant policy, perhaps with an arbiter.

    Attributes:
        taken: Indices of the actions that are taken, shape (n,).
        scores: Of the answers that are served, shape (n,).
        costs: What they took, shape (n,).
        drafted: Whether the direct answers are among that.
    """

    taken: NDArray[np.int64]
    scores: Floats
    costs: Floats
    drafted: bool = False

    @classmethod
    def by(
        cls, choice: Choice, expected: Expected, taken: NDArray[np.int64], table: ActionTable
    ) -> Self:
        """What a choice serves of the records that it was made on, each without itself.

        Args:
            choice: A router, or a constant policy.
            expected: Of n records.
            taken: Indices of the actions that the router took, shape (n,).
            table: Of all actions.
        """
        if choice.rule.constant is not None:
            only = table.actions.index(choice.rule.constant)
            return cls(np.full(len(taken), only), table.scores[:, only], table.costs[:, only])
        rows, paid = np.arange(len(taken)), expected.table
        columns = np.array([table.actions.index(each) for each in paid.actions])
        drafted = choice.candidate.drafts
        return cls(columns[taken], paid.scores[rows, taken], paid.costs[rows, taken], drafted)

    def with_arbiter(self, scores: Floats, direct: Floats) -> Self:
        """The same where an arbiter serves answers of these scores.

        Args:
            scores: Shape (n,).
            direct: What the direct answer costs, shape (n,), which it asks for beside the others.
        """
        asked = np.where((self.taken > 0) & (not self.drafted), direct, 0.0)
        return replace(self, scores=scores, costs=self.costs + asked)


@dataclass(frozen=True)
class Climbing:
    """What a ladder would have done with records that it was not fitted on.

    Attributes:
        alone: Accuracy of what is served without it.
        alone_cost: What that costs a question.
        served: Accuracy of what the ladder serves.
        served_cost: What that costs a question, the direct answer included.
        gain: What the ladder is worth beyond that: accuracy, less price times cost where a price
            was asked for.
        price: Accuracy that a unit of cost is worth to it.
        unit: What cost is counted in.
        shares: How often it ends with each action.
        pays: Whether the gain is above zero by more than chance explains, or where neither price
            nor budget was asked for, whether it saves `WORTHWHILE` at hardly any loss of accuracy.
    """

    alone: Interval
    alone_cost: float
    served: Interval
    served_cost: float
    gain: Interval
    price: float
    unit: CostUnit
    shares: Mapping[Action, float]
    pays: bool

    @classmethod
    def of(cls, climb: Climb, table: ActionTable, alone: Alone, aim: Aim) -> Climbing:
        """Measure it.

        Args:
            climb: What it would have done with n records, each without itself.
            table: What the actions were worth and cost.
            alone: What is served without it.
            aim: What its price is for. Without a price or a budget it costs no more than what is
                served without it, and as much less as loses at most half a point of accuracy, seen
                with caution; below some 250 records caution allows for none.

        Example:
            >>> table = ActionTable(("direct", "loop"), np.eye(2).repeat(200, axis=0),
            ...     np.tile([0.0, 1.0], (400, 1)))
            >>> climb = Climb([table.scores, table.scores[:, 1:]],
            ...     [np.zeros(400, dtype=int), np.ones(400, dtype=int)], np.array([0.0, 1.0]))
            >>> always = Alone(np.ones(400, dtype=int), table.scores[:, 1], table.costs[:, 1])
            >>> found = Climbing.of(climb, table, always, Aim())
            >>> found.pays, found.served.mean, found.served_cost
            (True, 1.0, 0.5)
        """
        rows, paid = np.arange(len(table)), table.after_draft().costs
        saves = aim.price is None and aim.budget is None

        def at(price: float) -> tuple[NDArray[np.int64], Floats, Floats]:
            ends = climb.ends(price)
            return ends, table.scores[rows, climb.answers(ends)], paid[rows, ends]

        price = climb.price_for(aim)
        if saves:
            no_dearer = [
                each for each in climb.prices() if at(each)[2].mean() <= alone.costs.mean()
            ]
            price = next(iter(no_dearer), LIMIT_PRICE)
            for each in no_dearer:
                if _cautious(at(each)[1] - alone.scores) < -PARITY:
                    break
                price = each
        ends, scores, costs = at(price)
        gain = scores - alone.scores - (aim.price or 0.0) * (costs - alone.costs)
        cheaper = surely_better((1 - WORTHWHILE) * alone.costs - costs)
        keeps = cheaper and _cautious(gain) >= -PARITY
        return cls(
            interval(alone.scores),
            float(alone.costs.mean()),
            interval(scores),
            float(costs.mean()),
            interval(gain),
            price,
            table.unit,
            {action: float((ends == place).mean()) for place, action in enumerate(table.actions)},
            surely_better(gain) or (saves and keeps),
        )

    @property
    def sentence(self) -> str:
        """Whether a ladder pays on these records, with its figures."""
        low, high = 100 * self.gain.low, 100 * self.gain.high
        figures = (
            f"it reaches {self.served.mean:.3f} at {self.served_cost:.2f} {_UNITS[self.unit]} a "
            f"question in place of {self.alone.mean:.3f} at {self.alone_cost:.2f}, "
            f"{100 * self.gain.mean:+.1f} points ({low:+.1f} to {high:+.1f})"
        )
        if not self.pays:
            return f"A ladder does not pay on these {self.gain.n} records: {figures}."
        return (
            f"A ladder pays on these {self.gain.n} records and is used as the router: asking for "
            f"another answer where that is worth its price, {figures}; it ends with the direct "
            f"answer for {self.shares['direct']:.0%} of them."
        )


def _cautious(change: Floats) -> float:
    """The mean change, as low as it may be: one record in n is taken to have changed unseen."""
    n = len(change)
    error = np.sqrt(max(float((change**2).mean()), 1 / n) / n)
    return float(change.mean() - CAUTION * error)


def climb_records(
    training: Training,
    shown: Measured,
    embedder: Embedder,
    alone: Alone,
    aim: Aim,
    top: tuple[Estimate, Floats] | None = None,
) -> tuple[Ladder, Climbing] | None:
    """A ladder at its price and what it adds; None where the records cannot tell, or hold no loop.

    A share of questions to retrieve for is no aim of a ladder, which retrieves for some twice.

    Args:
        training: The records.
        shown: What their answers show.
        embedder: For questions and answers.
        alone: What is served without a ladder.
        aim: What its price is for.
        top: Estimate and held-out chances of an arbiter on the same records, which are not learnt
            anew.
    """
    table = training.table
    if len(training) < FEWEST or len(table.actions) < RUNGS or aim.rate is not None:
        return None
    ladder, climb = Ladder.of_views(
        shown.rungs, table, training.groups, embedder, training.stamp, top=top
    )
    found = Climbing.of(climb, table, alone, aim)
    ladder.price = found.price
    return ladder, found
