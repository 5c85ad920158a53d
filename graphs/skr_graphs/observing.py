"""observed: each step as a span of OpenTelemetry and a line of the log.

Spans are made where something in the process has set a provider of OpenTelemetry's, for nobody
else can have said where they go; it is imported by nothing here. A step's span lies within its
question's (`question_span`), or in a graph of one's own within the one that is open where it is
called, and around those that its model and its retriever open.

The log ``skr_graphs.observing`` tells each question at INFO and each step at DEBUG. Records and
spans hold numbers and names alone, never what was asked, found, answered or raised: see `Told`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from langgraph.errors import GraphBubbleUp
from langgraph.types import Command
from typing_extensions import TypedDict

from skr_core.budget import Price, cost
from skr_core.errors import RetrieverError
from skr_core.flow import Flow
from skr_core.types import NO_USAGE, Usage
from skr_graphs.question_span import mark_as_failed, opentelemetry, tell_question
from skr_graphs.state import Plain, U

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_LOG = logging.getLogger(__name__)
_NOT_RECORDED = nullcontext[None]()

OBSERVED = ("asked", "usage", "rounds", "stop_reason")
"""What of the state a step's update is compared with."""

OF_A_STEP = ("node", "references", "error", "seconds")
"""What is told of a step and not of its question."""


class Told(TypedDict, total=False):
    """``extra`` of a log record; attributes of a span, where each name begins with ``skr.``.

    Attributes:
        node: The step's name.
        question_id: Of the message that the question stands in.
        thread_id: As the caller configured it.
        run_id: As the caller configured it.
        round: Of retrieval, counted from 1; 0 before the first.
        calls: Of the model, in this step; as the next three, of a question in all.
        prompt_tokens: Sent.
        completion_tokens: Received.
        cost: US dollars, where the budget has a price.
        retrieve: What the router decided.
        references: How many a search found.
        stop_reason: Why the loop ended, from the step on that ended it.
        grounded: Whether a question's answer rests on references.
        error: The class of what the step raised, or of a search that failed.
        seconds: That the step took; of a question, since it was asked.
    """

    node: str
    question_id: str
    thread_id: str
    run_id: str
    round: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    retrieve: bool
    references: int
    stop_reason: str
    grounded: bool
    error: str
    seconds: float


class Before(NamedTuple):
    """What is known when a step begins.

    Attributes:
        state: What it held of `OBSERVED`; empty where a run begins.
        thread_id: As the caller configured it.
        run_id: As the caller configured it.
        price: Of the model's tokens.
    """

    state: Mapping[str, Any] = MappingProxyType({})
    thread_id: str | None = None
    run_id: str | None = None
    price: Price | None = None


def observed(flow: Flow[U], node: str, before: Before | None = None) -> Flow[U]:
    """The same step, in a span of its own and told to the log.

    Args:
        flow: Returns the step's update.
        node: The step's name.
        before: What is known when it begins; of a step in a graph of one's own, whose state is not
            ours, nothing.
    """
    began = time.perf_counter()
    with _span(node) as span:
        try:
            update = yield from flow
        except GraphBubbleUp:  # an interrupt is no failure
            raise
        except Exception as failure:
            told = _told(node, {}, before or Before())
            told["error"] = type(failure).__name__
            _describe(span, told)
            told["seconds"] = time.perf_counter() - began
            _LOG.info("%s failed: %s", node, told["error"], extra=told)
            raise
        if span is not None or _LOG.isEnabledFor(logging.INFO):
            changed: Any = update.update if isinstance(update, Command) else update
            told = _told(node, changed, before) if before else Told(node=node)
            _describe(span, told)
            told["seconds"] = time.perf_counter() - began
            _LOG.debug("%s", node, extra=told)
            if before:
                _tell_question(told, changed, before)
    return update


def _span(node: str) -> AbstractContextManager[Span | None]:
    """The step's span, where one is recorded."""
    trace = opentelemetry()
    return _NOT_RECORDED if trace is None else _recorded(node, trace.get_tracer("skr_graphs"))


@contextmanager
def _recorded(node: str, tracer: Tracer) -> Iterator[Span | None]:
    # An exception's message may name what was asked.
    with tracer.start_as_current_span(
        f"skr.{node}", record_exception=False, set_status_on_exception=False
    ) as span:
        yield span if span.is_recording() else None


def _describe(span: Span | None, told: Told) -> None:
    if span is None:
        return
    span.set_attributes({f"skr.{name}": cast(Any, each) for name, each in told.items()})
    if "error" in told:
        mark_as_failed(span, told["error"])


def _told(node: str, update: Mapping[str, Any], before: Before) -> Told:
    state = before.state
    decision = update.get("decision") if node == "route" else None
    found = update.get("found")
    rounds = update.get("rounds", state.get("rounds")) or ()
    known = {
        "node": node,
        "question_id": (update.get("asked") or state.get("asked") or {}).get("id"),
        "thread_id": before.thread_id,
        "run_id": before.run_id,
        "round": len(rounds) + (node == "retrieve"),
        **_spent(update.get("usage"), state.get("usage"), before.price),
        "retrieve": decision and decision["retrieve"],
        "references": found and len(found["references"]),
        "error": RetrieverError.__name__ if found and found["error"] else None,
        "stop_reason": update.get("stop_reason") or state.get("stop_reason") or None,
    }
    return cast(Told, {name: each for name, each in known.items() if each is not None})


def _tell_question(told: Told, update: Mapping[str, Any], before: Before) -> None:
    """Tell what the question has spent so far, and once its answer stands the log of it."""
    state = before.state
    spent = _spent(update.get("usage", state.get("usage")), {}, before.price)
    total = {name: each for name, each in {**told, **spent}.items() if each is not None}
    answered = bool(state) and "messages" in update
    if answered:
        total["grounded"] = bool(update.get("grounded", state.get("grounded")))
    tell_question({name: each for name, each in total.items() if name not in OF_A_STEP})
    if answered:
        total["seconds"] = time.time() - state["asked"]["started_at"]
        _LOG.info("answered: %s", total.get("stop_reason"), extra=total)


def _spent(
    after: Mapping[str, Plain] | None, before: Mapping[str, Plain] | None, price: Price | None
) -> Plain:
    """What was spent between two states; nothing where a step says nothing of it."""
    spent, had = _total(before if after is None else after), _total(before)
    prompt = spent.prompt_tokens - had.prompt_tokens
    completion = spent.completion_tokens - had.completion_tokens
    return {
        "calls": spent.calls - had.calls,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cost": None if price is None else cost(Usage(prompt, completion), price),
    }


def _total(usage: Mapping[str, Plain] | None) -> Usage:
    return sum((Usage(**each) for each in (usage or {}).values()), NO_USAGE)
