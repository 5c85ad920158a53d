"""The chain that gives an answer with its sources, whole or in pieces that add up.

Example:
    >>> pieces = [{"answer": "Par"}, {"answer": "is"}, {"grounded": False}]
    >>> sum(map(SourcesChunk, pieces), SourcesChunk())
    {'answer': 'Paris', 'grounded': False}
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, NotRequired

from langchain_core.documents import Document
from langchain_core.runnables import AddableDict, RunnableConfig
from langchain_core.utils.uuid import uuid7
from typing_extensions import TypedDict

from langchain_skr.chain import Asked, GraphChain, as_mapping
from langchain_skr.documents import to_document
from skr_core.plain import from_plain
from skr_core.types import Reference
from skr_graphs import CompiledGraph, StreamedSources
from skr_graphs.graph import response_format_of
from skr_graphs.state import OUTPUT_KEYS

_ENDED = (
    *("stop_reason", "grounded", "sufficient", "missing", "chance"),
    *("decision", "rounds", "usage", "verdict"),
)
_RETRACTED = ("answer", "context")
_STREAMED: dict[str, Any] = {
    "stream_mode": ["custom", "values"],
    "output_keys": list(OUTPUT_KEYS),
}


class AnswerWithSources(TypedDict):
    """The answer of a chain with ``return_sources=True``, beside all keys that it was given.

    It has the shape of ``create_retrieval_chain``.

    Attributes:
        question: The question, where the input was a string or had this key.
        input: The question, where the input had this key.
        context: The documents that the answer was given; its [n] markers count these from 1. Empty
            where the model answered from its own knowledge.
        answer: The text.
        citations: The markers, resolved: `skr_core.types.Citation` as plain values, whose
            ``reference_id`` is the document's id, where it has one.
        stop_reason: Why the loop ended.
        grounded: Whether the answer rests on its context, see `skr_core.types.Answer`.
        sufficient: Whether it is held to answer the whole question.
        missing: The information that was found missing; may be empty.
        chance: The estimated chance that the answer is right; None where none is estimated.
        decision: The router's decision whether to retrieve: `skr_core.types.Decision` as plain
            values; so are the rounds and the usage, as in `skr_graphs.SKROutput`.
        rounds: The rounds: what each searched, found, drafted and concluded.
        usage: The cost by task.
        run_id: The id of the run, for feedback: the config's own, where it has one.
        verdict: With an arbiter, which of the answers it is and why: `skr_core.types.Verdict` as
            plain values.
        structured_response: With a ``response_format``, the object whose JSON the answer is: an
            instance of the caller's class, or a dict; None where there is no answer.
    """

    question: NotRequired[str]
    input: NotRequired[str]
    context: list[Document]
    answer: str
    citations: list[dict[str, Any]]
    stop_reason: str
    grounded: bool
    sufficient: bool
    missing: str
    chance: float | None
    decision: dict[str, Any]
    rounds: list[dict[str, Any]]
    usage: dict[str, dict[str, Any]]
    run_id: str
    verdict: NotRequired[dict[str, Any]]
    structured_response: NotRequired[Any]


_MADE = AnswerWithSources.__annotations__.keys() - {"question", "input"}


class SourcesChunk(AddableDict):
    """A piece of an answer with sources; pieces add up to the whole.

    A piece ``{"retract": True}`` takes back the answer so far, with its context: the sum holds
    neither, and whoever shows the pieces as they come clears them.

    Example:
        >>> pieces = [{"answer": "Ly"}, {"retract": True}, {"answer": "Par"}, {"answer": "is"}]
        >>> sum(map(SourcesChunk, pieces), SourcesChunk(context=[]))
        {'answer': 'Paris'}
    """

    def __add__(self, other: Mapping[str, Any]) -> SourcesChunk:
        if "retract" in other:
            return SourcesChunk({key: self[key] for key in self if key not in _RETRACTED})
        whole = SourcesChunk({**self, **other})
        if "answer" in self and "answer" in other:
            whole["answer"] = self["answer"] + other["answer"]
        return whole

    def __radd__(self, other: Mapping[str, Any]) -> SourcesChunk:
        return SourcesChunk(other) + self


class SKRSourcesChain(GraphChain[AnswerWithSources]):
    """From a question to its answer with sources; made with ``return_sources=True``.

    The input's keys are in the output too, as in that of LangChain's ``create_retrieval_chain``.
    """

    @property
    def OutputType(self) -> type[AnswerWithSources]:
        """The answer and its sources."""
        return AnswerWithSources

    def invoke(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AnswerWithSources:
        """Answer a question, given as `Asked` says."""
        call = self._call(input, config, kwargs)
        return _with_sources(input, self._untyped.invoke(**call), call, self.graph)

    async def ainvoke(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AnswerWithSources:
        """Async version of `invoke`."""
        call = self._call(input, config, kwargs)
        return _with_sources(input, await self._untyped.ainvoke(**call), call, self.graph)

    def stream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Yield the input, the context, the final answer's tokens, then the rest.

        The pieces are `SourcesChunk`: they add up to the result of `invoke`. Closing it ends the
        model's reply.
        """
        call = self._call(input, config, kwargs, **_STREAMED)
        pieces = _Pieces(input, call, self.graph)
        events: Any = self._untyped.stream(**call)
        with call["context"].reading(events):
            for mode, event in events:
                yield from pieces.take(mode, event)
        yield pieces.rest()

    async def astream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Async version of `stream`."""
        call = self._call(input, config, kwargs, **_STREAMED)
        pieces = _Pieces(input, call, self.graph)
        async with aclosing(self._untyped.astream(**call)) as events:
            async for mode, event in events:
                for piece in pieces.take(mode, event):
                    yield piece
        yield pieces.rest()

    def _call(
        self, asked: Asked, config: RunnableConfig | None, bound: Mapping[str, Any], **options: Any
    ) -> dict[str, Any]:
        """As for every chain, with an id of the run that can be told."""
        named: RunnableConfig = {**(config or {})}
        named["run_id"] = named.get("run_id") or uuid7()
        return super()._call(asked, named, bound, **options)


class _Pieces:
    """Makes the pieces of an answer with sources of the graph's events."""

    def __init__(self, asked: Asked, call: Mapping[str, Any], graph: CompiledGraph) -> None:
        self._graph = graph
        given = as_mapping(asked).items()
        self._call = call
        # The output's own keys take the place of the input's of the same names.
        self._asked = SourcesChunk({key: value for key, value in given if key not in _MADE})
        self._so_far = SourcesChunk()
        self._begun = False
        self._sources = StreamedSources()
        self._output: Any = {}

    def take(self, mode: str, event: Any) -> Iterator[SourcesChunk]:
        """The pieces that an event makes, where it makes any."""
        # Not before the run has begun: LangChain's `astream_events` takes it for ended, and stops.
        if not self._begun:
            self._begun = True
            yield self._asked
        if mode == "values":
            self._output = event
            return
        piece: dict[str, Any] | None = None
        if event["type"] == "token":
            piece = {"answer": event["text"]}
        elif event["type"] == "retract":
            piece = {"retract": True}
        elif (references := self._sources.take(event)) is not None:
            piece = {"context": [to_document(reference) for reference in references]}
        if piece is not None:
            self._so_far += SourcesChunk(piece)
            yield SourcesChunk(piece)

    def rest(self) -> SourcesChunk:
        """What no piece has brought yet, or another value of it."""
        whole = _with_sources(self._asked, self._output, self._call, self._graph)
        sent = self._asked + self._so_far
        new = {key: each for key, each in whole.items() if key not in sent or sent[key] != each}
        return SourcesChunk(new)


def _with_sources(
    asked: Asked, output: Any, call: Mapping[str, Any], graph: CompiledGraph
) -> AnswerWithSources:
    """The graph's output, with the input's keys and the id of its run."""
    context = [to_document(from_plain(Reference, each)) for each in output["references"]]
    citations = [
        {**each, "reference_id": context[each["marker"] - 1].id or each["reference_id"]}
        for each in output["citations"]
    ]
    ended = {key: output[key] for key in _ENDED if key in output}
    ended["run_id"] = str(call["config"]["run_id"])
    answered = {"context": context, "answer": output["answer"], "citations": citations}
    if wanted := response_format_of(graph):
        ended["structured_response"] = wanted.made_of(output["structured_response"])
    whole: Any = {**as_mapping(asked), **answered, **ended}
    answer: AnswerWithSources = whole
    return answer
