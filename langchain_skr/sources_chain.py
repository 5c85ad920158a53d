"""The graph as a runnable from a question to its answer with sources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

from langchain_core.runnables import RunnableConfig

from langchain_skr.documents import to_document
from langchain_skr.graph_chain import GraphChain, context_of, refuse_bound
from langchain_skr.inputs import Asked, as_mapping, graph_input
from langchain_skr.sources import MADE, AnswerWithSources, SourcesChunk
from skr_core.plain import from_plain
from skr_core.types import Reference
from skr_graphs.sources import StreamedSources
from skr_graphs.state import OUTPUT_KEYS


class SKRSourcesChain(GraphChain[AnswerWithSources]):
    """From a question to its answer with sources; made with ``return_sources=True``.

    What it was asked with is in the output too, as in that of LangChain's
    ``create_retrieval_chain``.
    """

    @property
    def OutputType(self) -> type[AnswerWithSources]:
        """The answer and its sources."""
        return AnswerWithSources

    def invoke(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AnswerWithSources:
        """Answer a question, given as `langchain_skr.inputs.Asked` says."""
        refuse_bound(kwargs)
        output = self.graph.invoke(graph_input(input), config, context=context_of(config))
        return _with_sources(input, output)

    async def ainvoke(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AnswerWithSources:
        """The same, awaited."""
        refuse_bound(kwargs)
        output = await self.graph.ainvoke(graph_input(input), config, context=context_of(config))
        return _with_sources(input, output)

    def stream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Yield the input, the context, the final answer's tokens, then what is known at the end.

        The pieces are `SourcesChunk`: they add up to what `invoke` gives. Closing it ends the
        model's reply.
        """
        refuse_bound(kwargs)
        pieces = _Pieces(input)
        yield pieces.asked
        asked = self._streamed(input, config)
        events: Any = self.graph.stream(**asked)
        with asked["context"].reading(events):
            for mode, event in events:
                if piece := pieces.take(mode, event):
                    yield piece
        yield pieces.rest()

    async def astream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """The same, awaited."""
        refuse_bound(kwargs)
        pieces = _Pieces(input)
        yield pieces.asked
        events: Any = self.graph.astream(**self._streamed(input, config))
        async with aclosing(events):
            async for mode, event in events:
                if piece := pieces.take(mode, event):
                    yield piece
        yield pieces.rest()

    def _streamed(self, input: Asked, config: RunnableConfig | None) -> dict[str, Any]:
        return {
            "input": graph_input(input),
            "config": config,
            "context": context_of(config, stream=True),
            "stream_mode": ["custom", "values"],
            "output_keys": list(OUTPUT_KEYS),
        }


class _Pieces:
    """Makes the pieces of an answer with sources of what the graph tells while it runs."""

    def __init__(self, asked: Asked) -> None:
        given = as_mapping(asked).items()
        # The output's own keys take the place of what the input has under the same names.
        self.asked = SourcesChunk({key: value for key, value in given if key not in MADE})
        self._so_far = SourcesChunk()
        self._sources = StreamedSources()
        self._output: Any = {}

    def take(self, mode: str, event: Any) -> SourcesChunk | None:
        """The piece that an event makes, where it makes one."""
        if mode == "values":
            self._output = event
            return None
        piece: dict[str, Any] | None = None
        if event["type"] == "token":
            piece = {"answer": event["text"]}
        elif event["type"] == "retract":
            piece = {"retract": True}
        elif (references := self._sources.take(event)) is not None:
            piece = {"context": [to_document(reference) for reference in references]}
        if piece is None:
            return None
        self._so_far += SourcesChunk(piece)
        return SourcesChunk(piece)

    def rest(self) -> SourcesChunk:
        """What was not told yet, or otherwise."""
        whole = _with_sources(self.asked, self._output)
        told = self.asked + self._so_far
        new = {key: each for key, each in whole.items() if key not in told or told[key] != each}
        return SourcesChunk(new)


def _with_sources(asked: Asked, output: Any) -> AnswerWithSources:
    """The graph's output, with what it was asked with."""
    context = [to_document(from_plain(Reference, each)) for each in output["references"]]
    citations = [
        {**each, "reference_id": context[each["marker"] - 1].id or each["reference_id"]}
        for each in output["citations"]
    ]
    told = {key: output[key] for key in ("stop_reason", "grounded", "verdict") if key in output}
    answered = {"context": context, "answer": output["answer"], "citations": citations}
    whole: Any = {**as_mapping(asked), **answered, **told}
    answer: AnswerWithSources = whole
    return answer
