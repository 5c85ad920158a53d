"""LocalEngine: all the work in this process, by threads or by tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from skr_core.engines.engine import Item, Kept, Made, Recipe, Result
from skr_core.flow import Flow, gather


class LocalEngine:
    """Works in this process: in threads where it is run, in tasks where it is awaited.

    Example:
        >>> from skr_core.flow import call, run
        >>> async def adouble(number): return 2 * number
        >>> def double(made, number): return (yield from call(lambda: made * number, adouble))
        >>> def keep(number, result):
        ...     return f"{number} -> {result}"
        ...     yield
        >>> run(LocalEngine().map(Recipe(2), double, [1, 2, 3], keep))
        ['1 -> 2', '2 -> 4', '3 -> 6']
    """

    def map(
        self,
        recipe: Recipe[Made],
        work: Callable[[Made, Item], Flow[Result]],
        items: Iterable[Item],
        keep: Callable[[Item, Result], Flow[Kept]],
        limit: int = 8,
    ) -> Flow[list[Kept]]:
        """See `skr_core.engines.Engine`."""

        def one(item: Item) -> Flow[Kept]:
            result = yield from work(recipe.made, item)
            return (yield from keep(item, result))

        return (yield from gather((one(item) for item in items), limit))
