"""A trace holds each reference a few times, however many rounds there were."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.tracers import BaseTracer
from langchain_core.tracers.schemas import Run
from langgraph.checkpoint.memory import InMemorySaver

from skr_core.plain import to_plain
from skr_core.reflectors import JudgeReflector
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import answer_of, create_self_completion_graph
from tests.skr_graphs.doubles import Invoke, both

ROUNDS = ("one", "two", "three")
PASSAGE = 3_000
TEXTS = {query: [f"({query} {n}) ".ljust(PASSAGE, "x") for n in range(10)] for query in ROUNDS}
ALL = sum(len(text) for texts in TEXTS.values() for text in texts)
SAID = ["INSUFFICIENT\nSearch: two", "INSUFFICIENT\nSearch: three", "SUFFICIENT\nAll [1]."]


class Tracer(BaseTracer):
    """Keeps the runs as LangSmith would be sent them."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.roots.append(run)


def runs_of(run: Run) -> Iterator[Run]:
    yield run
    for child in run.child_runs:
        yield from runs_of(child)


def shown(value: Any) -> str:
    return json.dumps(value, default=str)


def asked(invoke: Invoke, **options: Any) -> tuple[list[Run], dict[str, Any], Any]:
    tracer = Tracer()
    graph = create_self_completion_graph(
        model=ScriptedModel({"answer_with_references": SAID}),
        retriever=MappingRetriever(TEXTS),
        **options,
    ).compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}, "callbacks": [tracer]}
    output = invoke(graph, "one", config=config)
    assert len(output["rounds"]) == len(ROUNDS)
    (root,) = tracer.roots
    return list(runs_of(root)), output, (graph, config)


@both
@pytest.mark.parametrize("judged", [False, True])
def test_a_trace_names_references_by_their_ids(invoke: Invoke, judged: bool) -> None:
    judge = JudgeReflector(ScriptedModel(["sufficient"]))
    runs, _, _ = asked(invoke, **({"reflector": judge} if judged else {}))
    inputs = {run.name: shown(run.inputs) for run in runs}
    for name in ("answer", "reflect", "follow_up", "finish"):
        assert "xxx" not in inputs[name]
    everything = [text for run in runs for text in (shown(run.inputs), shown(run.outputs))]
    for query in ROUNDS:
        marked = f"({query} 1) "
        # Found, handed to be merged, merged; and twice more where the answer was given it.
        assert sum(text.count(marked) for text in everything) <= 5
    assert sum(map(len, everything)) < 6 * ALL


@both
def test_a_trace_shows_what_steps_read(invoke: Invoke) -> None:
    runs, _, _ = asked(invoke)
    handed = {run.name: set(run.inputs) for run in runs if run.parent_run_id}
    assert handed["condense"] <= {"question", "messages", "history", "asked"}
    assert handed["retrieve"] == {"query", "position", "round", "alone"}
    for name in ("route", "merge", "answer", "reflect", "follow_up", "finish"):
        assert {"question", "asked", "rounds"} <= handed[name]
        assert not {"messages", "answer", "citations", "references", "pool"} & handed[name]


@both
def test_rounds_name_references_by_their_ids(invoke: Invoke) -> None:
    _, output, _ = asked(invoke)
    answer = answer_of(output)
    assert len(answer.references) == 10
    assert len(shown(to_plain(answer))) < 1.3 * PASSAGE * len(answer.references)
    assert "xxx" not in shown(output["rounds"])


@both
def test_a_checkpoint_holds_each_reference_once(invoke: Invoke) -> None:
    _, _, (graph, config) = asked(invoke)
    for snapshot in graph.get_state_history(config):
        if snapshot.next in [("answer",), ("reflect",), ("follow_up",)]:
            state = shown(snapshot.values)
            assert state.count("(one 1) ") == 1
