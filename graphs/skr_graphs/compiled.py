"""The graph, uncompiled and compiled: LangGraph's own, whose runs are questions in traces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any

from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph

from skr_graphs.context import SKRContext
from skr_graphs.question_span import atraced, traced
from skr_graphs.state import SKRInput, SKROutput, SKRState

CompiledGraph = CompiledStateGraph[SKRState, SKRContext, SKRInput, SKROutput]


class TracedGraph(CompiledGraph):
    """A compiled graph, each of whose runs is a span: ``invoke`` and the rest call these two."""

    if not TYPE_CHECKING:  # the types are LangGraph's own

        @wraps(CompiledStateGraph.stream)
        def stream(self, *given: Any, **options: Any) -> Iterator[Any]:
            """As LangGraph's."""
            return traced(super().stream(*given, **options))

        @wraps(CompiledStateGraph.astream)
        def astream(self, *given: Any, **options: Any) -> AsyncIterator[Any]:
            """As LangGraph's."""
            return atraced(super().astream(*given, **options))


class SelfCompletionGraph(StateGraph[SKRState, SKRContext, SKRInput, SKROutput]):
    """A graph that `skr_graphs.create_self_completion_graph` builds."""

    if not TYPE_CHECKING:

        @wraps(StateGraph.compile)
        def compile(self, *given: Any, **options: Any) -> CompiledGraph:
            """As LangGraph's."""
            compiled = super().compile(*given, **options)
            compiled.__class__ = TracedGraph  # LangGraph's `compile` names the class itself
            return compiled
