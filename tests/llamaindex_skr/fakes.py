"""The shared doubles of this folder: three nodes, an index over them, a model with a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import ToolMetadata
from pydantic import Field

from skr_core.prompts import INSUFFICIENT, QUERY_LEAD, REFUSAL, SUFFICIENT

QUESTION = "Where was the director of Jaws born?"
FOLLOW_UP = "Where was Steven Spielberg born?"
ANSWER = "Steven Spielberg directed Jaws [1]. He was born in Cincinnati [2]."
JAWS = "Jaws was directed by Steven Spielberg."
BORN = "Steven Spielberg was born in Cincinnati, Ohio."
PARIS = "Paris is the capital of France."


def nodes() -> list[TextNode]:
    return [TextNode(text=text, id_=f"node-{text[:5]}") for text in (JAWS, BORN, PARIS)]


def index() -> VectorStoreIndex:
    return VectorStoreIndex(nodes(), embed_model=MockEmbedding(embed_dim=4))


class Search(BaseRetriever):
    """Finds what a query was said to find; awaits for itself."""

    def __init__(self, found: dict[str, list[str]] | None = None) -> None:
        super().__init__()
        self.found = {QUESTION: [JAWS], FOLLOW_UP: [BORN]} if found is None else found
        self.modes: list[str] = []

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.modes.append("sync")
        return self._of(query_bundle)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.modes.append("async")
        return self._of(query_bundle)

    def _of(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        texts = self.found.get(query_bundle.query_str, [])
        return [NodeWithScore(node=TextNode(text=text), score=0.5) for text in texts]


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


def two_hops(prompt: str) -> str:
    """Refuses, asks for the birthplace, and answers when it has that, with a verdict if asked."""
    if QUERY_LEAD in prompt:
        return f"{QUERY_LEAD} {FOLLOW_UP}"
    if "internal knowledge" in prompt:
        return "Cincinnati, as far as I know."
    verdict = f"{SUFFICIENT}\n" if INSUFFICIENT in prompt else ""
    return f"{verdict}{ANSWER}" if BORN in prompt else f"{REFUSAL}."


def late(prompt: str) -> str:
    """Begins to answer, and refuses in a later sentence."""
    reply = two_hops(prompt)
    return f"Spielberg directed it [1]. But {reply}" if reply.startswith(REFUSAL) else reply


class Speaker(MockLLM):
    """Says what a function makes of the last message; streams it word by word."""

    reply: Callable[[str], str] = two_hops
    sent: list[str] = Field(default_factory=list)
    modes: list[str] = Field(default_factory=list)

    def __init__(self, reply: Callable[[str], str] = two_hops) -> None:
        super().__init__()
        self.reply = reply

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True)

    def _say(self, messages: Sequence[ChatMessage], mode: str) -> str:
        self.modes.append(mode)
        self.sent.append(str(messages[-1].content))
        return self.reply(self.sent[-1])

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return _response(self._say(messages, "sync"))

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return _response(self._say(messages, "async"))

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        text = self._say(messages, "sync stream")
        return (_response(text, delta=piece) for piece in _words(text))

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        text = self._say(messages, "async stream")

        async def chunks() -> Any:
            for piece in _words(text):
                yield _response(text, delta=piece)

        return chunks()


def _response(text: str, **kwargs: Any) -> ChatResponse:
    return ChatResponse(message=ChatMessage(text, role="assistant"), **kwargs)


def _words(text: str) -> list[str]:
    first, *rest = text.split(" ")
    return [first, *(f" {word}" for word in rest)]
