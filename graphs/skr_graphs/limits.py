"""Which limit of the budget a state has reached, and what is left to the next call."""

from __future__ import annotations

import time

from skr_core.bounds import UNBOUNDED, Bounds
from skr_core.budget import Budget
from skr_core.types import NO_USAGE, StopReason, Usage
from skr_graphs.state import Plain, SKRState, usage_of


def call_limit(state: SKRState, budget: Budget) -> StopReason | None:
    """The limit that forbids another call of the model, or None."""
    return budget.spent(_spent(state, budget), seconds=time.time() - state["asked"]["started_at"])


def round_limit(state: SKRState, budget: Budget) -> StopReason | None:
    """The limit that forbids another round, or None; a decision may allow fewer rounds."""
    return budget.reached(
        _spent(state, budget),
        rounds=len(state["rounds"]),
        seconds=time.time() - state["asked"]["started_at"],
        max_rounds=state["decision"]["max_rounds"],
    )


def _spent(state: SKRState, budget: Budget) -> Usage:
    limited = budget.max_calls or budget.max_tokens or budget.max_spend
    return usage_of(state) if limited else NO_USAGE


def bounds_of(state: Plain, budget: Budget) -> Bounds:
    """What the calls of a step may take of the budget.

    Args:
        state: Its ``asked`` and ``usage``; empty where the run begins.
        budget: Of the run.
    """
    if budget.deadline_s is None and not (budget.max_tokens or budget.max_reply_tokens):
        return UNBOUNDED
    seconds = budget.deadline_s
    if seconds is not None and "asked" in state:
        seconds -= time.time() - state["asked"]["started_at"]
    usage = usage_of({"usage": state.get("usage") or {}})  # type: ignore[typeddict-item]
    ends_at = Bounds.within(seconds).ends_at
    return Bounds(ends_at, budget.reply_tokens(usage))
