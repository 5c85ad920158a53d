"""Answers as LlamaIndex responses: whole, or streamed, of query engines and of chat engines.

A streamed response is made when the answer's first token is there, so everything before it, and
whatever fails in it, happens inside ``query``, as with LlamaIndex's own engines. Its
``source_nodes`` are those that the streamed draft was given; its ``metadata`` and ``response_txt``
are filled when the stream ends. The text and the nodes are then the final answer's, also where a
draft that was retracted was streamed before it.

LlamaIndex reads the stream of a chat in a thread or a task of its own, into a queue. Here it is
read by its consumer, so nothing runs on behind a response that is dropped, and the memory is
written when the stream ends.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from weakref import ref

from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse
from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import ToolOutput
from pydantic import BaseModel

from llamaindex_skr.nodes import to_node, to_reference
from llamaindex_skr.runs import GraphRun
from skr_core.plain import from_plain, to_plain
from skr_core.types import Answer, Citation, Decision, Reference, Usage, Verdict

if TYPE_CHECKING:
    from skr_core.schemas import ResponseFormat

UNREAD = "(a stream that was not read: await response.get_response())"
"""The text of an async stream before it is read: an empty one would say nothing."""

METADATA = (
    "question",
    "decision",
    "rounds",
    "stop_reason",
    "grounded",
    "sufficient",
    "missing",
    "citations",
    "usage",
    "removed_markers",
    "chance",
)
"""The fields of an `Answer` in a response's ``metadata``, as plain values; its ``verdict`` joins
them where an arbiter gave one.

A citation's ``reference_id`` is the id of the source node that it names.
"""


class SKRStreamingResponse(StreamingResponse):
    """A streamed answer whose text is the answer's, not the sum of all that was streamed."""

    def __str__(self) -> str:
        """The answer; reads the stream to its end."""
        return self.get_response().response or "None"

    def get_response(self) -> Response:
        """The whole response; reads the stream to its end."""
        for _ in self.response_gen:
            pass
        return Response(self.response_txt, self.source_nodes, self.metadata)

    def print_response_stream(self) -> None:
        """Print the stream as it comes; the answer, when it was read already."""
        if self.response_txt is not None:
            print(self.response_txt)  # noqa: T201 - printing is its purpose
        for token in self.response_gen:
            print(token, end="", flush=True)  # noqa: T201


class SKRAsyncStreamingResponse(AsyncStreamingResponse):
    """An async streamed answer that ends with its reader, and is safe to turn into a string."""

    async def async_response_gen(self) -> AsyncGenerator[str, None]:
        """The final answer's tokens, or its text once it was read.

        Closing the generator ends the model's reply.
        """
        if self.response_txt is not None:
            yield self.response_txt
            return
        tokens: Any = self.response_gen
        said = ""
        async with aclosing(tokens):
            async for token in tokens:
                said += token
                self.response_txt = said
                yield token

    async def get_response(self) -> Response:
        """The whole response; reads the stream to its end."""
        async for _ in self.response_gen:
            pass
        return Response(self.response_txt, self.source_nodes, self.metadata)

    def __str__(self) -> str:
        """The text that was read so far; a string cannot be awaited.

        LlamaIndex would read on in another thread, whose event loop waits for the tasks of this
        one, which waits for that thread.
        """
        return self.response_txt or UNREAD


@dataclass
class SKRStreamingChatResponse(StreamingAgentChatResponse):
    """A streamed answer in a conversation; ``source_nodes`` and ``metadata`` as of a query's.

    Attributes:
        streamed: The same answer as the response of a query engine.
    """

    streamed: SKRStreamingResponse | SKRAsyncStreamingResponse | None = field(
        default=None, repr=False
    )
    _tokens: Generator[str, None, None] | None = field(default=None, init=False, repr=False)
    _atokens: AsyncGenerator[str, None] | None = field(default=None, init=False, repr=False)

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata, as of `SKRQueryEngine`; complete when the stream was read."""
        return (self.streamed.metadata if self.streamed else None) or {}

    @property
    def response_gen(self) -> Generator[str, None, None]:
        """The final answer's tokens; closing it ends the model's reply, leaving it does not."""
        if self._tokens is None:
            self._tokens = _tokens(self.chat_stream, ref(self))
        return self._tokens

    def async_response_gen(self) -> AsyncGenerator[str, None]:
        """Async version of `response_gen`."""
        if self._atokens is None:
            self._atokens = _atokens(self.achat_stream, ref(self))
        return self._atokens

    def __str__(self) -> str:
        """The answer, once it was read."""
        return (self.streamed.response_txt if self.streamed else None) or self.response


def to_response(
    answer: Answer, response_format: ResponseFormat | None = None
) -> Response | PydanticResponse:
    """An answer as a response of a query engine.

    Args:
        answer: The answer.
        response_format: The schema of its object, where one was wanted.

    Returns:
        The response; of a pydantic model as the schema, it holds the instance. Its
        ``source_nodes`` are the references that the answer was given, in the order of its [n]
        markers.

    Example:
        >>> from skr_core.types import Decision
        >>> known = Answer("Where?", "Paris.", (), (), Decision(False), (), "known", {})
        >>> to_response(known).metadata["stop_reason"]
        'known'
    """
    nodes, metadata = _nodes(answer.references), _metadata(answer)
    if response_format is None:
        return Response(answer.text, nodes, metadata)
    metadata["structured_response"] = answer.structured
    given = response_format.given
    if isinstance(given, type) and issubclass(given, BaseModel):
        metadata["answer"] = answer.text
        return PydanticResponse(response_format.made_of(answer.structured), nodes, metadata)
    return Response(answer.text, nodes, metadata)


def told(answer: Answer) -> SKRStreamingResponse:
    """A whole answer as a stream of one piece, for a caller who reads streams."""
    whole = to_response(answer)
    pieces = (each for each in [answer.text])
    return SKRStreamingResponse(pieces, whole.source_nodes, whole.metadata, answer.text)


async def atold(answer: Answer) -> SKRAsyncStreamingResponse:
    """Async version of `told`."""

    async def pieces() -> AsyncGenerator[str, None]:
        yield answer.text

    whole = to_response(answer)
    return SKRAsyncStreamingResponse(pieces(), whole.source_nodes, whole.metadata, answer.text)


def with_answer(response: RESPONSE_TYPE, answer: Answer) -> RESPONSE_TYPE:
    """A synthesizer's response, whose metadata say how its nodes were found.

    Args:
        response: The response, whose text is the synthesizer's: its markers are not read.
        answer: The answer of the loop.
    """
    about = _metadata(replace(answer, citations=(), removed_markers=0))
    response.metadata = {**(response.metadata or {}), **about}
    return response


def to_chat_response(
    message: str, answer: Answer, response_format: ResponseFormat | None = None
) -> AgentChatResponse:
    """An answer as a response of a chat engine.

    Args:
        message: The user's message.
        answer: The answer to it.
        response_format: The schema of its object, where one was wanted; the object is then that of
            the ``raw_output`` of its source.
    """
    response = to_response(answer, response_format)
    source: Any = ToolOutput(
        content=answer.text,
        tool_name="query_engine",
        raw_input={"query": message},
        raw_output=response,
    )
    return AgentChatResponse(
        answer.text, [source], response.source_nodes, metadata=response.metadata
    )


def to_answer(question: str, response: Response | PydanticResponse) -> Answer:
    """A response of ours as an answer again, without its rounds and usage.

    Args:
        question: The question, as it was asked.
        response: The response, of `to_response` or read from a stream.
    """
    about: Any = response.metadata
    references = tuple(to_reference(each) for each in response.source_nodes)
    return Answer(
        question=question,
        text=about["answer"] if "answer" in about else str(response.response or ""),
        citations=tuple(
            replace(from_plain(Citation, each), reference_id=references[each["marker"] - 1].id)
            for each in about["citations"]
        ),
        references=references,
        decision=from_plain(Decision, about["decision"]),
        rounds=(),
        stop_reason=about["stop_reason"],
        usage={task: from_plain(Usage, each) for task, each in about["usage"].items()},
        removed_markers=about["removed_markers"],
        grounded=about["grounded"],
        sufficient=about["sufficient"],
        missing=about["missing"],
        verdict=from_plain(Verdict, about["verdict"]) if "verdict" in about else None,
        structured=about.get("structured_response"),
        chance=about["chance"],
    )


# The generators below know their response weakly: in a cycle of references, a stream that is
# dropped half read would be closed by the garbage collector, from its inside and its outside at
# once.


def stream_response(run: GraphRun) -> SKRStreamingResponse:
    """Run up to the answer's first token; the rest as the response is consumed."""
    tokens = run.tokens()
    first = next(tokens, "")
    response = SKRStreamingResponse(tokens, _nodes(run.references), {})
    response.response_gen = _rest(first, tokens, run, ref(response))
    return response


async def astream_response(run: GraphRun) -> SKRAsyncStreamingResponse:
    """Async version of `stream_response`."""
    tokens = run.atokens()
    first = await anext(tokens, "")
    response = SKRAsyncStreamingResponse(tokens, _nodes(run.references), {})
    response.response_gen = _arest(first, tokens, run, ref(response))
    return response


def stream_chat_response(
    message: str, run: GraphRun, remember: Callable[[str], None]
) -> SKRStreamingChatResponse:
    """Run up to the answer's first token; the rest as the response is consumed.

    Args:
        message: The user's message.
        run: The run of the graph.
        remember: A function that is called with the whole answer at its end.
    """
    streamed, sources = stream_response(run), list[ToolOutput]()

    def end() -> None:
        remember(run.answer.text)
        sources.extend(to_chat_response(message, run.answer, run.response_format).sources)

    return SKRStreamingChatResponse(
        sources=sources,  # at the end; there is no answer before
        chat_stream=_chats(streamed, end),
        source_nodes=streamed.source_nodes,
        is_writing_to_memory=False,
        streamed=streamed,
    )


async def astream_chat_response(
    message: str, run: GraphRun, remember: Callable[[str], Awaitable[None]]
) -> SKRStreamingChatResponse:
    """Async version of `stream_chat_response`."""
    streamed, sources = await astream_response(run), list[ToolOutput]()

    async def end() -> None:
        await remember(run.answer.text)
        sources.extend(to_chat_response(message, run.answer, run.response_format).sources)

    return SKRStreamingChatResponse(
        sources=sources,
        achat_stream=_achats(streamed, end),
        source_nodes=streamed.source_nodes,
        is_writing_to_memory=False,
        streamed=streamed,
    )


def _rest(
    first: str, tokens: Generator[str, None, None], run: GraphRun, response: ref[StreamingResponse]
) -> Generator[str, None, None]:
    with closing(tokens):
        yield first
        yield from tokens
    _fill(response(), run.answer)


async def _arest(
    first: str,
    tokens: AsyncGenerator[str, None],
    run: GraphRun,
    response: ref[AsyncStreamingResponse],
) -> AsyncGenerator[str, None]:
    async with aclosing(tokens):
        yield first
        async for token in tokens:
            yield token
    _fill(response(), run.answer)


def _fill(response: StreamingResponse | AsyncStreamingResponse | None, answer: Answer) -> None:
    if response is None:  # only its tokens were kept
        return
    # In place: an engine around this one may hold the list, or have added metadata.
    response.source_nodes[:] = _nodes(answer.references)
    response.metadata = {**(response.metadata or {}), **_metadata(answer)}
    response.response_txt = answer.text


def _chats(
    streamed: SKRStreamingResponse, end: Callable[[], None]
) -> Generator[ChatResponse, None, None]:
    said = ""
    tokens: Any = streamed.response_gen
    with closing(tokens):
        for token in tokens:
            said += token
            yield ChatResponse(message=ChatMessage(said, role="assistant"), delta=token)
    end()


async def _achats(
    streamed: SKRAsyncStreamingResponse, end: Callable[[], Awaitable[None]]
) -> AsyncGenerator[ChatResponse, None]:
    said = ""
    tokens: Any = streamed.response_gen
    async with aclosing(tokens):
        async for token in tokens:
            said += token
            yield ChatResponse(message=ChatMessage(said, role="assistant"), delta=token)
    await end()


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
        response.response, response.is_done = str(response), True


def _nodes(references: Sequence[Reference]) -> list[NodeWithScore]:
    return [to_node(reference) for reference in references]


def _metadata(answer: Answer) -> dict[str, Any]:
    metadata: dict[str, Any] = {key: to_plain(getattr(answer, key)) for key in METADATA}
    if answer.structured is not None:
        metadata["structured_response"] = answer.structured
    if answer.verdict is not None:
        metadata["verdict"] = to_plain(answer.verdict)
    node_ids = {each.id: to_node(each).node.node_id for each in answer.references}
    for citation in metadata["citations"]:
        citation["reference_id"] = node_ids[citation["reference_id"]]
    return metadata
