"""One config reaches all that a run asks: retriever, model, compressor, prompt and nodes.

Through every drop-in of LangChain, sync, async and in batches. What each of them was run with is
noted where it runs: the tenant, the tags, the metadata, and the events of a handler.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda, ensure_config
from pydantic import Field

from langchain_skr import SKRMiddleware, SKRRetriever, create_skr_chain
from skr_core import Prompt
from skr_core.routers import PromptRouter
from skr_graphs import create_follow_up_node, create_route_node
from tests.langchain_skr.fakes import Agent
from tests.parity.tenants import LANGCHAIN, App, config_of, question
from tests.skr_graphs.doubles import ListStore

LAMP = question(1)
WAYS = ["invoke", "ainvoke", "batch", "abatch"]
CALLS_A_MODEL = [name for name in LANGCHAIN if name not in ("retriever", "middleware")]
COMPRESSES = [name for name in CALLS_A_MODEL if name != "looping retriever"]


class Events(BaseCallbackHandler):
    """Notes what begins, with the tags and the metadata of its run."""

    run_inline = True

    def __init__(self) -> None:
        self.begun: list[tuple[str, list[str], dict[str, Any]]] = []

    def on_retriever_start(self, serialized: Any, query: Any, **about: Any) -> None:
        self.begun.append(("retriever", about["tags"], about["metadata"]))

    def on_chat_model_start(self, serialized: Any, messages: Any, **about: Any) -> None:
        self.begun.append(("model", about["tags"], about["metadata"]))

    def on_chain_start(self, serialized: Any, inputs: Any, **about: Any) -> None:
        if about.get("name") == "ranking":
            self.begun.append(("compressor", about["tags"], about["metadata"]))

    def of(self, kind: str) -> list[tuple[list[str], dict[str, Any]]]:
        return [(tags, metadata) for name, tags, metadata in self.begun if name == kind]


class Chat(BaseChatModel):
    """Answers as the app's reader does, and notes the config that it runs with."""

    app: Any
    seen: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "chat"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.seen.append(ensure_config())
        text = str(messages[-1].text)
        said = self.app.model.generate(Prompt("answer_with_references", text, LAMP)).text
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])

    async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        return self._generate(messages)


class Shelf(BaseRetriever):
    """Finds what belongs to the tenant of its config, and notes the config."""

    app: Any
    seen: list[Any] = Field(default_factory=list)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        self.seen.append(ensure_config())
        found: list[Document] = self.app.documents(query, self.seen[-1])
        return found


class Ranking(BaseDocumentCompressor):
    """Keeps every document, by a runnable of its own, and notes the config."""

    seen: ClassVar[list[Any]] = []

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        self.seen.append(ensure_config())
        ranked: RunnableLambda[Any, Any] = RunnableLambda(lambda found: found, name="ranking")
        kept: Sequence[Document] = ranked.invoke(documents, {"callbacks": callbacks})
        return kept


async def ask(way: str, runnable: Any, given: Any, config: RunnableConfig) -> str:
    if way == "invoke":
        return str(await asyncio.to_thread(runnable.invoke, given, config))
    if way == "ainvoke":
        return str(await runnable.ainvoke(given, config))
    if way == "batch":
        return str(await asyncio.to_thread(runnable.batch, [given, given], [config, config]))
    return str(await runnable.abatch([given, given], [config, config]))


@pytest.fixture
def ranking() -> Ranking:
    Ranking.seen.clear()
    return Ranking()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LANGCHAIN)
async def test_all_that_a_run_asks_has_its_config(name: str, way: str, ranking: Ranking) -> None:
    app, events = App(ListStore()), Events()
    shelf, chat = Shelf(app=app), Chat(app=app)
    app_of_door: Any = App(app.store, model=chat)  # type: ignore[arg-type]  # a chat model answers
    options: dict[str, Any] = {}
    if name in COMPRESSES:
        shown = PromptTemplate.from_template("{page_content}")
        options = {"compressor": ranking, "document_prompt": shown}
    door = LANGCHAIN[name](app_of_door, shelf, **options)
    config: RunnableConfig = {**config_of("amber"), "callbacks": [events], "run_name": "outer"}
    said = await ask(way, door.runnable, door.input(LAMP), config)
    assert "amber" in said
    assert "basalt" not in said
    seen = {"retriever": shelf.seen}
    if name in CALLS_A_MODEL:
        seen["model"] = chat.seen
    if name in COMPRESSES:
        seen["compressor"] = ranking.seen
    for kind, configs in seen.items():
        assert len(configs) == (2 if "batch" in way else 1), kind
        for each in configs:
            assert each["configurable"]["tenant"] == "amber", kind
            assert "lamps" in each["tags"], kind
            assert each["metadata"]["plan"] == "free", kind
        assert events.of(kind), kind
        for tags, metadata in events.of(kind):
            assert "lamps" in tags, kind
            assert metadata["plan"] == "free", kind


@pytest.mark.parametrize("way", WAYS)
async def test_a_router_s_model_has_the_config_too(way: str) -> None:
    app, events = App(ListStore()), Events()
    config: RunnableConfig = {**config_of("amber"), "callbacks": [events], "run_name": "outer"}
    chat = Chat(app=app)
    search = app.retriever
    agent = create_agent(
        Agent(replies=[AIMessage("So it is.")]),
        middleware=[SKRMiddleware(PromptRouter(chat), retriever=search)],
    )
    runs: list[tuple[Any, Any]] = [
        (create_skr_chain(app.model, search, router=PromptRouter(chat)), LAMP),
        (SKRRetriever(retriever=search, router=PromptRouter(chat)), LAMP),
        (agent, {"messages": [("user", LAMP)]}),
        (create_route_node(PromptRouter(chat)), {"question": LAMP}),
        (create_follow_up_node(chat), {"question": LAMP, "references": []}),
    ]
    for runnable, given in runs:
        chat.seen.clear()
        events.begun.clear()
        await ask(way, runnable, given, config)
        assert chat.seen
        for each in chat.seen:
            assert each["configurable"]["tenant"] == "amber"
            assert each.get("run_name") is None
        asked = [each for each in events.of("model") if "skr_task" in each[1]]
        assert asked
        for tags, metadata in asked:
            assert "lamps" in tags
            assert metadata["plan"] == "free"
