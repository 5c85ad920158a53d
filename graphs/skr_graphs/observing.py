"""Logging and tracing of a question: one line of the log, and attributes of the current span.

Tracers see each node, call and search already, because LangGraph runs them through LangChain's
callbacks. The decisions, which they cannot see, become attributes of the OpenTelemetry span that is
current when the question ends, with OpenInference's names. The log and the span hold numbers and
names, never the text of questions, references, answers or errors.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

from langgraph.errors import GraphBubbleUp

from skr_core.budget import Budget, cost
from skr_core.flow import Flow
from skr_graphs.events import Plain
from skr_graphs.state import Update, usage_of

_LOG = logging.getLogger("skr_graphs")
_WARNED: set[str] = set()


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
        "seconds": time.time() - state["asked"]["started_at"],
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
