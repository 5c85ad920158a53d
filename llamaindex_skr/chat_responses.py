"""A streamed answer as the response of a LlamaIndex chat engine.

LlamaIndex reads such a stream in a thread or a task of its own, into a queue. Here it is read by
whoever consumes it, so nothing runs on behind a response that is dropped, and the memory is written
when the stream ends.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.chat_engine.types import StreamingAgentChatResponse

from llamaindex_skr.graph_run import GraphRun
from llamaindex_skr.responses import (
    SKRAsyncStreamingResponse,
    SKRStreamingResponse,
    astream_response,
    stream_response,
)

Streamed = SKRStreamingResponse | SKRAsyncStreamingResponse


@dataclass
class SKRStreamingChatResponse(StreamingAgentChatResponse):
    """A streamed answer in a conversation; ``source_nodes`` and ``metadata`` as of a query's.

    Attributes:
        streamed: The same as the response of a query engine.
    """

    streamed: Streamed | None = field(default=None, repr=False)
    _tokens: Generator[str, None, None] | None = field(default=None, init=False, repr=False)
    _atokens: AsyncGenerator[str, None] | None = field(default=None, init=False, repr=False)

    @property
    def metadata(self) -> dict[str, Any]:
        """As of `SKRQueryEngine`; complete when the stream is read."""
        return (self.streamed.metadata if self.streamed else None) or {}

    @property
    def response_gen(self) -> Generator[str, None, None]:
        """The final answer's tokens; closing it ends the model's reply, leaving it does not."""
        if self._tokens is None:
            self._tokens = _tokens(self.chat_stream, ref(self))
        return self._tokens

    def async_response_gen(self) -> AsyncGenerator[str, None]:
        """The same, awaited."""
        if self._atokens is None:
            self._atokens = _atokens(self.achat_stream, ref(self))
        return self._atokens

    def __str__(self) -> str:
        """The answer, once it is read."""
        return (self.streamed.response_txt if self.streamed else None) or self.response

    def _finish(self) -> None:
        self.response, self.is_done = str(self), True


def stream_chat_response(
    run: GraphRun, remember: Callable[[str], None]
) -> SKRStreamingChatResponse:
    """Run up to the answer's first token; the rest as the response is consumed.

    Args:
        run: Of the graph.
        remember: Called with the whole answer at its end.
    """
    streamed = stream_response(run)
    return SKRStreamingChatResponse(
        chat_stream=_chats(streamed, remember),
        source_nodes=streamed.source_nodes,
        is_writing_to_memory=False,
        streamed=streamed,
    )


async def astream_chat_response(
    run: GraphRun, remember: Callable[[str], Awaitable[None]]
) -> SKRStreamingChatResponse:
    """The same, awaited."""
    streamed = await astream_response(run)
    return SKRStreamingChatResponse(
        achat_stream=_achats(streamed, remember),
        source_nodes=streamed.source_nodes,
        is_writing_to_memory=False,
        streamed=streamed,
    )


# They know the response weakly, as those of a query's do, so that one that is dropped is closed.


def _tokens(chats: Any, response: ref[SKRStreamingChatResponse]) -> Generator[str, None, None]:
    if chats is not None:
        with closing(chats):
            for chat in chats:
                yield chat.delta or ""
    _finish(response())


async def _atokens(
    chats: Any, response: ref[SKRStreamingChatResponse]
) -> AsyncGenerator[str, None]:
    if chats is not None:
        async with aclosing(chats):
            async for chat in chats:
                yield chat.delta or ""
    _finish(response())


def _finish(response: SKRStreamingChatResponse | None) -> None:
    if response is not None:
        response._finish()


def _chats(
    streamed: SKRStreamingResponse, remember: Callable[[str], None]
) -> Generator[ChatResponse, None, None]:
    said = ""
    tokens: Any = streamed.response_gen
    with closing(tokens):
        for token in tokens:
            said += token
            yield _chat(said, token)
    remember(streamed.response_txt or said)


async def _achats(
    streamed: SKRAsyncStreamingResponse, remember: Callable[[str], Awaitable[None]]
) -> AsyncGenerator[ChatResponse, None]:
    said = ""
    tokens: Any = streamed.response_gen
    async with aclosing(tokens):
        async for token in tokens:
            said += token
            yield _chat(said, token)
    await remember(streamed.response_txt or said)


def _chat(said: str, token: str) -> ChatResponse:
    return ChatResponse(message=ChatMessage(said, role=MessageRole.ASSISTANT), delta=token)
