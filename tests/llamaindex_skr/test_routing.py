"""SKRRetriever and SKRSelector: whether to retrieve, within LlamaIndex's own parts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.base_selector import SelectorResult
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.tools import ToolMetadata

from llamaindex_skr import SKRRetriever, SKRSelector
from skr_core import Budget, Decision
from skr_core.errors import InputError, ModelError, RetrieverError
from skr_core.prompts import QUERY_LEAD, REFUSAL
from skr_core.routers import AlwaysRetrieve, NeverRetrieve, PromptRouter, load_router
from skr_core.testing import BrokenModel, MappingRetriever, ScriptedModel
from tests.llamaindex_skr.fakes import BORN, FOLLOW_UP, JAWS, QUESTION, Last, Search, Speaker, index

Find = Callable[..., Awaitable[list[NodeWithScore]]]


@pytest.fixture(params=["sync", "async"])
def find(request: pytest.FixtureRequest) -> Find:
    async def find(retriever: SKRRetriever, query: Any = QUESTION) -> list[NodeWithScore]:
        if request.param == "sync":
            return await asyncio.to_thread(retriever.retrieve, query)
        return await retriever.aretrieve(query)

    return find


class SingleShot:
    """A router that allows one round."""

    def decide(self, question: str) -> Decision:
        return Decision(True, max_rounds=1)

    async def adecide(self, question: str) -> Decision:
        return self.decide(question)


async def test_the_wrapped_retrievers_nodes_come_back_untouched(find: Find) -> None:
    found = await find(SKRRetriever(index()))
    assert {node.node_id for node in found} <= {"node-Jaws ", "node-Steve", "node-Paris"}
    assert len(found) == 2


async def test_nothing_where_the_model_knows(find: Find) -> None:
    search = Search()
    assert await find(SKRRetriever(search, router=NeverRetrieve())) == []
    assert await find(SKRRetriever(search, router=NeverRetrieve(), llm=Speaker())) == []
    assert search.modes == []


async def test_k(find: Find) -> None:
    assert len(await find(SKRRetriever(index(), k=3))) == 3
    assert len(await find(SKRRetriever(index(), k=1))) == 1
    assert len(await find(SKRRetriever(Search({QUESTION: [JAWS, BORN]}), k=1))) == 1
    search = Search({QUESTION: [JAWS], FOLLOW_UP: [BORN]})
    assert len(await find(SKRRetriever(search, k=1, llm=Speaker()))) == 1
    with pytest.raises(InputError, match="k must be at least 1"):
        SKRRetriever(search, k=0)


async def test_a_query_bundle_arrives_whole(find: Find) -> None:
    bundles: list[QueryBundle] = []

    class Noting(Search):
        def _of(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            bundles.append(query_bundle)
            return []

    bundle = QueryBundle(QUESTION, embedding=[1.0])
    await find(SKRRetriever(Noting()), bundle)
    assert bundles == [bundle]


async def test_with_a_model_it_retrieves_until_the_references_suffice(find: Find) -> None:
    llm, search = Speaker(), Search()
    found = await find(SKRRetriever(search, llm=llm))
    assert [node.text for node in found] == [JAWS, BORN]
    assert len(llm.sent) == 3
    assert set(search.modes) == set(llm.modes)


async def test_no_call_is_spent_on_an_answer_nobody_reads(find: Find) -> None:
    llm = Speaker(lambda prompt: f"{QUERY_LEAD} new" if QUERY_LEAD in prompt else REFUSAL)
    found = await find(SKRRetriever(Search(), llm=llm, budget=Budget(max_rounds=2)))
    assert [node.text for node in found] == [JAWS]
    assert len(llm.sent) == 2  # a draft and the queries; nothing new was found, so no more


async def test_the_decisions_rounds_hold(find: Find) -> None:
    llm = Speaker()
    found = await find(SKRRetriever(Search(), llm=llm, router=SingleShot()))
    assert [node.text for node in found] == [JAWS]
    assert len(llm.sent) == 1


async def test_failures_are_raised(find: Find) -> None:
    broken = MappingRetriever({}, failing=[QUESTION])
    for llm in (None, Speaker()):
        with pytest.raises(RetrieverError, match="no connection"):
            await find(SKRRetriever(broken, llm=llm))
    with pytest.raises(ModelError):
        await find(SKRRetriever(Search(), llm=BrokenModel()))
    with pytest.raises(InputError, match="empty"):
        await find(SKRRetriever(Search()), " ")
    with pytest.raises(InputError, match="a retriever is wanted"):
        SKRRetriever(object())


# SKRSelector: what retrieves or what answers directly, never none

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


async def test_what_a_selector_cannot_use_is_refused(select: Select) -> None:
    for wrong in (-1, [], [0, -1]):
        with pytest.raises(InputError, match="retrieving must be places of choices"):
            SKRSelector(AlwaysRetrieve(), retrieving=wrong)
    with pytest.raises(InputError, match="empty"):
        await select(SKRSelector(AlwaysRetrieve()), CHOICES, "")


def test_it_has_no_prompts_of_its_own() -> None:
    selector = SKRSelector(AlwaysRetrieve())
    selector.update_prompts({})
    assert selector.get_prompts() == {}


@pytest.mark.parametrize("saved", [True, False])
def test_a_router_that_needs_a_model_says_so_when_it_is_given(saved: bool, tmp_path: Path) -> None:
    router = "prompt"
    if saved:
        PromptRouter(ScriptedModel()).save(tmp_path / "router")
        router = str(tmp_path / "router")
    said = r"asks a model: give model= or llm=, or load_router\(.*, model=...\)"
    with pytest.raises(InputError, match=said):
        SKRRetriever(Search(), router=router)
    with pytest.raises(InputError, match=said):
        SKRSelector(router)
    assert SKRRetriever(Search(), router=router, llm=ScriptedModel()).retrieve(QUESTION)
    SKRSelector(load_router(router, model=ScriptedModel()))


async def test_several_in_a_list_have_names_of_their_own(find: Find) -> None:
    found = await find(SKRRetriever([Search(), Search(), index()]))
    assert {name for each in found for name in each.metadata["found_by"]} == {
        "Search",
        "Search 2",
        "VectorIndexRetriever",
    }
    assert len(await find(SKRRetriever({"one": index(), "two": index()}, k=3))) == 3
    with pytest.raises(InputError, match="there is no retriever"):
        SKRRetriever([])
