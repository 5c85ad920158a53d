"""An application's own context is its own: ours neither reads it, hides it nor hands ours on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import StateGraph
from langgraph.runtime import get_runtime
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from typing_extensions import TypedDict

from langchain_skr import SKRMiddleware, SKRRetriever, create_skr_chain, create_skr_graph
from langchain_skr import create_skr_tool as create_tool
from llamaindex_skr import SKRChatEngine, SKRQueryEngine
from skr_core.testing import ScriptedModel
from skr_graphs import SKRContext
from tests.langchain_skr.fakes import Agent

ASKED = "Who brought the oil?"


@dataclass(frozen=True)
class Mine:
    """A context of an application."""

    tenant: str


class State(TypedDict, total=False):
    question: str
    answer: str
    later: str


class World:
    """A model, and a retriever that finds what belongs to the tenant of the app's context."""

    def __init__(self) -> None:
        self.model = ScriptedModel(otherwise="SUFFICIENT\nThe keeper [1].")
        self.seen: list[Any] = []

    def documents(self, query: str) -> list[Document]:
        self.seen.append(get_runtime(Mine).context)
        return [Document(f"Oil of {self.seen[-1]}.")]

    async def adocuments(self, query: str) -> list[Document]:
        return self.documents(query)

    @property
    def retriever(self) -> Any:
        return RunnableLambda(self.documents, self.adocuments)


class Search(BaseRetriever):
    """The same, of LlamaIndex."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        (found,) = self.world.documents(query_bundle.query_str)
        return [NodeWithScore(node=TextNode(text=found.page_content))]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._retrieve(query_bundle)


def of(runnable: Any, given: Callable[[str], Any] = lambda asked: asked) -> Any:
    """A node that calls a drop-in, without a config, as one's own code does."""

    def node(state: State) -> State:
        return {"answer": str(runnable.invoke(given(state["question"])))}

    async def anode(state: State) -> State:
        return {"answer": str(await runnable.ainvoke(given(state["question"])))}

    return RunnableLambda(node, anode)


def asking(ask: Callable[[str], Any], aask: Callable[[str], Any]) -> Any:
    async def anode(state: State) -> State:
        return {"answer": str(await aask(state["question"]))}

    return RunnableLambda(lambda state: {"answer": str(ask(state["question"]))}, anode)


def agent_of(world: World, **options: Any) -> Any:
    agent = create_agent(Agent(replies=[AIMessage("So it is.")]), context_schema=Mine, **options)
    return of(agent, lambda asked: {"messages": [("user", asked)]})


def query_engine(world: World) -> Any:
    engine = SKRQueryEngine.from_defaults(Search(world), llm=world.model)
    return asking(engine.query, engine.aquery)


def chat_engine(world: World) -> Any:
    engine = SKRChatEngine.from_defaults(Search(world), llm=world.model)
    return asking(engine.chat, engine.achat)


NODES: dict[str, Callable[[World], Any]] = {
    "graph": lambda world: create_skr_graph(world.model, world.retriever),
    "called graph": lambda world: of(
        create_skr_graph(world.model, world.retriever), lambda asked: {"question": asked}
    ),
    "chain": lambda world: of(create_skr_chain(world.model, world.retriever)),
    "sources": lambda world: of(
        create_skr_chain(world.model, world.retriever, return_sources=True)
    ),
    "tool": lambda world: of(
        create_tool(world.model, world.retriever), lambda asked: {"question": asked}
    ),
    "retriever": lambda world: of(SKRRetriever(retriever=world.retriever)),
    "looping retriever": lambda world: of(
        SKRRetriever(retriever=world.retriever, model=world.model)
    ),
    "middleware": lambda world: agent_of(
        world, middleware=[SKRMiddleware(retriever=world.retriever)]
    ),
    "query engine": query_engine,
    "chat engine": chat_engine,
}


async def invoke(form: str, runnable: Any, *given: Any, **options: Any) -> Any:
    if form == "async":
        return await runnable.ainvoke(*given, **options)
    return await asyncio.to_thread(runnable.invoke, *given, **options)


@pytest.fixture(params=["sync", "async"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("name", NODES)
async def test_the_context_of_a_parent_is_seen_within_ours_and_behind_it(
    name: str, form: str
) -> None:
    world = World()
    parent: Any = StateGraph(State, context_schema=Mine)
    parent.add_node("ours", NODES[name](world))
    parent.add_node("later", lambda state: {"later": str(get_runtime(Mine).context)})
    parent.add_edge("ours", "later")
    parent.set_entry_point("ours")
    result = await invoke(form, parent.compile(), {"question": ASKED}, context=Mine("amber"))
    assert world.seen == [Mine("amber")]
    assert result["later"] == str(Mine("amber"))


INNER: dict[str, Callable[[World], Any]] = {
    "graph": lambda world: create_skr_graph(world.model, world.retriever),
    "chain": lambda world: create_skr_chain(world.model, world.retriever),
    "tool": lambda world: create_tool(world.model, world.retriever),
}


@pytest.mark.parametrize("name", INNER)
async def test_our_own_context_stays_within_its_graph(name: str, form: str) -> None:
    inner, outer = World(), World()
    asked: Any = ASKED if name == "chain" else {"question": ASKED}

    def search(query: str) -> list[Document]:
        return [Document(str(INNER[name](inner).invoke(asked)))]

    async def asearch(query: str) -> list[Document]:
        return [Document(str(await INNER[name](inner).ainvoke(asked)))]

    graph = create_skr_graph(outer.model, RunnableLambda(search, asearch))
    context = SKRContext(instructions="Be loud.", when_insufficient="refuse")
    await invoke(form, graph, {"question": ASKED}, context=context)
    assert [each.system for each in outer.model.prompts] == ["Be loud."]
    assert [each.system for each in inner.model.prompts] == [""]


@dataclass(frozen=True, eq=False)
class Both(SKRContext):
    """A context of an application that is one of ours too."""

    tenant: str = ""


@pytest.mark.parametrize("name", ["graph", "called graph", "tool"])
async def test_a_subclass_is_passed_on(name: str, form: str) -> None:
    world = World()
    parent: Any = StateGraph(State, context_schema=Both)
    parent.add_node("ours", NODES[name](world))
    parent.set_entry_point("ours")
    context = Both(instructions="Be loud.", tenant="amber")
    await invoke(form, parent.compile(), {"question": ASKED}, context=context)
    assert [each.system for each in world.model.prompts] == ["Be loud."]
    assert world.seen == [context]
