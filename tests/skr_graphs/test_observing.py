"""Spans and log records of a question: they nest, they add up, and they tell no text."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from skr_core.budget import Budget, Price, cost
from skr_core.errors import ModelError
from skr_core.ports import OnToken
from skr_core.routers import NeverRetrieve
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Action, Generation, Prompt, Reference, Usage, Verdict
from skr_graphs import create_self_completion_graph
from skr_graphs.building_blocks import create_follow_up_node, create_route_node
from skr_graphs.observing import Told
from tests.skr_graphs.doubles import FailingModel, Invoke, both
from tests.spans import named, parent_of, recorded

QUESTION, FURTHER = "Where was its engineer born?", "Ada Quill's birthplace"
TEXTS = {QUESTION: ["Ada Quill engineered it."], FURTHER: ["Ada Quill was born in Port Elm."]}
SAID = [f"INSUFFICIENT\nSearch: {FURTHER}", "SUFFICIENT\nIn Port Elm [1]."]
PRICE = Price(1.0, 4.0)


class Inside(ScriptedModel):
    """Opens a span of its own with every call, as instrumented clients do."""

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        with trace.get_tracer("client").start_as_current_span("chat"):
            return super().generate(prompt, on_token=on_token)


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


def graph_of(model: Any, **options: Any) -> Any:
    retriever = MappingRetriever(TEXTS)
    options = {"budget": Budget(price=PRICE), **options}
    return create_self_completion_graph(model=model, retriever=retriever, **options).compile()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@both
def test_each_step_is_a_span_within_the_callers(
    invoke: Invoke, spans: InMemorySpanExporter
) -> None:
    model = Inside({"answer_with_references": SAID, "answer_directly": ["In Rome."]})
    with trace.get_tracer("user").start_as_current_span("request") as request:
        output = invoke(graph_of(model, arbiter=ServesTheLoop()), QUESTION)
    found = named(spans)
    [question] = found.pop("skr.question")
    assert parent_of(question) == request.get_span_context().span_id
    steps = {name: each for name, each in found.items() if name.startswith("skr.")}
    assert {name.removeprefix("skr."): len(each) for name, each in steps.items()} == {
        **{"condense": 1, "route": 1, "retrieve": 2, "merge": 2, "answer": 2, "reflect": 2},
        **{"follow_up": 1, "finish": 1, "arbitrate": 1},
    }
    ids = {span.context.span_id for each in steps.values() for span in each}
    parents = {parent_of(each) for several in steps.values() for each in several}
    assert parents == {question.context.span_id}
    calls = [span.parent.span_id for span in found["chat"] if span.parent]
    assert len(calls) == output_calls(output) == 3
    assert set(calls) <= ids

    told = [attributes(span) for each in steps.values() for span in each]
    spent = Usage(
        sum(each["skr.prompt_tokens"] for each in told),
        sum(each["skr.completion_tokens"] for each in told),
        sum(each["skr.calls"] for each in told),
    )
    total = total_of(output)
    assert (spent.prompt_tokens, spent.completion_tokens, spent.calls) == (
        total.prompt_tokens,
        total.completion_tokens,
        total.calls,
    )
    assert sum(each["skr.cost"] for each in told) == pytest.approx(cost(total, PRICE))
    assert {each["skr.question_id"] for each in told} == {output["messages"][0].id}
    assert attributes(steps["skr.route"][0])["skr.retrieve"] is True
    assert [attributes(each)["skr.round"] for each in steps["skr.retrieve"]] == [1, 2]
    assert [attributes(each)["skr.references"] for each in steps["skr.retrieve"]] == [1, 1]
    reasons = [attributes(each).get("skr.stop_reason") for each in steps["skr.reflect"]]
    assert reasons == [None, "sufficient"]
    assert attributes(steps["skr.arbitrate"][0])["skr.stop_reason"] == "sufficient"
    assert attributes(question) == {
        "skr.question_id": output["messages"][0].id,
        "skr.calls": total.calls,
        "skr.prompt_tokens": total.prompt_tokens,
        "skr.completion_tokens": total.completion_tokens,
        "skr.cost": pytest.approx(cost(total, PRICE)),
        "skr.round": 2,
        "skr.retrieve": True,
        "skr.stop_reason": "sufficient",
        "skr.grounded": True,
    }
    assert nothing_said_in([repr(each) for each in told])


def total_of(output: dict[str, Any]) -> Usage:
    return sum((Usage(**each) for each in output["usage"].values()), Usage())


def output_calls(output: dict[str, Any]) -> int:
    return total_of(output).calls


def nothing_said_in(told: Sequence[str]) -> bool:
    secret = ["Quill", "engineer", "Port Elm", "Rome"]
    return bool(told) and not [word for word in secret for each in told if word in each]


@both
def test_a_failure_is_told_by_its_class(
    invoke: Invoke, spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "skr_graphs")
    model = FailingModel({"answer_with_references": SAID}, fails="answer_with_references")
    with pytest.raises(ModelError):
        invoke(graph_of(model), QUESTION)
    (failed,), (question,) = named(spans)["skr.answer"], named(spans)["skr.question"]
    for span in (failed, question):
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description == attributes(span)["skr.error"] == "ModelError"
        assert not span.events
    (record,) = caplog.records
    assert record.getMessage() == "answer failed: ModelError"


class HalfBroken(MappingRetriever):
    """Fails at the second search, with what was asked in its message."""

    def retrieve(self, query: str) -> Sequence[Reference]:
        if query == FURTHER:
            raise OSError(f"nothing for {query}")
        return super().retrieve(query)

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        return self.retrieve(query)


@both
def test_a_search_that_failed_is_an_error_and_its_question_none(
    invoke: Invoke, spans: InMemorySpanExporter
) -> None:
    model = ScriptedModel({"answer_with_references": SAID})
    graph = create_self_completion_graph(model=model, retriever=HalfBroken(TEXTS)).compile()
    invoke(graph, QUESTION)
    first, second = named(spans)["skr.retrieve"]
    assert first.status.status_code is StatusCode.UNSET
    assert second.status.status_code is StatusCode.ERROR
    assert second.status.description == attributes(second)["skr.error"] == "RetrieverError"
    assert nothing_said_in([repr(attributes(second))])
    (question,) = named(spans)["skr.question"]
    assert question.status.status_code is StatusCode.UNSET
    assert "skr.error" not in attributes(question)


async def test_between_pieces_the_callers_span_is_the_current_one(
    spans: InMemorySpanExporter,
) -> None:
    graph = graph_of(ScriptedModel({"answer_with_references": SAID})).with_config(tags=["mine"])
    with trace.get_tracer("user").start_as_current_span("request") as request:
        for _ in graph.stream({"question": QUESTION}, stream_mode="updates"):
            assert trace.get_current_span() is request
        async for _ in graph.astream({"question": QUESTION}, stream_mode="updates"):
            assert trace.get_current_span() is request
        abandoned = graph.stream({"question": QUESTION}, stream_mode="updates")
        next(abandoned)
        abandoned.close()
        assert trace.get_current_span() is request
    questions = named(spans)["skr.question"]
    assert [parent_of(each) for each in questions] == [request.get_span_context().span_id] * 3
    assert {each.status.status_code for each in questions} == {StatusCode.UNSET}
    assert "skr.stop_reason" not in attributes(questions[-1])


@both
def test_a_question_is_one_record_and_each_step_one_more(
    invoke: Invoke, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "skr_graphs")
    graph = create_self_completion_graph(
        model=ScriptedModel({"answer_with_references": SAID}), retriever=MappingRetriever(TEXTS)
    ).compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "seven"}}
    output = invoke(graph, QUESTION, config=config)
    records = [vars(each) for each in caplog.records]
    (asked,) = [each for each in records if each["levelname"] == "INFO"]
    total = total_of(output)
    assert asked["msg"] % asked["args"] == "answered: sufficient"
    assert (asked["calls"], asked["prompt_tokens"]) == (total.calls, total.prompt_tokens)
    assert (asked["round"], asked["grounded"], asked["thread_id"]) == (2, True, "seven")
    assert asked["seconds"] > 0
    steps = Counter(each["node"] for each in records if each["levelname"] == "DEBUG")
    assert steps["retrieve"] == steps["answer"] == 2
    assert sum(each["calls"] for each in records if each["levelname"] == "DEBUG") == total.calls
    fields = Told.__annotations__
    assert nothing_said_in([repr({name: each.get(name) for name in fields}) for each in records])
    assert nothing_said_in([caplog.text])


@both
def test_what_is_known_is_one_record(invoke: Invoke, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "skr_graphs")
    invoke(graph_of(ScriptedModel(["In Rome."]), router=NeverRetrieve()), QUESTION)
    (record,) = caplog.records
    assert (record.getMessage(), vars(record)["calls"]) == ("answered: known", 1)
    assert vars(record)["cost"] > 0


def test_waiting_for_a_person_is_no_failure(
    spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "skr_graphs")
    graph = create_self_completion_graph(
        model=ScriptedModel({"answer_with_references": SAID[1:]}),
        retriever=MappingRetriever(TEXTS),
        review_queries=True,
    ).compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke({"question": QUESTION}, config)
    assert not caplog.records
    graph.invoke(Command(resume=[FURTHER]), config)
    assert [each.getMessage() for each in caplog.records] == ["answered: sufficient"]
    assert {each.status.status_code for each in named(spans)["skr.review"]} == {StatusCode.UNSET}
    stopped, answered = named(spans)["skr.question"]
    assert {stopped.status.status_code, answered.status.status_code} == {StatusCode.UNSET}
    assert attributes(answered)["skr.stop_reason"] == "sufficient"


class OwnState(TypedDict, total=False):
    question: str
    asked: list[str]
    queries: list[str]
    decision: dict[str, Any]


@both
def test_nodes_of_a_graph_of_ones_own_are_spans(
    invoke: Invoke, spans: InMemorySpanExporter
) -> None:
    builder = StateGraph(OwnState)
    builder.add_node("route", create_route_node(None))
    builder.add_node("more", create_follow_up_node(ScriptedModel([FURTHER])))
    builder.add_edge(START, "route")
    builder.add_edge("route", "more")
    builder.add_edge("more", END)
    assert invoke(builder.compile(), QUESTION)["queries"] == [FURTHER]
    assert named(spans).keys() == {"skr.route", "skr.follow_up"}


def test_a_question_is_answered_where_there_is_no_opentelemetry() -> None:
    code = (
        "import sys\n"
        "sys.modules['opentelemetry'] = None\n"
        "from skr_core.testing import MappingRetriever, ScriptedModel\n"
        "from skr_graphs import create_self_completion_graph\n"
        "graph = create_self_completion_graph(model=ScriptedModel(['A [1].']),"
        " retriever=MappingRetriever({'Q?': ['A.']})).compile()\n"
        "print(graph.invoke({'question': 'Q?'})['answer'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "A [1]."
