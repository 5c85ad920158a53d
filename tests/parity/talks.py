"""What the tests of conversations ask, answer with and look at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import Field

from langchain_skr import create_skr_chain, create_skr_graph
from skr_core.testing import MappingRetriever, ScriptedModel
from tests.llamaindex_skr.fakes import Speaker

WRITING = {"answer_directly", "answer_with_references", "answer_anyway"}
FIRST, ASKED = "What burns in the lamp?", "Who brought the oil to the lighthouse?"
LIBRARY = MappingRetriever({ASKED: ["The keeper brought the oil."]})

DROP_INS: dict[str, Callable[..., Any]] = {
    "graph": create_skr_graph,
    "chain": create_skr_chain,
    "sources": lambda *parts, **options: create_skr_chain(*parts, return_sources=True, **options),
}
"""The drop-ins of LangChain that take a conversation."""

TURNS = [ChatMessage(FIRST, role="user"), ChatMessage("Oil.", role="assistant")]
WAYS = ["chat", "achat", "stream_chat", "astream_chat"]


def model() -> ScriptedModel:
    """Insufficient, then a refusal, so that an answer is asked for in every way that there is."""
    return ScriptedModel(
        {"answer_with_references": ["INSUFFICIENT\nSearch: oil", "INSUFFICIENT"]}, otherwise="Oil."
    )


def written(asked: ScriptedModel) -> list[Any]:
    """The prompts that asked for an answer."""
    return [each for each in asked.prompts if each.task in WRITING]


async def run(way: str, runnable: Any, *given: Any) -> Any:
    if way == "ainvoke":
        return await runnable.ainvoke(*given)
    if way == "stream":
        return [*runnable.stream(*given)]
    return await asyncio.to_thread(runnable.invoke, *given)


class Listener(Speaker):
    """An LLM that keeps all that it was sent."""

    heard: list[list[ChatMessage]] = Field(default_factory=list)

    def __init__(self, reply: Callable[[str], str] = lambda prompt: "SUFFICIENT\nOil [1].") -> None:
        super().__init__(reply)

    def _say(self, messages: Sequence[ChatMessage], mode: str) -> str:
        self.heard.append(list(messages))
        return super()._say(messages, mode)


class Shelf(BaseRetriever):
    """Finds the same nodes for whatever is asked."""

    def __init__(self, *nodes: Any) -> None:
        super().__init__()
        self.nodes = nodes or (TextNode(text="The keeper brought the oil."),)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=each, score=1.0) for each in self.nodes]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._retrieve(query_bundle)


async def chat(way: str, engine: Any, message: Any) -> None:
    if way == "chat":
        await asyncio.to_thread(engine.chat, message)
    elif way == "achat":
        await engine.achat(message)
    elif way == "stream_chat":
        response = await asyncio.to_thread(engine.stream_chat, message)
        await asyncio.to_thread(lambda: [*response.response_gen])
    else:
        response = await engine.astream_chat(message)
        assert [token async for token in response.async_response_gen()]
