"""`as_node` and `as_edge`: what LangGraph runs in both colours, without a thread of its own.

LangGraph runs a plain function in a thread under ``ainvoke`` and cannot run an ``async def`` under
``invoke``; a bare generator given to ``add_node`` fails without a word. A runnable holds both
forms, and these open no run of their own in traces: LangGraph has opened one for the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Send

from skr_core.flow import Flow, arun, run
from skr_graphs.context import Resources, SKRContext
from skr_graphs.state import Plain, SKRState

Edge = Callable[[SKRState], str | list[Send]]
"""Names the node that comes next, or sends out several; a pure function."""

Step = Callable[[Any, Resources, Runtime[SKRContext]], Flow[Plain]]
"""Takes the state, what the run works with, and LangGraph's runtime; returns an update."""


def as_node(step: Step, defaults: SKRContext) -> Runnable[Any, Plain]:
    """Wrap a step for ``add_node``: a flow becomes a blocking and an awaited form.

    Args:
        step: The flow.
        defaults: Used where the run's context says nothing.
    """
    return _Node(step, defaults)


def as_edge(edge: Edge) -> Runnable[Any, str | list[Send]]:
    """Wrap an edge for ``add_conditional_edges``."""
    return _Edge(edge)


class _Edge(Runnable[Any, str | list[Send]]):
    def __init__(self, edge: Edge) -> None:
        self.name = edge.__name__
        self._edge = edge

    def invoke(
        self, input: Any, config: RunnableConfig | None = None, **_: Any
    ) -> str | list[Send]:
        return self._edge(input)

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **_: Any
    ) -> str | list[Send]:
        return self._edge(input)


class _Node(Runnable[Any, Plain]):
    def __init__(self, step: Step, defaults: SKRContext) -> None:
        self.name = step.__name__
        self._step = step
        self._defaults = defaults

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Plain:
        return run(self._flow(input))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Plain:
        return await arun(self._flow(input))

    def _flow(self, state: Any) -> Flow[Plain]:
        runtime = get_runtime(SKRContext)
        context: object = runtime.context
        # A sub-graph is handed its parent's context, which need not be one of ours.
        ours = context.over(self._defaults) if isinstance(context, SKRContext) else self._defaults
        return self._step(state, Resources.of(ours), runtime)
