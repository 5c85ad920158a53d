"""What LangChain's tracers and OpenTelemetry see of a chain: every call, once, in its place."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.tracers import BaseTracer
from langchain_core.tracers.schemas import Run
from opentelemetry import trace

from langchain_skr import create_skr_chain
from tests.langchain_skr.fakes import ANSWER, QUESTION, Library, stating_model
from tests.spans import only, outcome_in, recorded


class Tracer(BaseTracer):
    """Keeps the runs as LangSmith would be sent them."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.roots.append(run)


async def _streamed(chain: Any, config: Any) -> str:
    return "".join([piece async for piece in chain.astream(QUESTION, config)])


Ask = Callable[[Any, Any], str]
WAYS: dict[str, Ask] = {
    "invoke": lambda chain, config: chain.invoke(QUESTION, config),
    "ainvoke": lambda chain, config: asyncio.run(chain.ainvoke(QUESTION, config)),
    "stream": lambda chain, config: "".join(chain.stream(QUESTION, config)),
    "astream": lambda chain, config: asyncio.run(_streamed(chain, config)),
}


@pytest.fixture(params=WAYS)
def ask(request: pytest.FixtureRequest) -> Ask:
    return WAYS[request.param]


def runs_of(run: Run) -> Iterator[Run]:
    yield run
    for child in run.child_runs:
        yield from runs_of(child)


def test_a_tracer_sees_each_call_once(ask: Ask) -> None:
    tracer, library = Tracer(), Library()
    assert ask(create_skr_chain(stating_model(), library), {"callbacks": [tracer]}) == ANSWER
    (root,) = tracer.roots
    kinds = Counter(run.run_type for run in runs_of(root))
    assert kinds["llm"] == 2
    assert kinds["retriever"] == len(library.asked) == 2
    steps = Counter(run.name for run in runs_of(root))
    assert (steps["answer"], steps["retrieve"], steps["reflect"], steps["finish"]) == (2, 2, 2, 1)
    by_id = {run.id: run for run in runs_of(root)}
    for run in by_id.values():
        if run.run_type in ("llm", "retriever"):
            around = by_id[run.parent_run_id] if run.parent_run_id else root
            assert around.name == {"llm": "answer", "retriever": "retrieve"}[run.run_type]


def test_the_callers_span_has_the_outcome(ask: Ask) -> None:
    chain = create_skr_chain(stating_model(), Library())
    with recorded() as exporter, trace.get_tracer("user").start_as_current_span("request"):
        assert ask(chain, {}) == ANSWER
    outcome = outcome_in(only(exporter))
    assert (outcome["stop_reason"], outcome["rounds"]) == ("sufficient", 2)
