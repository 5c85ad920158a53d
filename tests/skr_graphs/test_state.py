"""Contexts, checkpointers and reused threads, in both colours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from skr_core.budget import Budget
from skr_core.errors import InputError, ModelError
from skr_core.prompts.templates import REFUSAL
from skr_core.routers import NeverRetrieve
from skr_core.testing import BrokenModel, ScriptedModel
from skr_core.types import Demonstration
from skr_graphs import SKRContext, answer_of, create_self_completion_graph
from tests.skr_graphs.doubles import (
    QUESTION,
    Invoke,
    both,
    refusing,
    searchable,
)

THREAD = {"configurable": {"thread_id": "one"}}
LATER = "What is the capital of Spain?"


def loop(model: ScriptedModel | None = None) -> Any:
    """A graph that takes two rounds for the question and one for another."""
    script = ScriptedModel(
        {
            "answer_with_references": [REFUSAL, "Paris [1][9].", "Else [1]."],
            "self_complete": ["one"],
        }
    )
    return create_self_completion_graph(model=model or script, retriever=searchable("one", LATER))


def check_that_nothing_is_inherited(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert len(first["rounds"]) == 2
    assert first["removed_markers"] == 1
    assert second["question"] == LATER
    assert second["answer"] == "Else [1]."
    assert [each["text"] for each in second["references"]] == [f"about {LATER}"]
    assert len(second["rounds"]) == 1
    assert second["removed_markers"] == 0
    assert list(second["usage"]) == ["answer_with_references"]
    assert second["usage"]["answer_with_references"]["calls"] == 1


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
    else:
        with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as opened:
            yield opened


def test_a_reused_thread_inherits_nothing(saver: Any):
    graph = loop().compile(checkpointer=saver)
    first = graph.invoke({"question": QUESTION}, THREAD)
    second = graph.invoke({"question": LATER}, THREAD)
    check_that_nothing_is_inherited(first, second)
    state = graph.get_state(THREAD)
    assert state.next == ()
    assert state.values.get("found", []) == []
    assert len(state.values["rankings"]) == 1
    assert answer_of(state.values).text == "Else [1]."


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_reused_thread_inherits_nothing_awaited(kind: str, tmp_path: Path):
    async def ask(saver: Any) -> None:
        graph = loop().compile(checkpointer=saver)
        first = await graph.ainvoke({"question": QUESTION}, THREAD)
        second = await graph.ainvoke({"question": LATER}, THREAD)
        check_that_nothing_is_inherited(first, second)
        assert (await graph.aget_state(THREAD)).next == ()

    if kind == "memory":
        await ask(InMemorySaver())
    else:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as saver:
            await ask(saver)


def test_a_known_question_after_an_unknown_one(saver: Any):
    graph = loop().compile(checkpointer=saver)
    graph.invoke({"question": QUESTION}, THREAD)
    context = SKRContext(model=ScriptedModel(["Else."]), router=NeverRetrieve())
    output = graph.invoke({"question": LATER}, THREAD, context=context)
    assert (output["answer"], output["stop_reason"]) == ("Else.", "known")
    assert (output["references"], output["rounds"], output["citations"]) == ([], [], [])


def test_a_run_that_broke_goes_on_where_it_was(saver: Any):
    graph = loop().compile(checkpointer=saver)
    with pytest.raises(ModelError):
        graph.invoke({"question": QUESTION}, THREAD, context=SKRContext(model=BrokenModel()))
    retriever = searchable()
    model = ScriptedModel(["Paris [1]."])
    output = graph.invoke(None, THREAD, context=SKRContext(model=model, retriever=retriever))
    assert output["answer"] == "Paris [1]."
    assert retriever.queries == [], "what was found before is not searched again"


def test_each_query_is_checkpointed_by_itself():
    model = ScriptedModel(
        {"answer_with_references": [REFUSAL, "Yes."], "self_complete": ["one\ntwo"]}
    )
    graph = create_self_completion_graph(model=model, retriever=searchable("one", "two")).compile(
        checkpointer=InMemorySaver()
    )
    graph.invoke({"question": QUESTION}, THREAD)
    tasks = [[task.name for task in each.tasks] for each in graph.get_state_history(THREAD)]
    assert ["retrieve", "retrieve"] in tasks


# Contexts


@both
def test_a_context_replaces_the_defaults(invoke: Invoke):
    default, other = ScriptedModel(["default [1]"]), ScriptedModel(["other [1]"])
    graph = create_self_completion_graph(model=default, retriever=searchable()).compile()
    assert invoke(graph, context=SKRContext(model=other))["answer"] == "other [1]"
    assert invoke(graph)["answer"] == "default [1]"
    assert len(default.prompts) == len(other.prompts) == 1


@both
@pytest.mark.parametrize(
    "context",
    [
        SKRContext(budget=Budget(max_rounds=1)),
        {"budget": Budget(max_rounds=1)},
        {"budget": {"max_rounds": 1}},
        {"budget": {"max_rounds": 1}, "when_insufficient": "own_knowledge"},
    ],
    ids=["dataclass", "dict", "dicts", "more"],
)
def test_a_server_s_context_is_a_plain_dict(context: Any, invoke: Invoke):
    graph = create_self_completion_graph(
        model=refusing("one", "two"), retriever=searchable("one", "two")
    ).compile()
    output = invoke(graph, context=context)
    assert (output["stop_reason"], len(output["rounds"])) == ("max_rounds", 1)


@both
def test_a_context_may_turn_abstaining_off(invoke: Invoke):
    graph = create_self_completion_graph(
        model=refusing(QUESTION), retriever=searchable(), when_insufficient="refuse"
    ).compile()
    assert invoke(graph)["answer"] == REFUSAL
    assert (
        invoke(graph, context=SKRContext(when_insufficient="own_knowledge"))["answer"]
        == "Perhaps Paris."
    )


@both
def test_demonstrations_reach_the_prompt(invoke: Invoke):
    model = ScriptedModel(["Paris [1]."])
    example = Demonstration("Capital of Spain?", "Madrid.")
    graph = create_self_completion_graph(
        model=model, retriever=searchable(), demonstrations=[example]
    ).compile()
    invoke(graph)
    assert model.prompts[0].demonstrations == (example,)


@both
def test_without_a_model_nothing_begins(invoke: Invoke):
    graph = create_self_completion_graph(retriever=searchable()).compile()
    with pytest.raises(InputError, match="no model"):
        invoke(graph)


@both
@pytest.mark.parametrize("question", ["", "  \n", None])
def test_an_empty_question_is_an_input_error(question: Any, invoke: Invoke):
    graph = create_self_completion_graph(model=ScriptedModel(), retriever=searchable()).compile()
    with pytest.raises(InputError, match="empty"):
        invoke(graph, question)


@both
def test_a_model_s_failure_comes_out(invoke: Invoke):
    graph = create_self_completion_graph(model=BrokenModel(), retriever=searchable()).compile()
    with pytest.raises(ModelError):
        invoke(graph)
