"""SharedSpending: one `Spending` for the models of all workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skr_core.engines.workers import unwrapped
from skr_core.errors import extra
from skr_core.models.limited import Spending
from skr_core.prices import Price
from skr_core.types import Usage


class SharedSpending(Spending):
    """The same as the `Spending` that it stands for, from any process.

    It is counted in one place, an actor of Ray that `RayEngine.share` makes: a model asks it before
    each of its calls and tells it after each, which takes a millisecond. So a limit may be exceeded
    as with one process, by the calls that are under way when it is reached. What a killed worker
    had under way is counted among the calls, and not among tokens and money.

    Args:
        actor: Holds the `Spending`.
        prices: As it has them.
        call_deadline_s: As it has it. A deadline of the batch is looked at before each call, and
            not within it.
    """

    def __init__(
        self,
        actor: Any,
        prices: Mapping[str, Price] | None = None,
        call_deadline_s: float | None = None,
    ) -> None:
        super().__init__(prices=prices, call_deadline_s=call_deadline_s)
        self._actor = actor

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._actor, self.prices, self.call_deadline_s)

    def begin(self) -> float:
        """Count a call that begins; see `Spending.begin`."""
        with extra("ray"):
            import ray

        wait: float = unwrapped(ray.get(self._actor.do.remote("begin")))
        return wait

    async def abegin(self) -> float:
        """The same, awaited."""
        wait: float = unwrapped(await self._actor.do.remote("begin"))
        return wait

    def add(self, usage: Usage, price: Price | None) -> None:
        """Count what a call cost, without waiting until that is done."""
        self._actor.do.remote("add", usage, price)
