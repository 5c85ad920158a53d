"""GraphAnswerer: a compiled graph as something that answers questions."""

from __future__ import annotations

from typing import Any

from langgraph.graph.state import CompiledStateGraph

from skr_core.types import Answer
from skr_graphs.context import SKRContext
from skr_graphs.state import SKRInput, SKROutput, SKRState, answer_of

CompiledGraph = CompiledStateGraph[SKRState, SKRContext, SKRInput, SKROutput]


class GraphAnswerer:
    """Answers with a compiled self-completion graph.

    Args:
        graph: As `create_self_completion_graph` makes it, compiled.
        context: Passed to every run, for what differs from the graph's own.

    Example:
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> from skr_graphs import create_self_completion_graph
        >>> graph = create_self_completion_graph(
        ...     model=ScriptedModel(["Paris [1]."]),
        ...     retriever=MappingRetriever({"Capital?": ["Paris is the capital."]}),
        ... )
        >>> GraphAnswerer(graph.compile()).answer("Capital?").text
        'Paris [1].'
    """

    def __init__(self, graph: CompiledGraph, context: SKRContext | None = None) -> None:
        self._graph = graph
        self._context = context

    def answer(self, question: str) -> Answer:
        """Answer with blocking calls."""
        return answer_of(
            self._typed(self._graph.invoke({"question": question}, context=self._context))
        )

    async def aanswer(self, question: str) -> Answer:
        """Answer with awaited calls."""
        output = await self._graph.ainvoke({"question": question}, context=self._context)
        return answer_of(self._typed(output))

    @staticmethod
    def _typed(output: Any) -> SKROutput:
        typed: SKROutput = output
        return typed
