"""The span of a question, which those of its steps lie in; `observing` tells what it spent.

A run of the graph is handed out in pieces, between which its caller does other things: the span is
the current one while the run is at work, and no longer.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from contextlib import aclosing, closing, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langgraph.errors import GraphBubbleUp

if TYPE_CHECKING:
    from opentelemetry.trace import Span

T = TypeVar("T")

NAME = "skr.question"

_SPAN: ContextVar[Span | None] = ContextVar("skr_question_span", default=None)


def opentelemetry() -> Any:
    """The module of OpenTelemetry's traces, where the process has set a provider; else None."""
    trace = sys.modules.get("opentelemetry.trace")
    # The proxy stands for a provider that nobody has set.
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    return trace


def traced(pieces: Iterator[T]) -> Iterator[T]:
    """What a run hands out, within a span where one may be recorded."""
    trace = opentelemetry()
    return pieces if trace is None else _traced(cast(Generator[T], pieces), trace)


def atraced(pieces: AsyncIterator[T]) -> AsyncIterator[T]:
    """The same, awaited."""
    trace = opentelemetry()
    return pieces if trace is None else _atraced(cast(AsyncGenerator[T], pieces), trace)


def tell_question(told: Mapping[str, Any]) -> None:
    """Set attributes of the span of the question that is being answered."""
    span = _SPAN.get()
    if span is not None and span.is_recording():
        span.set_attributes({f"skr.{name}": each for name, each in told.items()})


def mark_as_failed(span: Span, error: str) -> None:
    """Give a span the status of an error.

    Args:
        span: The span.
        error: The error's class; its message may name what was asked.
    """
    from opentelemetry.trace import StatusCode

    span.set_attribute("skr.error", error)
    span.set_status(StatusCode.ERROR, error)


def _traced(pieces: Generator[T], trace: Any) -> Generator[T]:
    with _question(trace) as span, closing(pieces):
        while True:
            with _at_work(span, trace):
                try:
                    piece = next(pieces)
                except StopIteration:
                    return
            yield piece


async def _atraced(pieces: AsyncGenerator[T], trace: Any) -> AsyncGenerator[T]:
    with _question(trace) as span:
        async with aclosing(pieces):
            while True:
                with _at_work(span, trace):
                    try:
                        piece = await anext(pieces)
                    except StopAsyncIteration:
                        return
                yield piece


@contextmanager
def _question(trace: Any) -> Iterator[Span]:
    span = trace.get_tracer("skr_graphs").start_span(NAME)
    try:
        yield span
    except GraphBubbleUp:  # an interrupt within another graph is no failure
        raise
    except Exception as failure:
        mark_as_failed(span, type(failure).__name__)
        raise
    finally:
        span.end()


@contextmanager
def _at_work(span: Span, trace: Any) -> Iterator[None]:
    token = _SPAN.set(span)
    try:
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield
    finally:
        _SPAN.reset(token)
