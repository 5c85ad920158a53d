"""SKRSelector: what retrieves or what answers directly, never none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from llama_index.core.base.base_selector import (
    BaseSelector,
    SelectorResult,
    SingleSelection,
)
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import ToolMetadata

from llamaindex_skr import SKRSelector
from skr_core.errors import InputError, ModelError
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


@pytest.mark.parametrize(
    ("router", "retrieving", "chosen"),
    [
        (AlwaysRetrieve(), None, [1, 2, 3]),
        (NeverRetrieve(), None, [0]),
        (AlwaysRetrieve(), [0, 2], [0, 2]),
        (NeverRetrieve(), [0, 2], [1, 3]),
    ],
)
async def test_of_several_of_a_kind_all_are_selected(
    select: Select, router: Any, retrieving: Any, chosen: list[int]
) -> None:
    result = await select(SKRSelector(router, retrieving=retrieving), ["a choice"] * 4, "Who?")
    assert result.inds == chosen
    assert set(result.reasons) == {router.decide("Who?").reason}


class Last(BaseSelector):
    """Chooses the last, or another that is not there."""

    def __init__(self, beyond: int = 0) -> None:
        self.beyond = beyond
        self.seen: list[str] = []

    def _select(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        self.seen = [choice.description for choice in choices]
        selection = SingleSelection(index=len(choices) - 1 + self.beyond, reason="it is the last")
        return SelectorResult(selections=[selection])

    async def _aselect(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return self._select(choices, query)

    def _get_prompts(self) -> dict[str, Any]:
        return {"choose": PromptTemplate("Which?")}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        pass


async def test_a_selector_chooses_among_several_sources(select: Select) -> None:
    choices = ["from memory", "from the wiki", "from the web"]
    selector = SKRSelector(AlwaysRetrieve(), selector=(last := Last()))
    result = await select(selector, choices, "Who?")
    assert (result.ind, last.seen) == (2, choices[1:])
    assert result.reason == "every question is retrieved for; it is the last"
    assert list(selector.get_prompts()) == ["selector:choose"]
    known = SKRSelector(NeverRetrieve(), selector=(unasked := Last()))
    assert (await select(known, choices, "Who?")).ind == 0
    assert unasked.seen == [], "one that answers directly needs no choice"
    with pytest.raises(ModelError, match="chose \\[2\\] of 2 choices"):
        await select(SKRSelector(AlwaysRetrieve(), selector=Last(1)), choices, "Who?")


@pytest.mark.parametrize(("count", "retrieving"), [(0, None), (1, None), (2, 2), (2, [0, 1])])
async def test_both_kinds_of_choices_are_needed(
    select: Select, count: int, retrieving: Any
) -> None:
    selector = SKRSelector(AlwaysRetrieve(), retrieving=retrieving)
    with pytest.raises(InputError, match="what answers directly and what retrieves"):
        await select(selector, ["a choice"] * count, "Who?")


async def test_what_cannot_be_used_is_refused(select: Select) -> None:
    for wrong in (-1, [], [0, -1]):
        with pytest.raises(InputError, match="retrieving must be places of choices"):
            SKRSelector(AlwaysRetrieve(), retrieving=wrong)
    with pytest.raises(InputError, match="empty"):
        await select(SKRSelector(AlwaysRetrieve()), CHOICES, "")


def test_it_has_no_prompts_of_its_own() -> None:
    selector = SKRSelector(AlwaysRetrieve())
    selector.update_prompts({})
    assert selector.get_prompts() == {}
