"""Answers as LlamaIndex responses: whole, or streamed.

A streamed response is made when the answer's first token is there, so everything before it, and
whatever fails in it, happens inside ``query``, as with LlamaIndex's own engines. Its
``source_nodes`` are those that the streamed draft was given; its ``metadata`` and ``response_txt``
are filled when the stream ends. The text and the nodes are then the final answer's, also where a
draft that was taken back was streamed before it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any
from weakref import ref

from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.schema import NodeWithScore

from llamaindex_skr.graph_run import GraphRun
from llamaindex_skr.nodes import to_node, to_reference
from skr_core.plain import from_plain, to_plain
from skr_core.types import Answer, Citation, Decision, Reference, Verdict

UNREAD = "(a stream that was not read: await response.get_response())"
"""What an awaited stream says as a string before it is read: an empty one would say nothing."""

METADATA = (
    "decision",
    "rounds",
    "stop_reason",
    "grounded",
    "citations",
    "usage",
    "removed_markers",
)
"""What of an `Answer` goes into a response's ``metadata``, as plain values; and its ``verdict``,
where an arbiter gave one.

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
            print(self.response_txt)  # noqa: T201 - what it is asked for
        for token in self.response_gen:
            print(token, end="", flush=True)  # noqa: T201


class SKRAsyncStreamingResponse(AsyncStreamingResponse):
    """An awaited stream that ends with its reader, and is safe to turn into a string."""

    async def async_response_gen(self) -> AsyncGenerator[str, None]:
        """The final answer's tokens; closing it ends the model's reply."""
        tokens: Any = self.response_gen
        async with aclosing(tokens), aclosing(super()._yield_response()) as pieces:
            async for piece in pieces:
                yield piece

    def __str__(self) -> str:
        """What was read so far; it is awaiting that reads on.

        LlamaIndex reads on in another thread, whose loop waits for the tasks of this one, which
        waits for that thread.
        """
        return self.response_txt or UNREAD


def to_response(answer: Answer) -> Response:
    """An answer as a response.

    Returns:
        ``source_nodes`` are what the answer was given, in the order of its [n] markers.

    Example:
        >>> from skr_core.types import Decision
        >>> known = Answer("Where?", "Paris.", (), (), Decision(False), (), "known", {})
        >>> to_response(known).metadata["stop_reason"]
        'known'
    """
    return Response(answer.text, _nodes(answer.references), _metadata(answer))


def to_answer(question: str, response: Response) -> Answer:
    """A response of ours as an answer again, without its rounds and usage."""
    about: Any = response.metadata
    references = tuple(to_reference(each) for each in response.source_nodes)
    return Answer(
        question=question,
        text=response.response or "",
        citations=tuple(
            replace(from_plain(Citation, each), reference_id=references[each["marker"] - 1].id)
            for each in about["citations"]
        ),
        references=references,
        decision=from_plain(Decision, about["decision"]),
        rounds=(),
        stop_reason=about["stop_reason"],
        usage={},
        removed_markers=about["removed_markers"],
        grounded=about["grounded"],
        verdict=from_plain(Verdict, about["verdict"]) if "verdict" in about else None,
    )


def stream_response(run: GraphRun) -> SKRStreamingResponse:
    """Run up to the answer's first token; the rest as the response is consumed."""
    tokens = run.tokens()
    first = next(tokens, "")
    response = SKRStreamingResponse(tokens, _nodes(run.references), {})
    response.response_gen = _rest(first, tokens, run, ref(response))
    return response


async def astream_response(run: GraphRun) -> SKRAsyncStreamingResponse:
    """The same, awaited."""
    tokens = run.atokens()
    first = await anext(tokens, "")
    response = SKRAsyncStreamingResponse(tokens, _nodes(run.references), {})
    response.response_gen = _arest(first, tokens, run, ref(response))
    return response


# They know the response weakly: in a cycle of references, a stream that is dropped half read would
# be closed by the garbage collector, from its inside and its outside at once.


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
    # Into what is there: an engine around this one may hold the list, or have added metadata.
    response.source_nodes[:] = _nodes(answer.references)
    response.metadata = {**(response.metadata or {}), **_metadata(answer)}
    response.response_txt = answer.text


def _nodes(references: Sequence[Reference]) -> list[NodeWithScore]:
    return [to_node(reference) for reference in references]


def _metadata(answer: Answer) -> dict[str, Any]:
    metadata: dict[str, Any] = {key: to_plain(getattr(answer, key)) for key in METADATA}
    if answer.verdict is not None:
        metadata["verdict"] = to_plain(answer.verdict)
    node_ids = {each.id: to_node(each).node.node_id for each in answer.references}
    for citation in metadata["citations"]:
        citation["reference_id"] = node_ids[citation["reference_id"]]
    return metadata
