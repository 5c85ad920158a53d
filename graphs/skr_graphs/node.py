"""`as_node` and `as_edge`: what LangGraph runs in both colours, without a thread of its own.

LangGraph runs a plain function in a thread under ``ainvoke`` and cannot run an ``async def`` under
``invoke``; a bare generator given to ``add_node`` fails without a word. A runnable holds both
forms, and these open no run of their own in traces: LangGraph has opened one for the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Send

from skr_core.bounds import bounded
from skr_core.flow import Flow, arun, run
from skr_core.settings import Settings
from skr_graphs.context import SettingsOfRuns, SKRContext
from skr_graphs.events import Event
from skr_graphs.limits import bounds_of
from skr_graphs.nostream import unstreamed
from skr_graphs.observing import Before, observed
from skr_graphs.state import LARGE, Plain, SKRState, U, Update
from skr_graphs.streaming import messages_are_streamed

_NO_CONTEXT = SKRContext()

Edge = Callable[[SKRState], str | list[Send]]
"""Names the node that comes next, or sends out several; a pure function."""


class StepContext(NamedTuple):
    """What a step works with beside the state.

    Attributes:
        settings: The system's.
        write: Tells an event to whoever listens.
        stream: Whether somebody reads the answer's tokens as they are made.
        stream_undecided: Whether they read those that an arbiter may take back.
        is_closed: Says whether they have stopped reading.
    """

    settings: Settings
    write: Callable[[Event], None]
    stream: bool
    stream_undecided: bool = False
    is_closed: Callable[[], bool] = lambda: False


Step = Callable[[Any, StepContext], Flow[Update]]
"""Takes the state and what it works with; returns an update."""


def as_node(
    step: Step,
    settings: SettingsOfRuns,
    *,
    reads: Sequence[str] = LARGE,
    begins: bool = False,
) -> Runnable[Any, Update]:
    """Wrap a step for ``add_node``: a flow becomes a blocking and an awaited form.

    The node is handed a `StepState`; the references are read here, so that a trace does not repeat
    them with the input of every node. Its calls keep to what is left of the run's budget. It is
    told as `skr_graphs.observing` says.

    Args:
        step: The flow.
        settings: Of the graph.
        reads: What of the state it is given beside what it is handed.
        begins: Whether a run begins with it: what the state holds is of the run before.
    """

    name = step.__name__

    def flow(state: Any) -> Flow[Update]:
        config = get_config()
        runtime: Runtime[Any] = get_runtime(SKRContext)
        context = _step_context(settings, config, runtime)
        budget = context.settings.budget
        known = {**_read(config, reads), **state}
        before = {} if begins else known
        made = bounded(step(known, context), bounds_of(before, budget))
        info = runtime.execution_info
        ids = (info.thread_id, info.run_id) if info else (None, None)
        return observed(made, name, Before(before, *ids, budget.price))

    return FlowNode(name, flow)


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


class FlowNode(Runnable[Any, U]):
    """A flow from a state to an update, in both colours.

    Args:
        name: Of the node.
        flow: Makes the flow of a state.
    """

    def __init__(self, name: str, flow: Callable[[Any], Flow[U]]) -> None:
        self.name = name
        self._flow = flow

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> U:
        """The update of this state."""
        with unstreamed():
            return run(self._flow(input))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> U:
        """The same, awaited."""
        with unstreamed():
            return await arun(self._flow(input))


def _read(config: RunnableConfig, keys: Sequence[str]) -> Plain:
    """What of the state a node is not handed; LangGraph's own tool node reads the state so, too."""
    found: Plain = config["configurable"]["__pregel_read"](list(keys), False) if keys else {}
    return found


def _step_context(
    settings: SettingsOfRuns, config: RunnableConfig, runtime: Runtime[Any]
) -> StepContext:
    """Of the run that LangGraph is in."""
    context = runtime.context
    ours = context if isinstance(context, SKRContext) else _NO_CONTEXT
    stream = messages_are_streamed(config) if ours.stream is None else ours.stream
    return StepContext(
        settings.of(context),
        runtime.stream_writer,
        stream,
        ours.stream_undecided,
        ours.closed.is_set,
    )
