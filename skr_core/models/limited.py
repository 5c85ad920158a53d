"""Spending: the limits of what many questions may cost together.

Example:
    >>> from skr_core.testing import ScriptedModel
    >>> spending = Spending(max_calls=2)
    >>> model = spending.limit(ScriptedModel(["Paris."]))
    >>> prompt = Prompt("answer_directly", "Capital of France?", "Capital of France?")
    >>> model.generate(prompt).text, model.generate(prompt).text
    ('Paris.', 'Paris.')
    >>> model.generate(prompt)
    Traceback (most recent call last):
    ...
    skr_core.errors.BudgetError: 2 of 2 calls are made; run it again with more to go on
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from typing import Any

from skr_core.bounds import Bounds, bounded
from skr_core.budget import Price, believed, cost, estimate_usage, price_of
from skr_core.errors import BudgetError, InputError
from skr_core.flow import Flow, arun, call, run
from skr_core.forks import OfProcess, renew_in_children
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.models.windows import Window, window_of
from skr_core.ports import LanguageModel, OnToken, temperature_of, version_of
from skr_core.types import NO_USAGE, Generation, Prompt, Usage


class Spending(OfProcess):
    """Counts what models cost together, and stops before a call that is beyond the limits.

    `Budget` limits one question, this a batch of them: every model that is `limit`-ed adds to it.
    What is under way when a limit is reached is finished, but for the deadline.

    Args:
        max_calls: The most calls, failed ones included.
        max_tokens: The most tokens sent and received.
        max_spend: The most US dollars, by `prices`.
        prices: The price of each model, see `skr_core.budget.read_prices`.
        deadline_s: The seconds from now until no call is made any more.
        call_deadline_s: The seconds that a call may take.
        requests_per_second: The highest rate at which calls are begun, evenly. A client's own
            retries are not counted.

    Attributes:
        usage: The usage so far; of a call that failed, the tokens sent.
        dollars: The cost so far, where prices were given.

    Raises:
        InputError: Money is limited without prices, or to an amount that is not above 0, or the
            rate is not.
    """

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        max_spend: float | None = None,
        prices: Mapping[str, Price] | None = None,
        deadline_s: float | None = None,
        call_deadline_s: float | None = None,
        requests_per_second: float | None = None,
    ) -> None:
        if max_spend is not None and not prices:
            raise InputError("money is limited without prices: give those of your models")
        if max_spend is not None and not max_spend > 0:
            raise InputError(f"max_spend must be above 0 US dollars, not {max_spend}")
        if requests_per_second is not None and not requests_per_second > 0:
            raise InputError(f"requests_per_second must be above 0, not {requests_per_second}")
        self.max_calls, self.max_tokens, self.max_spend = max_calls, max_tokens, max_spend
        self.prices = prices
        self.bounds, self.call_deadline_s = Bounds.within(deadline_s), call_deadline_s
        self.requests_per_second = requests_per_second
        self.usage = NO_USAGE
        self.dollars = 0.0
        self._calls = 0
        self._next = 0.0
        self.forget()

    def forget(self) -> None:
        """Take a lock that nobody holds; also in a forked child, which counts for itself."""
        self._lock = threading.Lock()
        renew_in_children(self)

    def __getstate__(self) -> dict[str, Any]:
        # The clock of `time.monotonic` is another on another machine.
        left = self.bounds.ends_at - time.monotonic()
        kept = {name: it for name, it in vars(self).items() if name not in ("_lock", "bounds")}
        return {**kept, "_next": 0.0, "left": left}

    def __setstate__(self, state: dict[str, Any]) -> None:
        left = state.pop("left")
        vars(self).update(state, bounds=Bounds.within(left))
        self.forget()

    def limit(self, model: AnyModel) -> LanguageModel:
        """Return the same model, within these limits.

        Args:
            model: A `LanguageModel`, a LangChain model or a LlamaIndex LLM.

        Raises:
            InputError: The prices do not have it.
        """
        chosen = as_language_model(model)
        return LimitedModel(chosen, self, self._price_of(chosen.name))

    def within(
        self, asking: Flow[Generation], prompt: Prompt, price: Price | None
    ) -> Flow[Generation]:
        """Make a call within the limits, and count what it cost.

        Args:
            asking: The call.
            prompt: The prompt, whose tokens count where it fails.
            price: The price of the model's tokens.

        Raises:
            BudgetError: A limit is reached.
        """
        wait = yield from call(self.begin, self.abegin)
        if wait:
            yield from bounded(call(time.sleep, _asleep, wait), self.bounds)
        spent = estimate_usage(prompt, "")
        try:
            in_time = bounded(asking, Bounds.within(self.call_deadline_s))
            made = yield from bounded(in_time, self.bounds)
            # A model is anybody's code.
            spent = believed(getattr(made, "usage", spent), prompt, str(getattr(made, "text", "")))
        finally:
            self.add(spent, price)
        return made

    def begin(self) -> float:
        """Count a call that begins.

        Returns:
            Seconds that it has to wait for its turn.

        Raises:
            BudgetError: A limit is reached.
        """
        with self._lock:
            if reached := self._reached():
                raise BudgetError(f"{reached}; run it again with more to go on")
            self._calls += 1
            if self.requests_per_second is None:
                return 0.0
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + 1 / self.requests_per_second
            return turn - now

    async def abegin(self) -> float:
        """Async version of `begin`; it waits for nothing."""
        return self.begin()

    def add(self, usage: Usage, price: Price | None) -> None:
        """Count what a call cost."""
        with self._lock:
            self.usage += usage
            self.dollars += 0.0 if price is None else cost(usage, price)

    def _price_of(self, name: str) -> Price | None:
        return price_of(self.prices, name) if self.prices else None

    def _reached(self) -> str:
        if self.max_calls is not None and self._calls >= self.max_calls:
            return f"{self._calls:,} of {self.max_calls:,} calls are made"
        tokens = self.usage.total_tokens
        if self.max_tokens is not None and tokens >= self.max_tokens:
            return f"{tokens:,} of {self.max_tokens:,} tokens are spent"
        if self.max_spend is not None and self.dollars >= self.max_spend:
            return f"{self.dollars:.4f} of {self.max_spend:.4f} US dollars are spent"
        return "the time is over" if time.monotonic() >= self.bounds.ends_at else ""


class LimitedModel:
    """A model within the limits of a `Spending`, whose `Spending.limit` makes it.

    Attributes:
        name: The model's.
    """

    def __init__(self, model: LanguageModel, spending: Spending, price: Price | None) -> None:
        self.model, self.spending, self.price = model, spending, price

    @property
    def name(self) -> str:
        """The model's name: what was recorded with it holds for it without limits too."""
        return self.model.name

    @property
    def version(self) -> str:
        """The model's settings, as far as it says them."""
        return version_of(self.model)

    @property
    def temperature(self) -> float | None:
        """The temperature of the model's replies, as far as it says it."""
        return temperature_of(self.model)

    @property
    def takes_schemas(self) -> bool:
        """Whether the model is sent the schema of an object by its provider's own means."""
        return bool(getattr(self.model, "takes_schemas", False))

    @property
    def window(self) -> Window | None:
        """The tokens that the model declares to take."""
        return window_of(self.model)

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """Ask the model; raises `BudgetError` where a limit is reached."""
        return run(self._generation(prompt, on_token))

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """Async version of `generate`."""
        return await arun(self._generation(prompt, on_token))

    def _generation(self, prompt: Prompt, on_token: OnToken | None) -> Flow[Generation]:
        asking = call(self.model.generate, self.model.agenerate, prompt, on_token=on_token)
        return (yield from self.spending.within(asking, prompt, self.price))


async def _asleep(seconds: float) -> None:
    await asyncio.sleep(seconds)
