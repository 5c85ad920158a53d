"""The limits of one question, and which of them is reached.

The loop ends because its state says so. A framework's recursion limit protects nobody: it is in
the thousands by default, and servers override it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from skr_core.errors import InputError
from skr_core.prices import Price, cost
from skr_core.types import StopReason, Usage

MAX_REFERENCES = 10
"""RaLLM caps the references handed to the model at ten (§6.4)."""

CALLS_A_ROUND = 2
"""Asking for queries and answering again; with fewer calls left, a round cannot bear fruit."""

MAX_HISTORY_TOKENS = 2_000
"""Some five exchanges; what a question points back at is hardly further away."""

_LIMITS = (
    *("max_rounds", "max_references", "max_calls", "max_tokens", "max_reference_tokens"),
    *("max_history_tokens", "max_reply_tokens"),
)

SHORT_REPLY = 4_096
"""Tokens of a reply that every model may be asked for; larger figures some refuse."""


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
            a sentence, and those below it are left out, where several rounds have found some, of
            each; see `skr_core.references.passages.pack_references`. None: what the model's context
            window is known to hold, or no limit where it is not known.
        max_history_tokens: Tokens of the conversation's turns that the model is shown: the latest
            that fit. They count towards `max_tokens` as all that is sent does.
        deadline_s: Seconds of wall clock since the question was asked. No call starts after them,
            and one that is under way is given up: the best draft so far is served, or where there
            is none `DeadlineError` is raised. Time in which a run stands still, as between a crash
            and its resumption, counts. A person's review does not: the clock starts anew after it.
            None: no limit.
        max_reply_tokens: Tokens of one reply, sent with each request as ``max_tokens`` where the
            framework's model has that setting. None: what is left of `max_tokens` once that is less
            than 4,096, else the model's own.
        max_spend: US dollars, by `price`. As with `max_tokens` the call that crosses the line is
            finished. None: no limit.
        price: Of the model's tokens, see `skr_core.prices.cost.read_prices`.

    Raises:
        InputError: A limit is no whole number from 1, a deadline or an amount of money not above 0,
            or money is limited without a price.

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
    max_reply_tokens: int | None = None
    max_spend: float | None = None
    price: Price | None = None

    def __post_init__(self) -> None:
        for name in _LIMITS:
            limit = getattr(self, name)
            if limit is None:
                continue
            if not isinstance(limit, int) or isinstance(limit, bool):
                raise InputError(f"{name} must be a whole number, not {limit!r}")
            if limit < 1:
                raise InputError(f"{name} must be at least 1, not {limit}")
        for name, unit in (("deadline_s", "seconds"), ("max_spend", "US dollars")):
            amount = getattr(self, name)
            is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
            # Nothing is above "not a number".
            if amount is not None and not (is_number and amount > 0):
                raise InputError(f"{name} must be above 0 {unit}, not {amount!r}")
        price: object = self.price
        if price is not None and not isinstance(price, Price):
            given = type(price).__name__
            raise InputError(f"price must be Price(prompt=..., completion=...), not {given}")
        if self.max_spend is not None and self.price is None:
            raise InputError(
                "max_spend needs the price of the model's tokens: give price=Price(...)"
            )

    def spent(self, usage: Usage, *, seconds: float) -> StopReason | None:
        """Which limit forbids another model call, or None."""
        if self.max_calls is not None and usage.calls >= self.max_calls:
            return "max_calls"
        if self.max_tokens is not None and usage.total_tokens >= self.max_tokens:
            return "max_tokens"
        if self.max_spend is not None and self._cost(usage) >= self.max_spend:
            return "max_spend"
        if self.deadline_s is not None and seconds >= self.deadline_s:
            return "deadline"
        return None

    def _cost(self, usage: Usage) -> float:
        return 0.0 if self.price is None else cost(usage, self.price)

    def reply_tokens(self, usage: Usage) -> int | None:
        """How long the next reply may be; None leaves it to the model.

        Example:
            >>> Budget(max_tokens=1_000).reply_tokens(Usage(700, 100))
            200
        """
        left = math.inf if self.max_tokens is None else self.max_tokens - usage.total_tokens
        given = self.max_reply_tokens or math.inf
        short = left if left <= SHORT_REPLY else math.inf
        least = min(given, short)
        return None if least == math.inf else max(1, int(least))

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
