"""Which limit of the budget a state has reached."""

from __future__ import annotations

import time

from skr_core.plain import from_plain
from skr_core.types import Decision, StopReason, Usage
from skr_graphs.context import Resources
from skr_graphs.state import SKRState


def usage_of(state: SKRState) -> Usage:
    """What the question has cost so far."""
    return sum((from_plain(Usage, each) for each in state["usage"].values()), Usage())


def call_limit(state: SKRState, resources: Resources) -> StopReason | None:
    """The limit that forbids another call of the model, or None."""
    return resources.budget.spent(usage_of(state), seconds=time.time() - state["started_at"])


def round_limit(state: SKRState, resources: Resources) -> StopReason | None:
    """The limit that forbids another round, or None; a decision may allow fewer rounds."""
    return resources.budget.reached(
        usage_of(state),
        rounds=len(state["rounds"]),
        seconds=time.time() - state["started_at"],
        max_rounds=from_plain(Decision, state["decision"]).max_rounds,
    )
