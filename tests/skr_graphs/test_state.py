"""Contexts, checkpointers and reused threads, sync and async."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from skr_core import Budget, Demonstration
from skr_core.errors import InputError, ModelError
from skr_core.plain import to_plain
from skr_core.prompts import REFUSAL
from skr_core.reflectors import JudgeReflector
from skr_core.routers import NeverRetrieve
from skr_core.testing import BrokenModel, MappingRetriever, ScriptedModel
from skr_graphs import SKRContext, answer_of, create_self_completion_graph
from tests.skr_graphs.doubles import (
    QUESTION,
    Invoke,
    ListStore,
    SlowRetriever,
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


# What is kept of references

ROUNDS = ("one", "two", "three")
PASSAGE = 3_000
TEXTS = {query: [f"({query} {n}) ".ljust(PASSAGE, "x") for n in range(10)] for query in ROUNDS}
DRAFTS = ["INSUFFICIENT\nSearch: two", "INSUFFICIENT\nSearch: three", "SUFFICIENT\nAll [1]."]


def three_rounds(invoke: Invoke) -> tuple[dict[str, Any], Any]:
    graph = create_self_completion_graph(
        model=ScriptedModel({"answer_with_references": DRAFTS}), retriever=MappingRetriever(TEXTS)
    ).compile(checkpointer=InMemorySaver())
    output = invoke(graph, "one", config=THREAD)
    assert len(output["rounds"]) == len(ROUNDS)
    return output, graph


@both
def test_rounds_name_references_by_their_ids(invoke: Invoke):
    output, _ = three_rounds(invoke)
    answer = answer_of(output)
    assert len(answer.references) == 10
    assert len(json.dumps(to_plain(answer))) < 1.3 * PASSAGE * len(answer.references)
    assert "xxx" not in json.dumps(output["rounds"])


@both
def test_a_checkpoint_holds_each_reference_once(invoke: Invoke):
    _, graph = three_rounds(invoke)
    steps = [each for each in graph.get_state_history(THREAD) if each.next == ("reflect",)]
    assert len(steps) == len(ROUNDS)
    assert [json.dumps(each.values, default=str).count("(one 1) ") for each in steps] == [1, 1, 1]


# `invoke` uses no event loop, and `ainvoke` starts no thread.


def everything() -> Any:
    """A graph whose run passes through every kind of step, with queries side by side."""
    model = ScriptedModel(
        {
            "answer_with_references": [REFUSAL, "Paris [1]."],
            "self_complete": ["one\ntwo\nthree"],
        }
    )
    return create_self_completion_graph(
        model=model,
        retriever=SlowRetriever({"one": 0.01}),
        reference_store=ListStore(),
        scope="shared",
        reflector=JudgeReflector(ScriptedModel(["sufficient"])),
    ).compile()


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("sync where async is wanted, or the reverse")


def test_invoke_uses_no_event_loop(monkeypatch: pytest.MonkeyPatch):
    graph = everything()
    monkeypatch.setattr(asyncio, "new_event_loop", refuse)
    monkeypatch.setattr(asyncio, "run", refuse)
    monkeypatch.setattr(asyncio.BaseEventLoop, "run_forever", refuse)
    for node in ("decide", "generate", "retrieve", "reflect"):
        monkeypatch.setattr(ScriptedModel, f"a{node}", refuse, raising=False)
    monkeypatch.setattr(SlowRetriever, "aretrieve", refuse)
    assert graph.invoke({"question": QUESTION})["answer"] == "Paris [1]."
    assert list(graph.stream({"question": QUESTION}, stream_mode="messages"))


async def test_ainvoke_starts_no_thread(monkeypatch: pytest.MonkeyPatch):
    graph = everything()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(SlowRetriever, "retrieve", refuse)
    output = await graph.ainvoke({"question": QUESTION})
    assert output["answer"] == "Paris [1]."
    parts = [part async for part in graph.astream({"question": QUESTION}, stream_mode="messages")]
    assert parts
