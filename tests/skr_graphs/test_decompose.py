"""Questions that are taken apart before the first search."""

from __future__ import annotations

from typing import Any

import pytest

from skr_core.budget import Budget
from skr_core.errors import ModelError
from skr_core.prompts.templates import PromptTemplates
from skr_core.routers import NeverRetrieve
from skr_core.settings import Settings
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import GraphAnswerer, SKRContext, create_self_completion_graph
from tests.skr_graphs.doubles import FailingModel, Invoke, both

QUESTION = "Which ship is older, the Aran or the Skye?"
ARAN, SKYE = "The Aran was launched in 1931.", "The Skye was launched in 1954."
PARTS = "Sure! Here are the queries:\nSearch: Aran launched\nSearch: Skye launched"
ANSWER = "SUFFICIENT\nThe Aran is older [1][2]."


def model_of(parts: str = PARTS, *drafts: str) -> ScriptedModel:
    return ScriptedModel({"decompose": [parts], "answer_with_references": drafts or [ANSWER]})


def library() -> MappingRetriever:
    return MappingRetriever({"Aran launched": [ARAN], "Skye launched": [SKYE], QUESTION: []})


def graph_of(model: Any, retriever: Any = None, **options: Any) -> Any:
    options = {"decompose": True, **options}
    return create_self_completion_graph(
        model=model, retriever=library() if retriever is None else retriever, **options
    ).compile()


@both
def test_the_first_round_searches_the_question_and_its_parts(invoke: Invoke):
    model = model_of()
    output = invoke(graph_of(model), QUESTION)
    assert [prompt.task for prompt in model.prompts] == ["decompose", "answer_with_references"]
    (only,) = output["rounds"]
    assert only["queries"] == [QUESTION, "Aran launched", "Skye launched"]
    assert {each["text"] for each in output["references"]} == {ARAN, SKYE}
    assert output["usage"]["decompose"]["calls"] == 1
    assert (output["stop_reason"], output["grounded"]) == ("sufficient", True)


@both
def test_it_is_off_by_default_and_a_run_may_ask_for_it(invoke: Invoke):
    model = model_of()
    graph = graph_of(model, decompose=None)
    assert invoke(graph, QUESTION)["rounds"][0]["queries"] == [QUESTION]
    told = invoke(graph, QUESTION, context=SKRContext(decompose=True))
    assert len(told["rounds"][0]["queries"]) == 3


@both
@pytest.mark.parametrize(
    "reply", ["NONE", "", "<think>two ships", "I don't know.", f"Search: {QUESTION.upper()}"]
)
def test_a_question_without_parts_is_searched_as_it_is(reply: str, invoke: Invoke):
    retriever = MappingRetriever({QUESTION: [ARAN, SKYE]})
    output = invoke(graph_of(model_of(reply), retriever), QUESTION)
    assert retriever.queries == [QUESTION]
    assert output["stop_reason"] == "sufficient"


@both
def test_a_known_question_is_not_taken_apart(invoke: Invoke):
    model = model_of()
    output = invoke(graph_of(model, router=NeverRetrieve()), QUESTION)
    assert output["stop_reason"] == "known"
    assert "decompose" not in [prompt.task for prompt in model.prompts]


@both
def test_its_call_counts_towards_the_budget(invoke: Invoke):
    retriever = library()
    output = invoke(graph_of(model_of(), retriever, budget=Budget(max_calls=1)), QUESTION)
    assert (output["stop_reason"], retriever.queries) == ("max_calls", [])


@both
def test_a_model_that_fails_there_is_told(invoke: Invoke):
    model = FailingModel({"answer_with_references": [ANSWER]}, fails="decompose")
    with pytest.raises(ModelError, match="away"):
        invoke(graph_of(model), QUESTION)


def test_the_words_are_the_caller_s():
    model = model_of()
    words = PromptTemplates(decompose="Teile: {question} ({limit})")
    graph_of(model, templates=words).invoke({"question": QUESTION})
    assert model.prompts[0].text == f"Teile: {QUESTION} (4)"


def test_a_person_sees_the_parts_first():
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    retriever = library()
    graph = create_self_completion_graph(
        model=model_of(), retriever=retriever, decompose=True, review_queries=True
    ).compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    stopped: Any = graph.invoke({"question": QUESTION}, thread)
    (asked,) = stopped["__interrupt__"]
    assert asked.value["queries"] == [QUESTION, "Aran launched", "Skye launched"]
    graph.invoke(Command(resume=["Aran launched"]), thread)
    assert retriever.queries == ["Aran launched"]


def test_a_single_round_takes_the_question_apart_too():
    """What collection reads off the loop's first round costs what that system would cost."""
    half = "INSUFFICIENT\nThe Aran is from 1931 [1].\nSearch: Skye again"
    retriever = MappingRetriever({"Aran launched": [ARAN], "Skye again": [SKYE]})
    settings = Settings.of(model_of(PARTS, half, ANSWER), retriever, decompose=True)
    each = GraphAnswerer(settings).answer_each(QUESTION)
    served = GraphAnswerer(
        settings.but(model=model_of(PARTS, half), budget=Budget(max_rounds=1))
    ).answer(QUESTION, "loop")
    assert {task: usage.calls for task, usage in each["single"].usage.items()} == {
        "decompose": 1,
        "answer_with_references": 1,
    }
    assert each["single"].text == served.text
    assert each["single"].usage == served.usage


def test_records_tell_systems_that_take_questions_apart_from_others():
    plain = Settings.of(ScriptedModel())
    assert plain.version != plain.but(decompose=True).version
