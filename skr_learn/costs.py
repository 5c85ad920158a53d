"""ActionTable: what each action was worth on record and what it cost, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from skr_core.budget import Price, cost
from skr_core.errors import InputError
from skr_core.types import ACTIONS, Action, Usage
from skr_learn.records import Outcome, Record

Floats = NDArray[np.float64]

CostUnit = Literal["retrievals", "calls", "tokens", "usd"]
"""What cost is counted in; tokens are counted in thousands."""

CostOf = Callable[[Outcome], float]
"""One's own cost of an outcome: a paid search counts as one says."""

ASSUMED_STEPS = 3.35
"""Retrievals of a loop that nobody counted: the mean that Adaptive-RAG's authors report for
multi-step retrieval on six question sets."""

_RETRIEVALS: dict[Action, float] = {"direct": 0.0, "single": 1.0}


@dataclass(frozen=True)
class ActionTable:
    """Score and cost of each action on each record.

    Attributes:
        actions: The actions, from the cheapest to the dearest; the first is ``direct``.
        scores: The scores of their answers, shape (n, a).
        costs: What each cost by itself, in `unit`, shape (n, a).
        calls: The calls of the model that each took, shape (n, a).
        unit: What cost is counted in, ``cost`` for one's own.
        assumed_steps: The retrievals that were assumed for loops that nobody counted; None where
            all are known or do not matter.
    """

    actions: tuple[Action, ...]
    scores: Floats
    costs: Floats
    calls: Floats
    unit: str = "retrievals"
    assumed_steps: float | None = None

    @classmethod
    def of(
        cls,
        records: Sequence[Record],
        *,
        actions: Sequence[Action] | None = None,
        unit: CostUnit | CostOf | None = None,
        price: Price | None = None,
        assumed_steps: float = ASSUMED_STEPS,
    ) -> ActionTable:
        """Read the outcomes of records.

        Args:
            records: The records.
            actions: The actions to read; by default those that every record holds.
            unit: What cost is counted in, or one's own cost of an outcome; by default tokens where
                every outcome has its usage, else retrievals.
            price: The price of the model's tokens, for the unit ``usd``.
            assumed_steps: The retrievals of a loop that nobody counted.

        Raises:
            InputError: A record lacks an action, or its usage, or the unit lacks its price.

        Example:
            >>> record = Record.of("Who?", direct=("Bob", 0), loop=("Ada", 1))
            >>> table = ActionTable.of([record])
            >>> table.actions, table.costs.tolist(), table.assumed_steps
            (('direct', 'loop'), [[0.0, 3.35]], 3.35)
        """
        chosen = actions_of(records, actions)
        outcomes = [[record.outcomes[action] for action in chosen] for record in records]
        unit = unit or (
            "tokens" if all(each.usage for row in outcomes for each in row) else "retrievals"
        )
        if not callable(unit) and unit not in get_args(CostUnit):
            raise InputError(f"no cost {unit!r}: give one of {', '.join(get_args(CostUnit))}")
        if unit == "usd" and price is None:
            raise InputError("costs in usd need the prices of the model's tokens")

        def read(unit: CostUnit | CostOf) -> Floats:
            rows = [
                [_cost(each, action, unit, price, assumed_steps)
                 for action, each in zip(chosen, row, strict=True)]
                for row in outcomes
            ]  # fmt: skip
            return np.array(rows, dtype=np.float64).reshape(len(outcomes), len(chosen))

        uncounted = "loop" in chosen and any(
            record.outcomes["loop"].retrievals is None for record in records
        )
        return cls(
            chosen,
            np.array([[outcome.score for outcome in row] for row in outcomes], dtype=np.float64),
            read(unit),
            read("calls"),
            "cost" if callable(unit) else unit,
            assumed_steps if uncounted and unit == "retrievals" else None,
        )

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, rows: NDArray[Any]) -> ActionTable:
        return replace(
            self, scores=self.scores[rows], costs=self.costs[rows], calls=self.calls[rows]
        )

    @property
    def best(self) -> int:
        """The index of the action of highest mean score; of equal ones the cheapest."""
        return int(np.lexsort((self.costs.mean(axis=0), -self.scores.mean(axis=0)))[0])

    @property
    def retrieving(self) -> int:
        """The index of the retrieving action of highest mean score; of equal ones the cheapest."""
        return 1 + int(np.argmax(self.scores[:, 1:].mean(axis=0)))

    def after_draft(self) -> ActionTable:
        """The same where the direct answer is asked for first, whatever is done after it."""
        later = np.arange(len(self.actions)) > 0
        return replace(
            self,
            costs=self.costs + self.costs[:, :1] * later,
            calls=self.calls + self.calls[:, :1] * later,
        )

    def after_search(self) -> ActionTable:
        """The same where a search is made beside the draft: free but where retrievals are counted.

        Own costs of outcomes do not tell what a search alone costs, and are taken as they are.
        """
        drafted = self.after_draft()
        if self.unit != "retrievals":
            return drafted
        return replace(drafted, costs=np.maximum(drafted.costs, 1.0))


def actions_of(
    records: Sequence[Record], wanted: Sequence[Action] | None = None
) -> tuple[Action, ...]:
    """Return the actions that every record holds, or those wanted, the cheapest first.

    Raises:
        InputError: A wanted action is unknown or not on every record, or there are not two.

    Example:
        >>> actions_of([Record.of("Who?", direct=("Bob", 0), loop=("Ada", 1))])
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


def cost_of_usage(usage: Usage, unit: str, price: Price | None = None) -> float:
    """Return what calls of a model cost in a unit; they retrieve nothing.

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
    outcome: Outcome,
    action: Action,
    unit: CostUnit | CostOf,
    price: Price | None,
    assumed_steps: float,
) -> float:
    if callable(unit):
        value = float(unit(outcome))
        if not np.isfinite(value) or value < 0:
            raise InputError(f"the cost of an outcome must be a number from 0, not {value}")
        return value
    retrievals = outcome.retrievals
    if retrievals is None:
        retrievals = _RETRIEVALS.get(action, assumed_steps)
    if unit == "retrievals":
        return retrievals
    if outcome.usage is not None:
        return cost_of_usage(outcome.usage, unit, price)
    if unit == "calls":
        return max(1.0, retrievals)  # one answer a round
    raise InputError(f"costs in {unit} need the usage of every answer; these records lack it")
