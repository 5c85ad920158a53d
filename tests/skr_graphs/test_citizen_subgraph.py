"""The graph inside a user's graph: as a node, and called by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from skr_core.budget import Budget
from skr_core.routers import NeverRetrieve
from skr_graphs import SKRContext
from tests.skr_graphs.citizen import ANSWER, FURTHER, QUESTION, World, invoke


def append(before: list[str], after: list[str]) -> list[str]:
    return [*before, *after]


class Shared(TypedDict, total=False):
    """A user's state that has the graph's own keys among others."""

    question: str
    answer: str
    notes: Annotated[list[str], append]


class Apart(TypedDict, total=False):
    """A user's state that shares no key."""

    asked: str
    replied: str


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def as_a_node(inner: Any, **schema: Any) -> StateGraph[Any, Any, Any, Any]:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Shared, **schema)
    builder.add_node("before", lambda state: {"notes": ["before"]})
    builder.add_node("ask", inner)
    builder.add_node("after", lambda state: {"notes": [state["answer"]]})
    builder.add_edge(START, "before")
    builder.add_edge("before", "ask")
    builder.add_edge("ask", "after")
    builder.add_edge("after", END)
    return builder


def called_by_a_node(inner: Any) -> StateGraph[Any, Any, Any, Any]:
    def ask(state: Apart) -> Apart:
        return {"replied": inner.invoke({"question": state["asked"]})["answer"]}

    async def aask(state: Apart) -> Apart:
        return {"replied": (await inner.ainvoke({"question": state["asked"]}))["answer"]}

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Apart)
    builder.add_node("ask", RunnableLambda(ask, aask))
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    return builder


async def test_shared_keys_pass_and_the_rest_stays_outside(colour: str) -> None:
    graph = as_a_node(World().graph.compile()).compile()
    result = await invoke(colour, graph, {"question": QUESTION})
    assert result == {"question": QUESTION, "answer": ANSWER, "notes": ["before", ANSWER]}


async def test_called_inside_a_node_with_a_state_of_another_shape(colour: str) -> None:
    graph = called_by_a_node(World().graph.compile()).compile()
    assert (await invoke(colour, graph, {"asked": QUESTION}))["replied"] == ANSWER


@dataclass
class Theirs:
    """A context that has nothing to do with ours."""

    model: str = "theirs"


@dataclass(frozen=True)
class Extended(SKRContext):
    """Ours, and something of the user's."""

    user: str = ""


async def test_a_parent_s_own_context_is_left_alone(colour: str) -> None:
    graph = as_a_node(World().graph.compile(), context_schema=Theirs).compile()
    result = await invoke(colour, graph, {"question": QUESTION}, context=Theirs())
    assert result["answer"] == ANSWER


async def test_a_parent_passes_ours_on_within_its_own(colour: str) -> None:
    world = World()
    graph = as_a_node(world.graph.compile(), context_schema=Extended).compile()
    context = Extended(user="ada", router=NeverRetrieve(), budget=Budget(max_rounds=1))
    await invoke(colour, graph, {"question": QUESTION}, context=context)
    assert world.tasks == ["answer_directly"]


@pytest.mark.parametrize("make", [as_a_node, called_by_a_node])
async def test_a_review_inside_pauses_the_parent_and_repeats_no_call(
    colour: str, make: Any
) -> None:
    world = World(review_queries=True)
    graph = make(world.graph.compile()).compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    paused = await invoke(colour, graph, {"question": QUESTION, "asked": QUESTION}, thread)
    assert paused["__interrupt__"][0].value["queries"] == [QUESTION]
    paused = await invoke(colour, graph, Command(resume=[QUESTION]), thread)
    assert paused["__interrupt__"][0].value["queries"] == [FURTHER]
    result = await invoke(colour, graph, Command(resume=[FURTHER]), thread)
    assert ANSWER in result.values()
    assert world.tasks == ["answer_with_references", "self_complete", "answer_with_references"]
    assert world.retriever.queries == [QUESTION, FURTHER]


async def test_its_events_stream_with_the_sub_graphs(colour: str) -> None:
    graph: Any = as_a_node(World().graph.compile()).compile()
    options: Any = {"stream_mode": "custom", "subgraphs": True}
    if colour == "sync":
        events = [event for _, event in graph.stream({"question": QUESTION}, **options)]
    else:
        stream = graph.astream({"question": QUESTION}, **options)
        events = [event async for _, event in stream]
    assert [each["query"] for each in events if each["type"] == "query"] == [QUESTION, FURTHER]
    assert "".join(each["text"] for each in events if each["type"] == "token") == ANSWER
