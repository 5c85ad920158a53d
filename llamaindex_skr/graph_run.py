"""GraphRun: one question's way through the graph, in both colours.

Example:
    >>> from skr_core.testing import ScriptedModel
    >>> from skr_core.routers import NeverRetrieve
    >>> from skr_graphs import SKRContext, create_self_completion_graph
    >>> graph = create_self_completion_graph(model=ScriptedModel(["In Paris."])).compile()
    >>> run = GraphRun(graph, "Where?", SKRContext(router=NeverRetrieve(), stream=True))
    >>> list(run.tokens())
    ['In', ' Paris.']
    >>> run.answer.stop_reason
    'known'
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llama_index.core.instrumentation.span import active_span_id

from llamaindex_skr.events import tell
from skr_core.types import Answer, Reference
from skr_graphs.context import SKRContext
from skr_graphs.sources import StreamedSources

if TYPE_CHECKING:
    from skr_graphs import CompiledGraph, SKROutput


class GraphRun:
    """Tells LlamaIndex the graph's events, yields the answer's tokens, keeps the answer.

    Events belong to the span that was open when the run was made, wherever it is consumed.

    Args:
        graph: A compiled self-completion graph.
        question: The user's.
        context: What differs from the graph's own.
        history: What was said before, as LangGraph takes messages: role and content.
        stream: Whether the answer's tokens are read as they come; by default the context says so.

    Attributes:
        references: What the tokens that come now may cite.
    """

    def __init__(
        self,
        graph: CompiledGraph,
        question: str,
        context: SKRContext | None = None,
        *,
        history: Sequence[dict[str, str]] = (),
        stream: bool | None = None,
    ) -> None:
        from skr_graphs.state import OUTPUT_KEYS  # LangGraph is loaded when it is used

        self._graph: Any = graph  # its overloads know no list of stream modes
        context = context or SKRContext()
        # A context of its own: each run is closed by itself.
        self._context = replace(context, stream=context.stream if stream is None else stream)
        given: dict[str, Any] = {"question": question}
        if history:
            given["history"] = list(history)
        self._asked: dict[str, Any] = {
            "input": given,
            "context": self._context,
            "stream_mode": ["custom", "values"],
            "output_keys": list(OUTPUT_KEYS),
        }
        self._span_id = active_span_id.get()
        self._output: SKROutput | None = None
        self._sources = StreamedSources()
        self.references: Sequence[Reference] = ()

    @property
    def answer(self) -> Answer:
        """The answer, once the run has come to its end."""
        from skr_graphs import answer_of

        if self._output is None or not self._output.get("stop_reason"):
            raise RuntimeError("the run has not come to its end: consume its tokens first")
        return answer_of(self._output)

    def tokens(self) -> Generator[str, None, None]:
        """Run with blocking calls; yields the final answer's tokens, and no others.

        Closing it ends the model's reply.
        """
        chunks = self._graph.stream(**self._asked)
        with self._context.reading(chunks):
            for mode, chunk in chunks:
                if token := self._take(mode, chunk):
                    yield token

    async def atokens(self) -> AsyncGenerator[str, None]:
        """The same with awaited calls."""
        async with aclosing(self._graph.astream(**self._asked)) as chunks:
            async for mode, chunk in chunks:
                if token := self._take(mode, chunk):
                    yield token

    def complete(self) -> Answer:
        """Run to the end with blocking calls."""
        for _ in self.tokens():
            pass
        return self.answer

    async def acomplete(self) -> Answer:
        """Run to the end with awaited calls."""
        async for _ in self.atokens():
            pass
        return self.answer

    def _take(self, mode: str, chunk: Any) -> str:
        if mode == "values":
            self._output = chunk
        elif chunk["type"] == "token":
            return str(chunk["text"])
        else:
            tell(chunk, self._span_id)
            references = self._sources.take(chunk)
            self.references = self.references if references is None else references
        return ""
