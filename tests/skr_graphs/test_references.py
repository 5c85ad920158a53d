"""What is found, kept, remembered and cited, in both colours."""

from __future__ import annotations

import pytest

from skr_core.prompts.templates import REFUSAL
from skr_core.reflectors import JudgeReflector
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import content_id
from skr_graphs import answer_of, create_self_completion_graph
from tests.skr_graphs.doubles import (
    PARIS,
    QUESTION,
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
    assert answer.text == "Paris [2], not Rome."
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
        model=ScriptedModel(["Paris [1]."]), retriever=searchable(), store=store
    ).compile()
    invoke(first)
    assert [each.text for each in store.references.values()] == [PARIS]
    later = create_self_completion_graph(
        model=ScriptedModel(["Paris [1]."]), retriever=searchable(), store=store
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
        model=ScriptedModel(["Paris [1]."]), retriever=store, store=store
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
        model=ScriptedModel(["Paris [1]."]), retriever=searchable(), store=store
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
        model=ScriptedModel(["Paris [1]."]), retriever=searchable(failing=["capital"]), store=store
    ).compile()
    output = invoke(graph, "capital")
    assert output["answer"] == "Paris [1]."
    assert len(output["rounds"][0]["errors"]) == 1
