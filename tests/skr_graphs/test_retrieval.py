"""Searching: what is found, merged, remembered and cited, and questions taken apart."""

from __future__ import annotations

from typing import Any

import pytest

from skr_core import Budget, PromptTemplates, Settings
from skr_core.errors import ModelError
from skr_core.prompts import REFUSAL
from skr_core.reflectors import JudgeReflector
from skr_core.replies import say_partial
from skr_core.routers import NeverRetrieve
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import content_id
from skr_graphs import GraphAnswerer, SKRContext, answer_of, create_self_completion_graph
from tests.skr_graphs.doubles import (
    PARIS,
    QUESTION,
    FailingModel,
    Invoke,
    ListStore,
    OrderedRetriever,
    both,
    refusing,
    searchable,
)


@both
def test_a_partial_failure_survives(invoke: Invoke):
    model = ScriptedModel(
        {
            "answer_with_references": [REFUSAL, "Both [1][2]."],
            "self_complete": ["one\nbroken\ntwo"],
        }
    )
    retriever = searchable("one", "two", failing=["broken"])
    output = invoke(create_self_completion_graph(model=model, retriever=retriever).compile())
    assert output["stop_reason"] == "sufficient"
    second = output["rounds"][1]
    assert second["found"] == [content_id("about one"), content_id("about two")]
    assert second["errors"] == ["broken: no connection for 'broken'"]
    assert {each["text"] for each in output["references"]} == {PARIS, "about one", "about two"}


@both
@pytest.mark.parametrize("slow_first", [True, False])
def test_searches_run_side_by_side_and_keep_their_order(slow_first: bool, invoke: Invoke):
    queries = ["one", "two", "three"]
    retriever = OrderedRetriever([QUESTION, *(reversed(queries) if slow_first else queries)])
    model = ScriptedModel(
        {"answer_with_references": [REFUSAL, "Yes."], "self_complete": ["one\ntwo\nthree"]}
    )
    output = invoke(create_self_completion_graph(model=model, retriever=retriever).compile())
    assert output["rounds"][1]["queries"] == queries
    assert output["rounds"][1]["found"] == [content_id(f"about {query}") for query in queries]


@both
def test_at_most_ten_references_are_handed_over(invoke: Invoke):
    texts = [f"passage {number}" for number in range(30)]
    retriever = MappingRetriever({QUESTION: texts[:20], "one": texts[20:]})
    model = refusing("one")
    output = invoke(create_self_completion_graph(model=model, retriever=retriever).compile())
    handed = [len(p.references) for p in model.prompts if p.task == "answer_with_references"]
    assert handed == [10, 10]
    assert len(output["references"]) == 10
    assert [len(each["given"]) for each in output["rounds"]] == [10, 10]
    found_later = set(output["rounds"][1]["found"])
    assert found_later & set(output["rounds"][1]["given"]), "a later round is not pushed out"


@both
def test_a_text_found_twice_is_one_reference(invoke: Invoke):
    retriever = MappingRetriever({QUESTION: [PARIS, PARIS], "one": [PARIS, "more"]})
    output = invoke(
        create_self_completion_graph(model=refusing("one"), retriever=retriever).compile()
    )
    assert [each["text"] for each in output["references"]] == [PARIS, "more"]
    assert output["rounds"][1]["found"] == [content_id("more")]


@both
def test_markers_of_an_early_draft_count_that_round_s_references(invoke: Invoke):
    model = ScriptedModel(
        {
            "answer_with_references": ["Paris [2], not Rome [3].", REFUSAL],
            "self_complete": ["one"],
        }
    )
    retriever = MappingRetriever({QUESTION: ["first", PARIS], "one": ["new", "newer"]})
    graph = create_self_completion_graph(
        model=model,
        retriever=retriever,
        reflector=JudgeReflector(ScriptedModel(["insufficient: all"])),
    ).compile()
    answer = answer_of(invoke(graph))  # type: ignore[arg-type]
    assert answer.text == say_partial(QUESTION, "Paris [2], not Rome.", "all")
    assert [reference.text for reference in answer.references] == ["first", PARIS]
    assert [reference.text for reference in answer.cited_references] == [PARIS]
    assert answer.removed_markers == 1


@both
def test_markers_that_name_nothing_are_taken_out_and_counted(invoke: Invoke):
    graph = create_self_completion_graph(
        model=ScriptedModel(["Paris [1][0]. Rome [-1, 9]."]), retriever=searchable()
    ).compile()
    output = invoke(graph)
    assert output["answer"] == "Paris [1]. Rome."
    assert output["removed_markers"] == 3
    assert [each["marker"] for each in output["citations"]] == [1]


@both
def test_what_a_retriever_found_a_later_question_finds_in_the_store(invoke: Invoke):
    store = ListStore()
    first = create_self_completion_graph(
        model=ScriptedModel(["Paris [1]."]),
        retriever=searchable(),
        reference_store=store,
        scope="shared",
    ).compile()
    invoke(first)
    assert [each.text for each in store.references.values()] == [PARIS]
    later = create_self_completion_graph(
        model=ScriptedModel(["Paris [1]."]),
        retriever=searchable(),
        reference_store=store,
        scope="shared",
    ).compile()
    output = invoke(later, "France or Spain?")
    assert output["stop_reason"] == "sufficient"
    assert [each["text"] for each in output["references"]] == [PARIS]


@both
def test_an_empty_store_is_a_store(invoke: Invoke):
    graph = create_self_completion_graph(model=refusing(), retriever=ListStore()).compile()
    output = invoke(graph)
    assert output["stop_reason"] == "no_new_queries", "the model was asked for other queries"
    assert output["rounds"][0]["errors"] == []


@both
def test_a_store_that_is_the_retriever_gets_nothing_back(invoke: Invoke):
    store = ListStore(read_only=True)
    store.references = {"x": searchable().retrieve(QUESTION)[0]}
    graph = create_self_completion_graph(
        model=ScriptedModel(["Paris [1]."]), retriever=store, reference_store=store, scope="shared"
    ).compile()
    output = invoke(graph, "capital")
    assert output["stop_reason"] == "sufficient"
    assert output["rounds"][0]["errors"] == []


@both
@pytest.mark.parametrize(
    ("store", "error"),
    [
        (ListStore(read_only=True), "the store kept nothing: the disk is full"),
        (ListStore(broken=True), f"{QUESTION}: the store is closed"),
    ],
)
def test_a_failing_store_costs_no_answer(store: ListStore, error: str, invoke: Invoke):
    graph = create_self_completion_graph(
        model=ScriptedModel(["Paris [1]."]),
        retriever=searchable(),
        reference_store=store,
        scope="shared",
    ).compile()
    output = invoke(graph)
    assert output["answer"] == "Paris [1]."
    assert output["stop_reason"] == "sufficient"
    assert output["rounds"][0]["errors"] == [error]


@both
def test_a_failing_retriever_beside_a_store_that_knows(invoke: Invoke):
    store = ListStore()
    store.add(searchable().retrieve(QUESTION))
    graph = create_self_completion_graph(
        model=ScriptedModel(["Paris [1]."]),
        retriever=searchable(failing=["capital"]),
        reference_store=store,
        scope="shared",
    ).compile()
    output = invoke(graph, "capital")
    assert output["answer"] == "Paris [1]."
    assert len(output["rounds"][0]["errors"]) == 1


# Questions that are taken apart before the first search.

OLDER = "Which ship is older, the Aran or the Skye?"
ARAN, SKYE = "The Aran was launched in 1931.", "The Skye was launched in 1954."
PARTS = "Sure! Here are the queries:\nSearch: Aran launched\nSearch: Skye launched"
ANSWER = "SUFFICIENT\nThe Aran is older [1][2]."


def model_of(parts: str = PARTS, *drafts: str) -> ScriptedModel:
    return ScriptedModel({"decompose": [parts], "answer_with_references": drafts or [ANSWER]})


def library() -> MappingRetriever:
    return MappingRetriever({"Aran launched": [ARAN], "Skye launched": [SKYE], OLDER: []})


def graph_of(model: Any, retriever: Any = None, **options: Any) -> Any:
    options = {"decompose": True, **options}
    return create_self_completion_graph(
        model=model, retriever=library() if retriever is None else retriever, **options
    ).compile()


@both
def test_the_first_round_searches_the_question_and_its_parts(invoke: Invoke):
    model = model_of()
    output = invoke(graph_of(model), OLDER)
    assert [prompt.task for prompt in model.prompts] == ["decompose", "answer_with_references"]
    (only,) = output["rounds"]
    assert only["queries"] == [OLDER, "Aran launched", "Skye launched"]
    assert {each["text"] for each in output["references"]} == {ARAN, SKYE}
    assert output["usage"]["decompose"]["calls"] == 1
    assert (output["stop_reason"], output["grounded"]) == ("sufficient", True)


@both
def test_it_is_off_by_default_and_a_run_may_ask_for_it(invoke: Invoke):
    model = model_of()
    graph = graph_of(model, decompose=None)
    assert invoke(graph, OLDER)["rounds"][0]["queries"] == [OLDER]
    output = invoke(graph, OLDER, context=SKRContext(decompose=True))
    assert len(output["rounds"][0]["queries"]) == 3


@both
@pytest.mark.parametrize(
    "reply", ["NONE", "", "<think>two ships", "I don't know.", f"Search: {OLDER.upper()}"]
)
def test_a_question_without_parts_is_searched_as_it_is(reply: str, invoke: Invoke):
    retriever = MappingRetriever({OLDER: [ARAN, SKYE]})
    output = invoke(graph_of(model_of(reply), retriever), OLDER)
    assert retriever.queries == [OLDER]
    assert output["stop_reason"] == "sufficient"


@both
def test_a_known_question_is_not_taken_apart(invoke: Invoke):
    model = model_of()
    output = invoke(graph_of(model, router=NeverRetrieve()), OLDER)
    assert output["stop_reason"] == "known"
    assert "decompose" not in [prompt.task for prompt in model.prompts]


@both
def test_its_call_counts_towards_the_budget(invoke: Invoke):
    retriever = library()
    output = invoke(graph_of(model_of(), retriever, budget=Budget(max_calls=1)), OLDER)
    assert (output["stop_reason"], retriever.queries) == ("max_calls", [])


@both
def test_a_model_that_fails_there_raises(invoke: Invoke):
    model = FailingModel({"answer_with_references": [ANSWER]}, fails="decompose")
    with pytest.raises(ModelError, match="away"):
        invoke(graph_of(model), OLDER)


def test_the_words_are_the_caller_s():
    model = model_of()
    words = PromptTemplates(decompose="Teile: {question} ({limit})")
    graph_of(model, templates=words).invoke({"question": OLDER})
    assert model.prompts[0].text == f"Teile: {OLDER} (4)"


def test_a_person_sees_the_parts_first():
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    retriever = library()
    graph = create_self_completion_graph(
        model=model_of(), retriever=retriever, decompose=True, review_queries=True
    ).compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    stopped: Any = graph.invoke({"question": OLDER}, thread)
    (asked,) = stopped["__interrupt__"]
    assert asked.value["queries"] == [OLDER, "Aran launched", "Skye launched"]
    graph.invoke(Command(resume=["Aran launched"]), thread)
    assert retriever.queries == ["Aran launched"]


def test_a_single_round_takes_the_question_apart_too():
    """What collection reads off the loop's first round costs what that system would cost."""
    half = "INSUFFICIENT\nThe Aran is from 1931 [1].\nSearch: Skye again"
    retriever = MappingRetriever({"Aran launched": [ARAN], "Skye again": [SKYE]})
    settings = Settings.of(model_of(PARTS, half, ANSWER), retriever, decompose=True)
    each = GraphAnswerer(settings).answer_each(OLDER)
    served = GraphAnswerer(
        settings.but(model=model_of(PARTS, half), budget=Budget(max_rounds=1))
    ).answer(OLDER, "loop")
    assert {task: usage.calls for task, usage in each["single"].usage.items()} == {
        "decompose": 1,
        "answer_with_references": 1,
    }
    assert each["single"].text == served.text
    assert each["single"].usage == served.usage


def test_records_tell_systems_that_take_questions_apart_from_others():
    plain = Settings.of(ScriptedModel())
    assert plain.version != plain.but(decompose=True).version
