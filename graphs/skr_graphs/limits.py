"""Which limit of the budget a state has reached."""

from __future__ import annotations

import time

from skr_core.budget import Budget
from skr_core.types import StopReason
from skr_graphs.state import SKRState, usage_of


def call_limit(state: SKRState, budget: Budget) -> StopReason | None:
    """The limit that forbids another call of the model, or None."""
    return budget.spent(usage_of(state), seconds=time.time() - state["started_at"])


def round_limit(state: SKRState, budget: Budget) -> StopReason | None:
    """The limit that forbids another round, or None; a decision may allow fewer rounds."""
    return budget.reached(
        usage_of(state),
        rounds=len(state["rounds"]),
        seconds=time.time() - state["started_at"],
        max_rounds=state["decision"]["max_rounds"],
    )
