"""A person edits the queries before they are searched."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from skr_core.budget import Budget
from skr_core.routers import NeverRetrieve
from skr_graphs import create_self_completion_graph, review
from tests.skr_graphs.citizen import ANSWER, FURTHER, QUESTION, World, invoke

THREAD: Any = {"configurable": {"thread_id": "1"}}


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def reviewed(**options: Any) -> tuple[World, Any]:
    world = World(review_queries=True, **options)
    return world, world.graph.compile(checkpointer=InMemorySaver())


async def test_each_round_s_queries_are_shown_and_edited(colour: str) -> None:
    world, graph = reviewed()
    paused = await invoke(colour, graph, {"question": QUESTION}, THREAD)
    (first,) = paused["__interrupt__"]
    assert first.value == {
        "question": QUESTION,
        "round": 1,
        "queries": [QUESTION],
        "problem": "",
    }
    assert world.tasks == []
    paused = await invoke(colour, graph, Command(resume=[QUESTION]), THREAD)
    (second,) = paused["__interrupt__"]
    assert (second.value["round"], second.value["queries"]) == (2, [FURTHER])
    edited = [" Ada Quill's birthplace ", FURTHER, FURTHER]
    result = await invoke(colour, graph, Command(resume=edited), THREAD)
    assert result["answer"] == ANSWER
    assert result["rounds"][1]["queries"] == ["Ada Quill's birthplace", FURTHER]
    assert world.tasks == ["answer_with_references", "self_complete", "answer_with_references"]


@pytest.mark.parametrize("unusable", ["one", [""], [5], True, {"queries": []}])
async def test_an_unusable_reply_is_asked_for_again(colour: str, unusable: Any) -> None:
    world, graph = reviewed()
    await invoke(colour, graph, {"question": QUESTION}, THREAD)
    paused = await invoke(colour, graph, Command(resume=unusable), THREAD)
    assert paused["__interrupt__"][0].value["problem"].startswith("resume with a list")
    await invoke(colour, graph, Command(resume=[FURTHER]), THREAD)
    assert world.retriever.queries == [FURTHER]


async def test_no_queries_end_the_search(colour: str) -> None:
    world, graph = reviewed()
    await invoke(colour, graph, {"question": QUESTION}, THREAD)
    await invoke(colour, graph, Command(resume=[QUESTION]), THREAD)
    result = await invoke(colour, graph, Command(resume=[]), THREAD)
    assert result["stop_reason"] == "no_new_queries"
    assert world.retriever.queries == [QUESTION]


async def test_a_known_question_is_not_reviewed(colour: str) -> None:
    world, graph = reviewed(router=NeverRetrieve())
    result = await invoke(colour, graph, {"question": QUESTION}, THREAD)
    assert "__interrupt__" not in result
    assert world.tasks == ["answer_directly"]


async def test_the_person_s_time_counts_towards_no_deadline(
    colour: str,
) -> None:
    _, graph = reviewed(budget=Budget(deadline_s=60))
    await invoke(colour, graph, {"question": QUESTION}, THREAD)
    config = graph.get_state(THREAD).config
    asked = graph.get_state(THREAD).values["asked"]
    asked = {**asked, "started_at": asked["started_at"] - 3600}
    graph.update_state(config, {"asked": asked}, as_node="route")
    await invoke(colour, graph, Command(resume=[QUESTION]), THREAD)
    result = await invoke(colour, graph, Command(resume=[FURTHER]), THREAD)
    assert result["stop_reason"] == "sufficient"


def test_without_the_option_there_is_no_such_node() -> None:
    assert "review" not in create_self_completion_graph().nodes
    assert "review" in create_self_completion_graph(review_queries=True).nodes
    assert review.__name__ == "skr_graphs.review"
