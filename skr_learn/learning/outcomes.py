"""ActionTable: what each action was worth and what it cost, on record, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from skr_core.budget import Price, cost
from skr_core.errors import InputError
from skr_core.types import ACTIONS, Action, Usage
from skr_learn.learning.rows import Floats
from skr_learn.self_knowledge.records import Outcome, SelfKnowledge

CostUnit = Literal["retrievals", "calls", "tokens", "usd"]
"""What cost is counted in; tokens are counted in thousands."""

ASSUMED_STEPS = 3.35
"""Retrievals of a loop that nobody counted: the mean that Adaptive-RAG's authors report for
multi-step retrieval on six question sets."""

_FIXED_RETRIEVALS: dict[Action, float] = {"direct": 0.0, "single": 1.0}


@dataclass(frozen=True)
class ActionTable:
    """Score and cost of each action on each record.

    Attributes:
        actions: From the cheapest to the dearest; the first is ``direct``.
        scores: Of the answers, shape (n, a).
        costs: In `unit`, shape (n, a).
        unit: What cost is counted in.
        assumed_steps: Retrievals that were assumed for loops that nobody counted; None where all
            are known or do not matter.
    """

    actions: tuple[Action, ...]
    scores: Floats
    costs: Floats
    unit: CostUnit = "retrievals"
    assumed_steps: float | None = None

    @classmethod
    def of(
        cls,
        records: Sequence[SelfKnowledge],
        *,
        actions: Sequence[Action] | None = None,
        unit: CostUnit | None = None,
        price: Price | None = None,
        assumed_steps: float = ASSUMED_STEPS,
    ) -> ActionTable:
        """Read the outcomes of records.

        Args:
            records: Of self-knowledge.
            actions: Which to read; by default those that every record holds.
            unit: What cost is counted in; by default tokens where every outcome has its usage,
                else retrievals.
            price: Of the model's tokens, for the unit ``usd``.
            assumed_steps: Retrievals of a loop that nobody counted.

        Raises:
            InputError: A record lacks an action, or its usage, or the unit lacks its price.

        Example:
            >>> record = SelfKnowledge.of("Who?", direct=("Bob", 0), loop=("Ada", 1))
            >>> table = ActionTable.of([record])
            >>> table.actions, table.costs.tolist(), table.assumed_steps
            (('direct', 'loop'), [[0.0, 3.35]], 3.35)
        """
        chosen = actions_of(records, actions)
        outcomes = [[record.outcomes[action] for action in chosen] for record in records]
        unit = unit or (
            "tokens" if all(each.usage for row in outcomes for each in row) else "retrievals"
        )
        if unit not in get_args(CostUnit):
            raise InputError(f"no cost {unit!r}: give one of {', '.join(get_args(CostUnit))}")
        if unit == "usd" and price is None:
            raise InputError("costs in usd need the prices of the model's tokens")
        costs = [
            [
                _cost(outcome, action, unit, price, assumed_steps)
                for action, outcome in zip(chosen, row, strict=True)
            ]
            for row in outcomes
        ]
        assumed = unit in ("retrievals", "calls") and any(
            record.outcomes["loop"].retrievals is None
            and (unit == "retrievals" or record.outcomes["loop"].usage is None)
            for record in (records if "loop" in chosen else ())
        )
        return cls(
            chosen,
            np.array([[outcome.score for outcome in row] for row in outcomes], dtype=np.float64),
            np.array(costs, dtype=np.float64),
            unit,
            assumed_steps if assumed else None,
        )

    @classmethod
    def measured(
        cls, records: Sequence[SelfKnowledge], actions: Sequence[Action], unit: CostUnit
    ) -> ActionTable:
        """The same for records that may lack actions or costs, which are NaN.

        Example:
            >>> record = SelfKnowledge.of("Who?", direct=("Bob", 0), single=("Ada", 1))
            >>> ActionTable.measured([record], ("direct", "loop"), "tokens").scores.tolist()
            [[0.0, nan]]
        """
        shape = (len(records), len(actions))
        scores, costs = np.full(shape, np.nan), np.full(shape, np.nan)
        for row, record in enumerate(records):
            for column, action in enumerate(actions):
                outcome = record.outcomes.get(action)
                if outcome is None and column and record.extra.get("imputed") in ACTIONS[1:]:
                    outcome = record.retrieved  # feedback on a direct answer: of any retrieving
                if outcome is None:
                    continue
                scores[row, column] = outcome.score
                if outcome.usage is not None and unit in ("calls", "tokens"):
                    costs[row, column] = cost_of_usage(outcome.usage, unit)
                elif outcome.retrievals is not None and unit == "retrievals":
                    costs[row, column] = outcome.retrievals
        return cls(tuple(actions), scores, costs, unit)

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, chosen: Any) -> ActionTable:
        return replace(self, scores=self.scores[chosen], costs=self.costs[chosen])

    @property
    def retrieving(self) -> int:
        """Index of the retrieving action of highest mean score; of equal ones the cheapest."""
        return 1 + int(np.argmax(self.scores[:, 1:].mean(axis=0)))

    @property
    def pair(self) -> ActionTable:
        """The direct answer and the best retrieving action alone: a choice of two."""
        return self.of_actions((self.actions[0], self.actions[self.retrieving]))

    def of_actions(self, actions: Sequence[Action]) -> ActionTable:
        """Some of the actions alone.

        Example:
            >>> table = ActionTable(("direct", "single", "loop"), np.ones((1, 3)), np.ones((1, 3)))
            >>> table.of_actions(("direct", "loop")).scores.shape
            (1, 2)
        """
        columns = [self.actions.index(action) for action in actions]
        return ActionTable(
            tuple(actions),
            self.scores[:, columns],
            self.costs[:, columns],
            self.unit,
            self.assumed_steps,
        )

    def after_draft(self) -> ActionTable:
        """The same where the direct answer is asked for first, and served without another call."""
        before = self.costs[:, :1] * (np.arange(len(self.actions)) > 0)
        return replace(self, costs=self.costs + before)


def actions_of(
    records: Sequence[SelfKnowledge], wanted: Sequence[Action] | None = None
) -> tuple[Action, ...]:
    """The actions that every record holds, or those wanted, from the cheapest to the dearest.

    Raises:
        InputError: A wanted action is unknown or not on every record, or there are not two.

    Example:
        >>> actions_of([SelfKnowledge.of("Who?", direct=("Bob", 0), loop=("Ada", 1))])
        ('direct', 'loop')
    """
    for action in wanted or ():
        if action not in ACTIONS:
            raise InputError(f"no action {action!r}: give some of {', '.join(ACTIONS)}")
    held = tuple(
        action for action in ACTIONS if all(action in record.outcomes for record in records)
    )
    chosen = tuple(action for action in ACTIONS if action in (wanted or held))
    missing = [action for action in chosen if action not in held]
    if missing:
        raise InputError(f"not every record holds an answer of the action {missing[0]!r}")
    if len(chosen) < 2 or chosen[0] != "direct":
        raise InputError(
            f"a router chooses between direct and single or loop; these are {', '.join(chosen)}"
        )
    return chosen


def cost_of_usage(usage: Usage, unit: CostUnit, price: Price | None = None) -> float:
    """What calls of a model cost in a unit; they retrieve nothing.

    Example:
        >>> cost_of_usage(Usage(prompt_tokens=900, completion_tokens=100, calls=1), "tokens")
        1.0
    """
    if unit == "tokens":
        return usage.total_tokens / 1000
    if unit == "usd":
        return cost(usage, price or Price(0.0, 0.0))
    return float(usage.calls) if unit == "calls" else 0.0


def _cost(
    outcome: Outcome, action: Action, unit: CostUnit, price: Price | None, assumed_steps: float
) -> float:
    retrievals = outcome.retrievals
    if retrievals is None:
        retrievals = _FIXED_RETRIEVALS.get(action, assumed_steps)
    if unit == "retrievals":
        return retrievals
    if outcome.usage is not None:
        return cost_of_usage(outcome.usage, unit, price)
    if unit == "calls":
        return max(1.0, retrievals)  # one answer a round
    raise InputError(f"costs in {unit} need the usage of every answer; these records lack it")
