"""An app that two tenants share: their documents, its model, and every drop-in that answers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, RunnablePassthrough
from langgraph.graph import StateGraph
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from typing_extensions import TypedDict

import langchain_skr
import llamaindex_skr
from skr_core import Generation, OnToken, Prompt, ReferenceStore
from skr_core.budget import estimate_usage
from tests.langchain_skr.fakes import Agent

TENANTS = ("amber", "basalt")

TENANT: ContextVar[str] = ContextVar("tenant")
"""Whose request it is, as an application on LlamaIndex may keep it."""


def question(number: int) -> str:
    """The same words for every tenant; every third one takes two rounds."""
    return f"What burns in lamp{number}?"


def config_of(tenant: str) -> RunnableConfig:
    return {"configurable": {"tenant": tenant}, "tags": ["lamps"], "metadata": {"plan": "free"}}


def tenant_of(config: RunnableConfig) -> str:
    tenant: str = config["configurable"]["tenant"]
    return tenant


class Reader:
    """A model that says whose passages it was shown.

    Attributes:
        crossed: The prompts with passages of both tenants.
        systems: The task and the system message of each prompt.
    """

    name = "reader"

    def __init__(self) -> None:
        self.crossed: list[str] = []
        self.systems: list[tuple[str, str]] = []

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        text = prompt.text
        self.systems.append((prompt.task, prompt.system))
        shown = [tenant for tenant in TENANTS if tenant in text]
        if len(shown) > 1:
            self.crossed.append(text)
        number = re.findall(r"burns in lamp(\d+)", text)[-1]
        if int(number) % 3 == 0 and f"keeper of lamp{number} came" not in text:
            said = f"INSUFFICIENT\nSearch: the keeper of lamp{number}"
        else:
            said = f"SUFFICIENT\nColza oil, says {' and '.join(shown)} [1]."
        if on_token is not None:
            on_token(said)
        return Generation(said, estimate_usage(prompt, said))

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        await asyncio.sleep(0)  # another question may come between
        return self.generate(prompt, on_token=on_token)


class SearchOfTenant(BaseRetriever):
    """A retriever of LlamaIndex that finds what belongs to one tenant, or to the one who asks."""

    def __init__(self, app: App, tenant: str | None = None) -> None:
        super().__init__()
        self._app, self._tenant = app, tenant

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        texts = self._app.search(self._tenant or TENANT.get(), query_bundle.query_str)
        return [NodeWithScore(node=TextNode(text=text), score=1.0) for text in texts]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._retrieve(query_bundle)


@dataclass
class App:
    """What all drop-ins are made of.

    Attributes:
        store: The store that remembers for both tenants.
        is_away: Whether the retriever finds nothing any more.
        options: Further options of LangChain's factories.
        engine_options: Further options of LlamaIndex's engines.
    """

    store: ReferenceStore
    model: Reader = field(default_factory=Reader)
    is_away: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    engine_options: dict[str, Any] = field(default_factory=dict)

    def search(self, tenant: str, query: str) -> list[str]:
        """Find what belongs to a tenant."""
        found = re.search(r"\d+", query)
        if self.is_away or found is None:
            return []
        if "keeper" in query:
            return [f"The keeper of lamp{found[0]} came from {tenant}."]
        return [f"Lamp{found[0]}: colza oil of {tenant}."]

    def documents(self, query: str, config: RunnableConfig) -> list[Document]:
        """Find what belongs to the tenant of the config."""
        return [Document(text) for text in self.search(tenant_of(config), query)]

    async def adocuments(self, query: str, config: RunnableConfig) -> list[Document]:
        await asyncio.sleep(0)
        return self.documents(query, config)

    @property
    def retriever(self) -> Any:
        """A retriever of LangChain that reads the config."""
        return RunnableLambda(self.documents, self.adocuments, name="lamps")

    @property
    def remembering(self) -> dict[str, Any]:
        """The options of LangChain's factories."""
        return {"reference_store": self.store, "scope": tenant_of, **self.options}


class Door:
    """A drop-in that both tenants ask: a tenant and a question in, all that it says out."""

    def __init__(self, app: App) -> None:
        raise NotImplementedError

    def ask(self, tenant: str, asked: str) -> object:
        raise NotImplementedError

    async def aask(self, tenant: str, asked: str) -> object:
        raise NotImplementedError


class RunnableDoor(Door):
    """One that is a runnable of LangChain."""

    input: Callable[[str], Any] = staticmethod(lambda asked: asked)

    def __init__(self, app: App, retriever: Any = None, **options: Any) -> None:
        options = options if retriever is not None else app.remembering
        self.runnable = self.made(app, app.retriever if retriever is None else retriever, options)

    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        raise NotImplementedError

    def ask(self, tenant: str, asked: str, config: RunnableConfig | None = None) -> object:
        return self.runnable.invoke(self.input(asked), config or config_of(tenant))

    async def aask(self, tenant: str, asked: str, config: RunnableConfig | None = None) -> object:
        return await self.runnable.ainvoke(self.input(asked), config or config_of(tenant))


class GraphDoor(RunnableDoor):
    input = staticmethod(lambda asked: {"question": asked})

    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        return langchain_skr.create_skr_graph(app.model, retriever, **options)


class ChainDoor(RunnableDoor):
    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        return langchain_skr.create_skr_chain(app.model, retriever, **options)


class SourcesDoor(RunnableDoor):
    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        return langchain_skr.create_skr_chain(app.model, retriever, return_sources=True, **options)


class StreamDoor(SourcesDoor):
    """A stream, whose last pieces hold all of the sources."""

    def ask(self, tenant: str, asked: str, config: RunnableConfig | None = None) -> object:
        return list(self.runnable.stream(asked, config or config_of(tenant)))

    async def aask(self, tenant: str, asked: str, config: RunnableConfig | None = None) -> object:
        return [each async for each in self.runnable.astream(asked, config or config_of(tenant))]


class SequenceDoor(RunnableDoor):
    """A chain within a chain."""

    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        chain = langchain_skr.create_skr_chain(app.model, retriever, **options)
        return RunnablePassthrough() | chain | StrOutputParser()


class AskedState(TypedDict):
    question: str
    answer: str


class NodeDoor(RunnableDoor):
    """A chain that a node of another graph calls, without a config."""

    input = staticmethod(lambda asked: {"question": asked})

    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        chain = langchain_skr.create_skr_chain(app.model, retriever, **options)

        def answer(state: AskedState) -> dict[str, str]:
            return {"answer": chain.invoke(state["question"])}

        async def aanswer(state: AskedState) -> dict[str, str]:
            return {"answer": await chain.ainvoke(state["question"])}

        graph = StateGraph(AskedState)
        graph.add_node("answer", RunnableLambda(answer, aanswer))
        graph.set_entry_point("answer")
        return graph.compile()


class SubgraphDoor(GraphDoor):
    """A graph that is a node of another."""

    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        graph = StateGraph(AskedState)
        graph.add_node("skr", langchain_skr.create_skr_graph(app.model, retriever, **options))
        graph.set_entry_point("skr")
        return graph.compile()


class ToolDoor(RunnableDoor):
    input = staticmethod(lambda asked: {"question": asked})

    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        return langchain_skr.create_skr_tool(app.model, retriever, **options)


class RetrieverDoor(RunnableDoor):
    """A retriever, which remembers nothing, around the app's own."""

    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        return langchain_skr.SKRRetriever(retriever=retriever)


class LoopingRetrieverDoor(RunnableDoor):
    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        return langchain_skr.SKRRetriever(retriever=retriever, model=app.model)


class MiddlewareDoor(RunnableDoor):
    """An agent whose middleware searches, and remembers nothing."""

    input = staticmethod(lambda asked: {"messages": [("user", asked)]})

    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        middleware = langchain_skr.SKRMiddleware(retriever=retriever)
        return create_agent(Agent(replies=[AIMessage("So it is.")]), middleware=[middleware])


class AgentDoor(RunnableDoor):
    """An agent that calls the tool and repeats what it says."""

    input = staticmethod(lambda asked: {"messages": [("user", asked)]})

    @staticmethod
    def made(app: App, retriever: Any, options: dict[str, Any]) -> Runnable[Any, Any]:
        tool = langchain_skr.create_skr_tool(app.model, retriever, name="ask", **options)

        def agent(given: dict[str, Any]) -> Runnable[Any, Any]:
            asked = {"question": given["messages"][0][1]}
            calls = [{"name": "ask", "args": asked, "id": "1", "type": "tool_call"}]
            chat = Agent(replies=[AIMessage("", tool_calls=calls), AIMessage("So it is.")])
            return create_agent(chat, [tool])

        return RunnableLambda(agent)


class FixedDoor(Door):
    """A graph for each tenant, over a retriever with his filter, and one store for all."""

    def __init__(self, app: App) -> None:
        def graph(tenant: str) -> Any:
            search = RunnableLambda(lambda query: [*map(Document, app.search(tenant, query))])
            return langchain_skr.create_skr_graph(
                app.model, search, reference_store=app.store, scope=tenant, **app.options
            )

        self._graphs = {tenant: graph(tenant) for tenant in TENANTS}

    def ask(self, tenant: str, asked: str) -> object:
        return self._graphs[tenant].invoke({"question": asked}, config_of(tenant))

    async def aask(self, tenant: str, asked: str) -> object:
        return await self._graphs[tenant].ainvoke({"question": asked}, config_of(tenant))


def said(response: Any) -> str:
    """The text of a response of LlamaIndex, and those of its sources."""
    return "\n".join([str(response), *(each.text for each in response.source_nodes)])


class EngineDoor(Door):
    """An engine of LlamaIndex; the app keeps the tenant of a request in a variable."""

    streaming = False

    def __init__(self, app: App) -> None:
        self.engine = llamaindex_skr.SKRQueryEngine.from_defaults(
            SearchOfTenant(app),
            llm=app.model,
            streaming=self.streaming,
            reference_store=app.store,
            scope=TENANT.get,
            **app.engine_options,
        )

    def ask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return said(self.engine.query(asked))

    async def aask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return said(await self.engine.aquery(asked))


class StreamingEngineDoor(EngineDoor):
    streaming = True

    async def aask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        response: Any = await self.engine.aquery(asked)
        return said(await response.get_response())


class EngineOfEachDoor(EngineDoor):
    """An engine for each tenant, over a retriever with his filter, and one store for all."""

    def __init__(self, app: App) -> None:
        self._engines = {
            tenant: llamaindex_skr.SKRQueryEngine.from_defaults(
                SearchOfTenant(app, tenant),
                llm=app.model,
                reference_store=app.store,
                scope=tenant,
                **app.engine_options,
            )
            for tenant in TENANTS
        }

    def ask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return said(self._engines[tenant].query(asked))

    async def aask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return said(await self._engines[tenant].aquery(asked))


class EngineOfEachRequestDoor(EngineDoor):
    """One engine, and one like it for each request, on the same graph and in his scope."""

    def ask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return said(self.engine.with_options(scope=tenant).query(asked))

    async def aask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return said(await self.engine.with_options(scope=tenant).aquery(asked))


class ChatDoor(Door):
    """A chat engine, which has one conversation: each question begins its own."""

    def __init__(self, app: App) -> None:
        self._app = app

    def _engine(self) -> llamaindex_skr.SKRChatEngine:
        return llamaindex_skr.SKRChatEngine.from_defaults(
            SearchOfTenant(self._app),
            llm=self._app.model,
            reference_store=self._app.store,
            scope=TENANT.get,
            **self._app.engine_options,
        )

    def ask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return said(self._engine().chat(asked))

    async def aask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return said(await self._engine().achat(asked))


class StreamingChatDoor(ChatDoor):
    def ask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        response = self._engine().stream_chat(asked)
        return [list(response.response_gen), said(response)]

    async def aask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        response = await self._engine().astream_chat(asked)
        return [[each async for each in response.async_response_gen()], said(response)]


class EngineToolDoor(EngineDoor):
    def __init__(self, app: App) -> None:
        super().__init__(app)
        self.tool = llamaindex_skr.create_skr_tool(self.engine)

    def ask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return self.tool.call(asked).content

    async def aask(self, tenant: str, asked: str) -> object:
        TENANT.set(tenant)
        return (await self.tool.acall(asked)).content


REMEMBERING: dict[str, type[RunnableDoor]] = {
    "graph": GraphDoor,
    "chain": ChainDoor,
    "sourced chain": SourcesDoor,
    "stream": StreamDoor,
    "sequence": SequenceDoor,
    "node": NodeDoor,
    "subgraph": SubgraphDoor,
    "tool": ToolDoor,
    "agent": AgentDoor,
}

LANGCHAIN: dict[str, type[RunnableDoor]] = {
    **REMEMBERING,
    "retriever": RetrieverDoor,
    "looping retriever": LoopingRetrieverDoor,
    "middleware": MiddlewareDoor,
}

DOORS: dict[str, type[Door]] = {
    **REMEMBERING,
    "graph of each": FixedDoor,
    "engine": EngineDoor,
    "streaming engine": StreamingEngineDoor,
    "engine of each": EngineOfEachDoor,
    "engine of each request": EngineOfEachRequestDoor,
    "chat": ChatDoor,
    "streaming chat": StreamingChatDoor,
    "engine tool": EngineToolDoor,
}
