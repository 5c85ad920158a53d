"""The spans that OpenTelemetry recorded, kept in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@contextmanager
def recorded() -> Iterator[InMemorySpanExporter]:
    """Keep all spans that end within; a process has one provider, which is left behind."""
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    try:
        yield exporter
    finally:
        exporter.shutdown()


def only(exporter: InMemorySpanExporter) -> ReadableSpan:
    """The one span that was recorded."""
    (span,) = exporter.get_finished_spans()
    return span


def outcome_in(span: ReadableSpan) -> dict[str, Any]:
    """What a span says of the question that was answered within it."""
    found: dict[str, Any] = json.loads(str((span.attributes or {})["metadata"]))
    return found
