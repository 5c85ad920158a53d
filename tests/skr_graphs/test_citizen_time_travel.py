"""Back to an earlier round: what came before it is not run again."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.skr_graphs.citizen import ANSWER, FURTHER, QUESTION, World, invoke

THREAD: Any = {"configurable": {"thread_id": "1"}}


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def history(colour: str, graph: Any) -> list[Any]:
    if colour == "sync":
        return list(graph.get_state_history(THREAD))
    return [each async for each in graph.aget_state_history(THREAD)]


async def before(colour: str, graph: Any, node: str) -> Any:
    """The latest state in which a node was about to run."""
    return next(each for each in await history(colour, graph) if each.next == (node,))


async def update(colour: str, graph: Any, *args: Any, **kwargs: Any) -> Any:
    if colour == "sync":
        return graph.update_state(*args, **kwargs)
    return await graph.aupdate_state(*args, **kwargs)


async def test_it_runs_again_from_there_only(colour: str) -> None:
    world = World()
    graph = world.graph.compile(checkpointer=InMemorySaver())
    first = await invoke(colour, graph, {"question": QUESTION}, THREAD)
    tasks, searched = len(world.tasks), len(world.retriever.queries)
    earlier = await before(colour, graph, "follow_up")
    again = await invoke(colour, graph, None, earlier.config)
    assert world.retriever.queries[searched:] == [FURTHER]
    assert world.tasks[tasks:] == ["self_complete", "answer_with_references"]
    assert again["rounds"][0] == first["rounds"][0]


async def test_with_other_queries(colour: str) -> None:
    world = World()
    graph = world.graph.compile(checkpointer=InMemorySaver())
    await invoke(colour, graph, {"question": QUESTION}, THREAD)
    tasks, searched = len(world.tasks), len(world.retriever.queries)
    earlier = await before(colour, graph, "follow_up")
    queries = ["Ada Quill's birthplace"]
    edited = await update(colour, graph, earlier.config, {"queries": queries}, as_node="follow_up")
    result = await invoke(colour, graph, None, edited)
    assert world.retriever.queries[searched:] == queries
    assert world.tasks[tasks:] == ["answer_with_references"]
    assert [each["queries"] for each in result["rounds"]] == [[QUESTION], queries]
    assert result["answer"] == ANSWER


async def test_the_branch_becomes_the_thread_s_present(colour: str) -> None:
    world = World()
    graph = world.graph.compile(checkpointer=InMemorySaver())
    await invoke(colour, graph, {"question": QUESTION}, THREAD)
    earlier = await before(colour, graph, "finish")
    edited = await update(colour, graph, earlier.config, {"stop_reason": "max_rounds"})
    await invoke(colour, graph, None, edited)
    assert graph.get_state(THREAD).values["stop_reason"] == "max_rounds"
    assert len([each for each in await history(colour, graph) if not each.next]) == 2
