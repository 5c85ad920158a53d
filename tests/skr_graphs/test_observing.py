"""A question is one line of the log and attributes of the current span, neither with any text."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from skr_core import Action, Budget, Price, Usage, Verdict
from skr_core.budget import cost
from skr_core.errors import ModelError
from skr_core.routers import NeverRetrieve
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import create_self_completion_graph
from tests.skr_graphs.doubles import FailingModel, Invoke, both
from tests.spans import only, outcome_in, recorded

QUESTION, FURTHER = "Where was its engineer born?", "Ada Quill's birthplace"
TEXTS = {QUESTION: ["Ada Quill engineered it."], FURTHER: ["Ada Quill was born in Port Elm."]}
REPLIES = [f"INSUFFICIENT\nSearch: {FURTHER}", "SUFFICIENT\nIn Port Elm [1]."]
PRICE = Price(1.0, 4.0)
THREAD: Any = {"configurable": {"thread_id": "seven"}}
SECRET = ("Quill", "engineer", "Port Elm", "Rome")


class ServesTheLoop:
    """Weighs the model's own answer, and sets it aside."""

    actions: Sequence[Action] = ("direct", "loop")

    def judge(self, question: str, answers: Mapping[Action, Any]) -> Verdict:
        return Verdict("loop", {}, "it was read")

    async def ajudge(self, question: str, answers: Mapping[Action, Any]) -> Verdict:
        return self.judge(question, answers)


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    with recorded() as exporter:
        yield exporter


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "skr_graphs")
    return caplog


def graph_of(model: Any, **options: Any) -> Any:
    options = {"budget": Budget(price=PRICE), "retriever": MappingRetriever(TEXTS), **options}
    return create_self_completion_graph(model=model, **options).compile(
        checkpointer=InMemorySaver()
    )


def total_of(output: dict[str, Any]) -> Usage:
    return sum((Usage(**each) for each in output["usage"].values()), Usage())


@both
@pytest.mark.parametrize("arbiter", [None, ServesTheLoop()])
def test_the_current_span_has_the_outcome(
    arbiter: Any, invoke: Invoke, spans: InMemorySpanExporter
) -> None:
    model = ScriptedModel({"answer_with_references": REPLIES, "answer_directly": ["In Rome."]})
    with trace.get_tracer("user").start_as_current_span("request"):
        output = invoke(graph_of(model, arbiter=arbiter), QUESTION, config=THREAD)
    span, total = only(spans), total_of(output)
    attributes = dict(span.attributes or {})
    outcome = outcome_in(span)
    assert outcome.pop("seconds") > 0
    assert outcome == {
        "retrieve": True,
        "rounds": 2,
        "stop_reason": "sufficient",
        "grounded": True,
        "calls": total.calls,
        "cost": pytest.approx(cost(total, PRICE)),
    }
    del attributes["metadata"]
    assert attributes == {
        "openinference.span.kind": "CHAIN",
        "llm.token_count.prompt": total.prompt_tokens,
        "llm.token_count.prompt_details.cache_read": 0,
        "llm.token_count.completion": total.completion_tokens,
        "llm.token_count.total": total.prompt_tokens + total.completion_tokens,
        "session.id": "seven",
    }
    assert not [word for word in SECRET if word in repr(span.attributes)]


@both
def test_a_question_is_one_record(invoke: Invoke, log: pytest.LogCaptureFixture) -> None:
    output = invoke(graph_of(ScriptedModel(REPLIES)), QUESTION, config=THREAD)
    (record,) = [vars(each) for each in log.records]
    total = total_of(output)
    assert (record["levelname"], record["name"]) == ("INFO", "skr_graphs")
    assert record["msg"] % record["args"] == "answered: sufficient"
    assert (record["calls"], record["prompt_tokens"]) == (total.calls, total.prompt_tokens)
    assert (record["rounds"], record["grounded"], record["thread_id"]) == (2, True, "seven")
    assert record["question_id"] == output["messages"][0].id
    assert record["seconds"] > 0
    assert not [word for word in SECRET if word in repr(record)]


@both
def test_a_known_question_is_one_record(invoke: Invoke, log: pytest.LogCaptureFixture) -> None:
    graph = graph_of(ScriptedModel(["In Rome."]), router=NeverRetrieve())
    invoke(graph, QUESTION, config=THREAD)
    (record,) = log.records
    assert (record.getMessage(), vars(record)["calls"]) == ("answered: known", 1)
    assert vars(record)["cost"] > 0


@both
def test_a_failure_is_one_record_with_its_class(
    invoke: Invoke, log: pytest.LogCaptureFixture
) -> None:
    model = FailingModel({"answer_with_references": REPLIES}, fails="answer_with_references")
    with pytest.raises(ModelError):
        invoke(graph_of(model), QUESTION, config=THREAD)
    (record,) = log.records
    assert record.getMessage() == "answer failed: ModelError"
    assert vars(record)["thread_id"] == "seven"


def test_waiting_for_a_person_is_no_failure(log: pytest.LogCaptureFixture) -> None:
    graph = graph_of(ScriptedModel(REPLIES[1:]), review_queries=True)
    graph.invoke({"question": QUESTION}, THREAD)
    assert not log.records
    graph.invoke(Command(resume=[FURTHER]), THREAD)
    assert [each.getMessage() for each in log.records] == ["answered: sufficient"]


def run(code: str) -> subprocess.CompletedProcess[str]:
    begin = (
        "from skr_core.testing import MappingRetriever, ScriptedModel\n"
        "from skr_graphs import create_self_completion_graph as create\n"
    )
    return subprocess.run(
        [sys.executable, "-c", begin + code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


def test_opentelemetry_need_not_be_there() -> None:
    done = run(
        "import sys\n"
        "sys.modules['opentelemetry'] = sys.modules['opentelemetry.trace'] = None\n"
        "search = MappingRetriever({'Q?': ['A']})\n"
        "graph = create(model=ScriptedModel(['A [1].']), retriever=search).compile()\n"
        "print(graph.invoke({'question': 'Q?'})['answer'])"
    )
    assert done.stdout.strip() == "A [1]."


def test_searches_that_fail_are_logged_once_in_a_process() -> None:
    done = run(
        "search = MappingRetriever({}, failing=['Where?', 'When?'])\n"
        "model = ScriptedModel(['A.'])\n"
        "graph = create(model=model, retriever=search, on_retriever_error='continue').compile()\n"
        "for question in ('Where?', 'When?'):\n"
        "    graph.invoke({'question': question})"
    )
    assert done.stderr.count("no connection for") == 1
    assert "no connection for 'Where?'" in done.stderr
