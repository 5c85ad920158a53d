"""`as_node` and `as_edge`: run in LangGraph, sync and async, without a thread of their own.

LangGraph runs a plain function in a thread under ``ainvoke`` and cannot run an ``async def`` under
``invoke``; a bare generator given to ``add_node`` fails without a word. A runnable has both,
and these open no run of their own in traces: LangGraph has opened one for the node.

Where a step ends the question, that is one line of the log, and attributes of the current span with
OpenInference's names: tracers see each node, call and search already, because LangGraph runs them
through LangChain's callbacks, but not what was decided. The log and the span hold numbers and
names, never the text of questions, references, answers or errors.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig, ensure_config
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.config import get_config
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Send

from skr_core.bounds import UNBOUNDED, Bounds, bounded, steady_time
from skr_core.budget import Budget, cost
from skr_core.flow import Flow, arun, run
from skr_core.plain import Plain
from skr_core.settings import Settings
from skr_core.types import StopReason
from skr_graphs._compat import streams_messages
from skr_graphs.context import SettingsOfRuns, SKRContext
from skr_graphs.events import Event
from skr_graphs.state import SKRState, Update, usage_of

T = TypeVar("T")

_NO_CONTEXT = SKRContext()
_LOG = logging.getLogger("skr_graphs")
_WARNED: set[str] = set()


class StepContext(NamedTuple):
    """What a step works with beside the state.

    Attributes:
        settings: The settings of the run.
        write: The function that emits an event.
        stream: Whether somebody reads the answer's tokens as they are made.
        config: The config of the run.
        stream_undecided: Whether they also read tokens that an arbiter may take back.
        is_closed: The function that says whether they have stopped reading.
    """

    settings: Settings
    write: Callable[[Event], None]
    stream: bool
    config: RunnableConfig
    stream_undecided: bool = False
    is_closed: Callable[[], bool] = lambda: False


Step = Callable[[Any, StepContext], Flow[Update]]
"""A flow from the state, and what it works with, to an update."""

Edge = Callable[[SKRState], str | list[Send]]
"""A pure function that names the node that comes next, or sends out several."""


def as_node(step: Step, settings: SettingsOfRuns, *, begins: bool = False) -> FlowNode[Update]:
    """Wrap a step for ``add_node``.

    Its calls keep to what is left of the run's budget. The end of the question is reported, see
    `observed`.

    Args:
        step: The flow.
        settings: The graph's settings.
        begins: Whether a run begins with it, so that the state is that of the run before.
    """
    name = step.__name__

    def flow(state: Any) -> Flow[Update]:
        runtime: Runtime[Any] = get_runtime(SKRContext)
        before = {} if begins else state
        asked = before.get("asked", {})
        context = _step_context(settings, get_config(), runtime, asked)
        budget = context.settings.budget
        made = bounded(step(state, context), bounds_of(before, budget))
        thread_id = runtime.execution_info.thread_id if runtime.execution_info else None
        return observed(made, name, before, budget, thread_id)

    return FlowNode(name, flow)


def _step_context(
    settings: SettingsOfRuns, config: RunnableConfig, runtime: Runtime[Any], asked: Plain
) -> StepContext:
    context = runtime.context
    ours = context if isinstance(context, SKRContext) else _NO_CONTEXT
    made = settings.of(context).of_run(config, asked.get("system", ""), ours.variables)
    if asked:  # the first step has begun the question
        made = made.of_question((asked["id"], asked["started_at"]))
    stream = streams_messages(config) if ours.stream is None else ours.stream
    return StepContext(
        made,
        runtime.stream_writer,
        stream,
        config,
        ours.stream_undecided,
        ours.closed.is_set,
    )


def as_edge(edge: Edge) -> FlowNode[str | list[Send]]:
    """Wrap an edge for ``add_conditional_edges``."""

    def flow(state: SKRState) -> Flow[str | list[Send]]:
        yield from ()  # a flow, although it asks for no call
        return edge(state)

    return FlowNode(edge.__name__, flow)


class FlowNode(Runnable[Any, T]):
    """A flow from a state to an update, or to what comes next, as a sync and async runnable.

    Args:
        name: The node's name.
        flow: The function that makes the flow of a state.
    """

    def __init__(self, name: str, flow: Callable[[Any], Flow[T]]) -> None:
        self.name = name
        self._flow = flow

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> T:
        """Return the update of this state."""
        with unstreamed(config):
            flow = self._flow(input)
            with without_our_context():
                return run(flow)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> T:
        """Async version of `invoke`."""
        with unstreamed(config):
            flow = self._flow(input)
            with without_our_context():
                return await arun(flow)


@contextmanager
def unstreamed(config: RunnableConfig | None = None) -> Iterator[None]:
    """Keep what LangChain runs within this block out of LangGraph's stream of messages.

    What retrievers, routers and reflectors say with models of their own is no answer.

    Args:
        config: The config that they inherit; by default that of the run that is under way.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> tags = RunnableLambda(lambda _, config: config["tags"])
        >>> with unstreamed():
        ...     tags.invoke(None)
        ['nostream']
    """
    config = config or var_child_runnable_config.get() or {}
    tagged: RunnableConfig = {**config, "tags": [*(config.get("tags") or ()), TAG_NOSTREAM]}
    tagged.pop("run_name", None)  # of the run around, not of what runs within it
    tagged.pop("run_id", None)
    token = var_child_runnable_config.set(tagged)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


@contextmanager
def without_our_context() -> Iterator[None]:
    """Show what runs within this block the context of the graph around ours, where there is one.

    An `SKRContext` holds the settings of one graph. Another graph of ours that a retriever or a
    tool runs would inherit them, and the application's own context would be hidden.
    """
    config = var_child_runnable_config.get() or {}
    given = config.get("configurable", {})
    runtime = _runtime_in(given)
    if runtime is None or type(runtime.context) is not SKRContext:
        yield
        return
    around = runtime.override(context=runtime.context.around)
    shown = {name: around if each is runtime else each for name, each in given.items()}
    token = var_child_runnable_config.set({**config, "configurable": shown})
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def context_around(config: RunnableConfig | None = None) -> Any:
    """Return the context of the graph in whose node this is called; None outside of any.

    Args:
        config: The config that the caller was given.
    """
    runtime = _runtime_in(ensure_config(config).get("configurable", {}))
    return None if runtime is None else runtime.context


def _runtime_in(configurable: Mapping[str, Any]) -> Runtime[Any] | None:
    """The runtime that LangGraph keeps among what a config holds for its nodes."""
    return next((each for each in configurable.values() if isinstance(each, Runtime)), None)


def call_limit(state: SKRState, budget: Budget) -> StopReason | None:
    """The limit that forbids another call of the model, or None."""
    return budget.spent(usage_of(state), seconds=_seconds(state))


def round_limit(state: SKRState, budget: Budget) -> StopReason | None:
    """The limit that forbids another round, or None; a decision may allow fewer rounds."""
    return budget.reached(
        usage_of(state),
        rounds=len(state["rounds"]),
        seconds=_seconds(state),
        max_rounds=state["decision"]["max_rounds"],
    )


def bounds_of(state: Plain, budget: Budget) -> Bounds:
    """The time and the tokens that are left to the calls of a step.

    Args:
        state: The state, with ``asked`` and ``usage``; empty where the run begins.
        budget: The limits of the run.
    """
    if budget.deadline_s is None and not (budget.max_tokens or budget.max_reply_tokens):
        return UNBOUNDED
    seconds = budget.deadline_s
    if seconds is not None and "asked" in state:
        seconds -= _seconds(state)
    usage = usage_of({"usage": state.get("usage") or {}})
    return Bounds(Bounds.within(seconds).ends_at, budget.reply_tokens(usage))


def _seconds(state: SKRState | Plain) -> float:
    """The time since the question was asked."""
    passed: float = steady_time() - state["asked"]["started_at"]
    return passed


def observed(
    flow: Flow[Update], node: str, state: Plain, budget: Budget, thread_id: str | None
) -> Flow[Update]:
    """Run a step, and report the question where the step ends it.

    Args:
        flow: The step's work, which returns its update.
        node: The step's name.
        state: The state that the step was given; empty where the run begins.
        budget: The limits of the question, with the model's price.
        thread_id: The id of the conversation, as the caller configured it.
    """
    try:
        update = yield from flow
    except GraphBubbleUp:  # an interrupt is no failure
        raise
    except Exception as failure:
        error = type(failure).__name__
        _LOG.info("%s failed: %s", node, error, extra={"error": error, "thread_id": thread_id})
        raise
    if state and isinstance(update, dict) and "messages" in update:
        _report({**state, **update}, budget, thread_id)
    return update


def _report(state: Plain, budget: Budget, thread_id: str | None) -> None:
    """Log a question that was answered, and describe it on the current span."""
    usage, decision = usage_of(state), state["decision"]
    outcome: dict[str, Any] = {
        "retrieve": decision["retrieve"],
        "score": decision["score"],
        "threshold": decision["threshold"],
        "rounds": len(state["rounds"]),
        "stop_reason": state["stop_reason"],
        "grounded": bool(state["grounded"]),
        "calls": usage.calls,
        "cost": cost(usage, budget.price) if budget.price else None,
        "seconds": steady_time() - state["asked"]["started_at"],
    }
    tokens = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
    ids = {"question_id": state["asked"]["id"], "thread_id": thread_id}
    _LOG.info("answered: %s", state["stop_reason"], extra={**outcome, **tokens, **ids})

    # Whoever records spans has imported it.
    trace = sys.modules.get("opentelemetry.trace")
    span = trace.get_current_span() if trace else None
    if span is not None and span.is_recording():
        known = {name: each for name, each in outcome.items() if each is not None}
        attributes = {
            "openinference.span.kind": "CHAIN",
            "metadata": json.dumps(known),
            "llm.token_count.prompt": usage.prompt_tokens,
            "llm.token_count.prompt_details.cache_read": usage.cache_read_tokens,
            "llm.token_count.completion": usage.completion_tokens,
            "llm.token_count.total": usage.prompt_tokens + usage.completion_tokens,
        }
        span.set_attributes({**attributes, **({"session.id": thread_id} if thread_id else {})})


def warn_once(kind: str, error: str) -> None:
    """Log a failure that did not end the question: the first of each kind alone.

    Args:
        kind: The name of what failed, which the message cannot give: it quotes the question.
        error: The failure, as a round records it.
    """
    if kind not in _WARNED:
        _WARNED.add(kind)
        # One line, because what it quotes could pose as another message.
        _LOG.warning("%s (further ones are not logged)", " ".join(error.split()))
