"""SKRSelector: one of two, never none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from llama_index.core.base.base_selector import SelectorResult
from llama_index.core.tools import ToolMetadata

from llamaindex_skr import SKRSelector
from skr_core.errors import InputError
from skr_core.routers import AlwaysRetrieve, NeverRetrieve

Select = Callable[..., Awaitable[SelectorResult]]
CHOICES: list[Any] = [ToolMetadata("knows by heart", "direct"), "looks it up"]


@pytest.fixture(params=["sync", "async"])
def select(request: pytest.FixtureRequest) -> Select:
    async def select(selector: SKRSelector, choices: list[Any], query: str) -> SelectorResult:
        if request.param == "sync":
            return selector.select(choices, query)
        return await selector.aselect(choices, query)

    return select


@pytest.mark.parametrize(
    ("router", "retrieving", "chosen"),
    [
        (AlwaysRetrieve(), 1, 1),
        (NeverRetrieve(), 1, 0),
        (AlwaysRetrieve(), 0, 0),
        (NeverRetrieve(), 0, 1),
    ],
)
async def test_selects(select: Select, router: Any, retrieving: int, chosen: int) -> None:
    result = await select(SKRSelector(router, retrieving=retrieving), CHOICES, "Who?")
    assert result.ind == chosen
    assert result.reason == router.decide("Who?").reason


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_two_choices_are_needed(select: Select, count: int) -> None:
    with pytest.raises(InputError, match="between two"):
        await select(SKRSelector(AlwaysRetrieve()), ["a choice"] * count, "Who?")


async def test_what_cannot_be_used_is_refused(select: Select) -> None:
    with pytest.raises(InputError, match="retrieving must be 0 or 1"):
        SKRSelector(AlwaysRetrieve(), retrieving=2)
    with pytest.raises(InputError, match="empty"):
        await select(SKRSelector(AlwaysRetrieve()), CHOICES, "")


def test_it_has_no_prompts_of_its_own() -> None:
    selector = SKRSelector(AlwaysRetrieve())
    selector.update_prompts({})
    assert selector.get_prompts() == {}
