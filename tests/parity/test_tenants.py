"""Two tenants share one app and one reference store: no passage crosses, through any drop-in.

Both ask the same questions in the same words, interleaved and many at once, and each has documents
of its own. First the app's retriever finds them and they are remembered; then it finds nothing, and
what a tenant is answered from is what was remembered in his scope.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, RunnablePassthrough
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import RouterRetriever
from llama_index.core.tools import RetrieverTool

import langchain_skr
import llamaindex_skr
from skr_core import ReferenceStore
from skr_core.routers import AlwaysRetrieve, PromptRouter
from skr_core.testing import ScriptedModel
from skr_graphs import create_route_node
from skr_store import Store
from tests.langchain_skr.fakes import Agent
from tests.parity.tenants import (
    DOORS,
    TENANT,
    TENANTS,
    App,
    Door,
    LoopingRetrieverDoor,
    MiddlewareDoor,
    RetrieverDoor,
    RunnableDoor,
    SearchOfTenant,
    config_of,
    question,
)
from tests.skr_graphs.doubles import ListStore

MANY = int(os.environ.get("SKR_TENANT_QUESTIONS", "1000"))
"""The questions of each tenant in the long test."""

AT_ONCE = 8

Asked = Callable[[str, str], Awaitable[object]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReferenceStore]:
    with Store.open(tmp_path / "store") as store:
        yield store


async def ask_all(app: App, ask: Asked, numbers: Sequence[int]) -> None:
    """Let both tenants ask all questions, in random order, several at a time."""
    slots, chance = asyncio.Semaphore(AT_ONCE), random.Random(len(numbers))
    asked = [(tenant, number) for tenant in TENANTS for number in numbers]
    chance.shuffle(asked)

    async def one(tenant: str, number: int) -> None:
        async with slots:
            said = str(await ask(tenant, question(number)))
        (other,) = set(TENANTS) - {tenant}
        assert tenant in said, said
        assert other not in said, said

    await asyncio.gather(*(one(*each) for each in asked))
    assert not app.model.crossed


async def no_passage_crosses(
    name: str, ways: Sequence[str], store: ReferenceStore, numbers: Sequence[int]
) -> None:
    app = App(store)
    door, chance = DOORS[name](app), random.Random(7)

    async def ask(tenant: str, asked: str) -> object:
        if chance.choice(ways) == "async":
            return await door.aask(tenant, asked)
        return await asyncio.to_thread(door.ask, tenant, asked)

    await ask_all(app, ask, numbers)
    app.is_away = True
    await ask_all(app, ask, numbers[::4])
    for tenant in TENANTS:
        kept = store.in_scope(tenant).retrieve("colza")
        assert kept
        assert all(tenant in each.text for each in kept)
    assert not store.retrieve("colza"), "nothing is shared by all"


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("name", DOORS)
async def test_no_passage_crosses(name: str, way: str, store: ReferenceStore) -> None:
    await no_passage_crosses(name, [way], store, range(12))


class BatchDoor(RetrieverDoor):
    """Two questions at once, of the two tenants: the first is his who asks."""

    def ask(self, tenant: str, asked: str, config: RunnableConfig | None = None) -> object:
        configs = [config_of(each) for each in sorted(TENANTS, key=tenant.__ne__)]
        return self.runnable.batch([asked] * 2, configs)[0]

    async def aask(self, tenant: str, asked: str, config: RunnableConfig | None = None) -> object:
        configs = [config_of(each) for each in sorted(TENANTS, key=tenant.__ne__)]
        return (await self.runnable.abatch([asked] * 2, configs))[0]


class RoutedMiddlewareDoor(MiddlewareDoor):
    """An agent whose middleware asks a model whether to search."""

    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        router = PromptRouter(ScriptedModel(["Yes, I need to search."]))
        middleware = langchain_skr.SKRMiddleware(router, retriever=retriever)
        return create_agent(Agent(replies=[AIMessage("So it is.")]), middleware=[middleware])


class RouteNodeDoor(RunnableDoor):
    """A graph of the app's own, with a route node and the app's retriever."""

    input = staticmethod(lambda asked: {"question": asked})

    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        return RunnablePassthrough.assign(
            decision=create_route_node(None),
            found=RunnableLambda(itemgetter("question")) | retriever,
        )


class LlamaRetrieverDoor(Door):
    """A retriever of LlamaIndex, once and in a loop."""

    def __init__(self, app: App) -> None:
        search = SearchOfTenant(app)
        self._retrievers = [
            llamaindex_skr.SKRRetriever(search),
            llamaindex_skr.SKRRetriever(search, llm=app.model),
        ]

    def ask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return [each.retrieve(asked) for each in self._retrievers]

    async def aask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return [await each.aretrieve(asked) for each in self._retrievers]


class SelectorDoor(Door):
    """A router retriever of LlamaIndex that chooses by `SKRSelector`."""

    def __init__(self, app: App) -> None:
        search = SearchOfTenant(app)
        tools = [RetrieverTool.from_defaults(search, description=each) for each in ("one", "two")]
        selector = llamaindex_skr.SKRSelector(AlwaysRetrieve())
        self._retriever = RouterRetriever(selector, tools, llm=MockLLM())

    def ask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return self._retriever.retrieve(asked)

    async def aask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return await self._retriever.aretrieve(asked)


FORGETFUL: dict[str, type[Door]] = {
    "retriever": RetrieverDoor,
    "looping retriever": LoopingRetrieverDoor,
    "batch": BatchDoor,
    "middleware": MiddlewareDoor,
    "routed middleware": RoutedMiddlewareDoor,
    "route node": RouteNodeDoor,
    "retriever of LlamaIndex": LlamaRetrieverDoor,
    "selector": SelectorDoor,
}
"""The drop-ins that remember nothing."""


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("name", FORGETFUL)
async def test_no_passage_crosses_where_none_is_remembered(name: str, way: str) -> None:
    app = App(ListStore())
    door = FORGETFUL[name](app)

    async def ask(tenant: str, asked: str) -> object:
        if way == "async":
            return await door.aask(tenant, asked)
        return await asyncio.to_thread(door.ask, tenant, asked)

    await ask_all(app, ask, range(6))


@pytest.mark.soak
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", DOORS)
async def test_no_passage_of_many_crosses(name: str, store: ReferenceStore) -> None:
    numbers = random.Random(7).choices(range(10 * MANY), k=MANY)
    await no_passage_crosses(name, ["sync", "async"], store, numbers)
