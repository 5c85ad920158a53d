"""The port `Engine`: where the questions of a batch are asked, and documents are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

from skr_core.flow import Flow

Made = TypeVar("Made")
Item = TypeVar("Item")
Result = TypeVar("Result")
Kept = TypeVar("Kept")


@dataclass(frozen=True)
class Recipe(Generic[Made]):
    """What work is done with: as it is here, and how another process makes the same.

    Attributes:
        made: Such as a system with its model and its retriever.
        make: Makes it again. It is sent to workers by pickling, so it holds descriptions, never
            clients. None: it cannot leave this process.
    """

    made: Made
    make: Callable[[], Made] | None = None


@runtime_checkable
class Engine(Protocol):
    """Does a piece of work for each of many items, side by side, in any order.

    `skr_core.engines.LocalEngine` works in this process, `skr_core.engines.RayEngine` on many
    machines.
    """

    def map(
        self,
        recipe: Recipe[Made],
        work: Callable[[Made, Item], Flow[Result]],
        items: Iterable[Item],
        keep: Callable[[Item, Result], Flow[Kept]],
        limit: int = 8,
    ) -> Flow[list[Kept]]:
        """Work on items, and keep each result as it comes.

        Args:
            recipe: What `work` is given.
            work: Done where the engine does it; pickled for other processes.
            items: Taken as there is a place for them, so that they need not fit in memory.
            keep: Done in this process alone, as soon as the result is there.
            limit: Items under way at a time, in all places together.

        Returns:
            What `keep` made of the results, in the order of the items.

        Raises:
            SKRError: The first error of the work. What was kept before stays kept.
            InputError: The engine has workers, and the recipe does not say how they make it.
        """
        ...
