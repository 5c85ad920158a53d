"""The limits of one question, and which of them is reached.

The loop ends because its state says so. A framework's recursion limit protects nobody: it is in
the thousands by default, and servers override it.
"""

from __future__ import annotations

from dataclasses import dataclass

from skr_core.errors import InputError
from skr_core.types import StopReason, Usage

MAX_REFERENCES = 10
"""RaLLM caps the references handed to the model at ten (§6.4)."""

CALLS_A_ROUND = 2
"""Asking for queries and answering again; with fewer calls left, a round cannot bear fruit."""

MAX_HISTORY_TOKENS = 2_000
"""Some five exchanges; what a question points back at is hardly further away."""

_LIMITS = (
    *("max_rounds", "max_references", "max_calls", "max_tokens", "max_reference_tokens"),
    "max_history_tokens",
)


@dataclass(frozen=True, slots=True)
class Budget:
    """What one question may cost.

    Attributes:
        max_rounds: Rounds of retrieval, the first included; 1 is single shot.
        max_references: References handed to the model at a time.
        max_calls: Calls of the language model, routing and reflection included. It is checked
            between steps: a router or reflector that makes several calls in its step may exceed
            it by those. None: no limit.
        max_tokens: Tokens sent and received. No call starts once they are spent; the call that
            crosses the line is finished. None: no limit.
        max_reference_tokens: Tokens of the references that are handed to the model at a time, with
            their titles and fences. They are packed by rank: the first that does not fit is cut at
            a sentence, and those below it are left out; see
            `skr_core.references.packing.pack_references`. None: what the model's context window is
            known to hold, or no limit where it is not known.
        max_history_tokens: Tokens of the conversation's turns that the model is shown: the latest
            that fit. They count towards `max_tokens` as all that is sent does.
        deadline_s: Seconds of wall clock since the question was asked; no call starts after them.
            Time in which a run stands still, as between a crash and its resumption, counts. A
            person's review does not: the clock starts anew after it. None: no limit.

    Raises:
        InputError: A limit is no whole number from 1, or a deadline not above 0 seconds.

    Example:
        >>> Budget(max_calls=2).reached(Usage(calls=1), rounds=1, seconds=0.5)
        'max_calls'
    """

    max_rounds: int = 3
    max_references: int = MAX_REFERENCES
    max_calls: int | None = None
    max_tokens: int | None = None
    deadline_s: float | None = None
    max_reference_tokens: int | None = None
    max_history_tokens: int = MAX_HISTORY_TOKENS

    def __post_init__(self) -> None:
        for name in _LIMITS:
            limit = getattr(self, name)
            if limit is None:
                continue
            if not isinstance(limit, int) or isinstance(limit, bool):
                raise InputError(f"{name} must be a whole number, not {limit!r}")
            if limit < 1:
                raise InputError(f"{name} must be at least 1, not {limit}")
        seconds = self.deadline_s
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        # Nothing is above "not a number".
        if seconds is not None and not (is_number and seconds > 0):
            raise InputError(f"deadline_s must be above 0 seconds, not {seconds!r}")

    def spent(self, usage: Usage, *, seconds: float) -> StopReason | None:
        """Which limit forbids another model call, or None."""
        if self.max_calls is not None and usage.calls >= self.max_calls:
            return "max_calls"
        if self.max_tokens is not None and usage.total_tokens >= self.max_tokens:
            return "max_tokens"
        if self.deadline_s is not None and seconds >= self.deadline_s:
            return "deadline"
        return None

    def reached(
        self, usage: Usage, *, rounds: int, seconds: float, max_rounds: int | None = None
    ) -> StopReason | None:
        """Which limit forbids another round, or None.

        Args:
            usage: Spent so far.
            rounds: Rounds made so far.
            seconds: Since the start.
            max_rounds: A tighter limit of rounds, as a decision may carry.
        """
        allowed = self.max_rounds if max_rounds is None else min(max_rounds, self.max_rounds)
        if rounds >= allowed:
            return "max_rounds"
        if self.max_calls is not None and usage.calls + CALLS_A_ROUND > self.max_calls:
            return "max_calls"
        return self.spent(usage, seconds=seconds)
