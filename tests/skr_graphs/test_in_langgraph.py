"""The graph among LangGraph's own: checkpointers, interrupts, sub-graphs and time travel."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from skr_core import Budget, Generation, Prompt
from skr_core.prompts import QUERY_LEAD, REFUSAL
from skr_core.routers import NeverRetrieve
from skr_graphs import SKRContext, answer_of, create_self_completion_graph
from tests.skr_graphs.citizen import ANSWER, FURTHER, QUESTION, World, invoke

THREAD: Any = {"configurable": {"thread_id": "1"}}
KINDS = ["memory sync", "memory async", "sqlite sync", "sqlite async"]


@pytest.fixture(params=KINDS)
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Any, str]]:
    """A checkpointer, and whether it is used sync or async."""
    kind, form = request.param.split()
    path = str(tmp_path / "checkpoints.sqlite")
    with ExitStack() as stack:
        async with AsyncExitStack() as astack:
            if kind == "memory":
                yield InMemorySaver(), form
            elif form == "sync":
                yield stack.enter_context(SqliteSaver.from_conn_string(path)), form
            else:
                yield (
                    await astack.enter_async_context(AsyncSqliteSaver.from_conn_string(path)),
                    form,
                )


async def state_of(graph: Any, form: str) -> Any:
    return graph.get_state(THREAD) if form == "sync" else await graph.aget_state(THREAD)


async def test_what_is_kept_is_what_was_answered(saver: tuple[Any, str]) -> None:
    checkpointer, form = saver
    graph = World().graph.compile(checkpointer=checkpointer)
    output = await invoke(form, graph, {"question": QUESTION}, THREAD)
    again = World().graph.compile(checkpointer=checkpointer)
    kept = (await state_of(again, form)).values
    assert answer_of(kept) == answer_of(output)
    assert kept["answer"] == ANSWER


async def test_a_run_goes_on_where_it_failed(saver: tuple[Any, str]) -> None:
    checkpointer, form = saver
    world = World()
    said = world.model.generate

    def fails_on_the_second_draft(prompt: Any, **kwargs: Any) -> Any:
        generation = said(prompt, **kwargs)
        if world.tasks.count("answer_with_references") == 2:
            raise RuntimeError("pulled out the plug")
        return generation

    world.model.generate = fails_on_the_second_draft  # type: ignore[method-assign]
    graph = world.graph.compile(checkpointer=checkpointer)
    with pytest.raises(RuntimeError, match="plug"):
        await invoke(form, graph, {"question": QUESTION}, THREAD)
    world.model.generate = said  # type: ignore[method-assign]
    result = await invoke(form, graph, None, THREAD)
    assert result["answer"] == ANSWER
    assert world.retriever.queries == [QUESTION, FURTHER]
    assert world.tasks.count("self_complete") == 1


class ByWhatItIsShown:
    """A model that says the same wherever a run goes on, and notes what it is asked."""

    name = "by-what-it-is-shown"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def generate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        self.asked.append(prompt.task)
        if prompt.task == "self_complete":
            return Generation(f"{QUERY_LEAD}\n1. {FURTHER}")
        return Generation(ANSWER if len(prompt.references) > 1 else REFUSAL)

    async def agenerate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        return self.generate(prompt)


class Watched(InMemorySaver):
    """Notes what it is given to keep."""

    def __init__(self) -> None:
        super().__init__()
        self.checkpoints: list[Any] = []
        self.of_tasks: list[Any] = []

    def put(self, *given: Any) -> Any:
        self.checkpoints.append(copy.deepcopy(given))
        return super().put(*given)

    def put_writes(self, *given: Any) -> None:
        self.of_tasks.append(copy.deepcopy(given))
        super().put_writes(*given)

    def as_left(self, number: int, *, with_writes: bool) -> InMemorySaver:
        """What a kill leaves that lost the checkpoints behind the first so many.

        What the last one's own nodes wrote is kept or lost by itself.
        """
        left = InMemorySaver()
        for given in self.checkpoints[:number]:
            left.put(*given)
        last = self.checkpoints[number - 1][1]["id"]
        earlier = {given[1]["id"] for given in self.checkpoints[: number - 1]}
        for given in self.of_tasks:
            of = given[0]["configurable"]["checkpoint_id"]
            if of in earlier or (with_writes and of == last):
                left.put_writes(*given)
        return left


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_a_run_goes_on_from_whatever_a_kill_leaves(form: str) -> None:
    whole: list[Any] = []

    async def go_on(saver: Any, given: Any = None) -> int:
        """End the run, and say how often the model was asked for it."""
        model = ByWhatItIsShown()
        graph = create_self_completion_graph(model=model, retriever=World().retriever)
        graph = graph.compile(checkpointer=saver)
        if given or (await state_of(graph, form)).tasks:
            await invoke(form, graph, given, THREAD, durability="sync")
        else:
            whole.append(saver)
        kept = (await state_of(graph, form)).values
        assert [each.content for each in kept["messages"]] == [QUESTION, ANSWER]
        assert answer_of(kept).text == "In Port Elm [2]."
        return len(model.asked)

    watched = Watched()
    calls = await go_on(watched, {"question": QUESTION})
    numbers = range(1, len(watched.checkpoints) + 1)
    lost = [await go_on(watched.as_left(number, with_writes=False)) for number in numbers]
    assert (lost[0], lost[-1]) == (calls, 0) == (3, 0)
    assert all(0 <= here - behind <= 1 for here, behind in pairwise(lost))
    assert len(whole) == 1  # the last checkpoint alone has nothing to go on with
    # What a node wrote keeps it from being run again, as the checkpoint behind it does.
    kept = [await go_on(watched.as_left(number, with_writes=True)) for number in numbers[:-1]]
    assert kept == lost[1:]
    assert len(whole) == 1


# A person edits the queries before they are searched.


@pytest.fixture(params=["sync", "async"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def reviewed(**options: Any) -> tuple[World, Any]:
    world = World(review_queries=True, **options)
    return world, world.graph.compile(checkpointer=InMemorySaver())


async def test_each_round_s_queries_are_shown_and_edited(form: str) -> None:
    world, graph = reviewed()
    paused = await invoke(form, graph, {"question": QUESTION}, THREAD)
    (first,) = paused["__interrupt__"]
    assert first.value == {
        "question": QUESTION,
        "round": 1,
        "queries": [QUESTION],
        "problem": "",
    }
    assert world.tasks == []
    paused = await invoke(form, graph, Command(resume=[QUESTION]), THREAD)
    (second,) = paused["__interrupt__"]
    assert (second.value["round"], second.value["queries"]) == (2, [FURTHER])
    edited = [" Ada Quill's birthplace ", FURTHER, FURTHER]
    result = await invoke(form, graph, Command(resume=edited), THREAD)
    assert result["answer"] == ANSWER
    assert result["rounds"][1]["queries"] == ["Ada Quill's birthplace", FURTHER]
    assert world.tasks == ["answer_with_references", "self_complete", "answer_with_references"]


@pytest.mark.parametrize("unusable", ["one", [""], [5], True, {"queries": []}])
async def test_an_unusable_reply_is_asked_for_again(form: str, unusable: Any) -> None:
    world, graph = reviewed()
    await invoke(form, graph, {"question": QUESTION}, THREAD)
    paused = await invoke(form, graph, Command(resume=unusable), THREAD)
    assert paused["__interrupt__"][0].value["problem"].startswith("resume with a list")
    await invoke(form, graph, Command(resume=[FURTHER]), THREAD)
    assert world.retriever.queries == [FURTHER]


async def test_no_queries_end_the_search(form: str) -> None:
    world, graph = reviewed()
    await invoke(form, graph, {"question": QUESTION}, THREAD)
    await invoke(form, graph, Command(resume=[QUESTION]), THREAD)
    result = await invoke(form, graph, Command(resume=[]), THREAD)
    assert result["stop_reason"] == "no_new_queries"
    assert world.retriever.queries == [QUESTION]


async def test_a_known_question_is_not_reviewed(form: str) -> None:
    world, graph = reviewed(router=NeverRetrieve())
    result = await invoke(form, graph, {"question": QUESTION}, THREAD)
    assert "__interrupt__" not in result
    assert world.tasks == ["answer_directly"]


async def test_the_person_s_time_counts_towards_no_deadline(
    form: str,
) -> None:
    _, graph = reviewed(budget=Budget(deadline_s=60))
    await invoke(form, graph, {"question": QUESTION}, THREAD)
    config = graph.get_state(THREAD).config
    asked = graph.get_state(THREAD).values["asked"]
    asked = {**asked, "started_at": asked["started_at"] - 3600}
    graph.update_state(config, {"asked": asked}, as_node="route")
    await invoke(form, graph, Command(resume=[QUESTION]), THREAD)
    result = await invoke(form, graph, Command(resume=[FURTHER]), THREAD)
    assert result["stop_reason"] == "sufficient"


def test_without_the_option_there_is_no_such_node() -> None:
    assert "review" not in create_self_completion_graph().nodes
    assert "review" in create_self_completion_graph(review_queries=True).nodes


# The graph inside a user's graph: as a node, and called by one.


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


async def test_shared_keys_pass_and_the_rest_stays_outside(form: str) -> None:
    graph = as_a_node(World().graph.compile()).compile()
    result = await invoke(form, graph, {"question": QUESTION})
    assert result == {"question": QUESTION, "answer": ANSWER, "notes": ["before", ANSWER]}


async def test_called_inside_a_node_with_a_state_of_another_shape(form: str) -> None:
    graph = called_by_a_node(World().graph.compile()).compile()
    assert (await invoke(form, graph, {"asked": QUESTION}))["replied"] == ANSWER


@dataclass
class Theirs:
    """A context that has nothing to do with ours."""

    model: str = "theirs"


@dataclass(frozen=True)
class Extended(SKRContext):
    """Ours, and something of the user's."""

    user: str = ""


async def test_a_parent_s_own_context_is_left_alone(form: str) -> None:
    graph = as_a_node(World().graph.compile(), context_schema=Theirs).compile()
    result = await invoke(form, graph, {"question": QUESTION}, context=Theirs())
    assert result["answer"] == ANSWER


async def test_a_parent_passes_ours_on_within_its_own(form: str) -> None:
    world = World()
    graph = as_a_node(world.graph.compile(), context_schema=Extended).compile()
    context = Extended(user="ada", router=NeverRetrieve(), budget=Budget(max_rounds=1))
    await invoke(form, graph, {"question": QUESTION}, context=context)
    assert world.tasks == ["answer_directly"]


@pytest.mark.parametrize("make", [as_a_node, called_by_a_node])
async def test_a_review_inside_pauses_the_parent_and_repeats_no_call(form: str, make: Any) -> None:
    world = World(review_queries=True)
    graph = make(world.graph.compile()).compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    paused = await invoke(form, graph, {"question": QUESTION, "asked": QUESTION}, thread)
    assert paused["__interrupt__"][0].value["queries"] == [QUESTION]
    paused = await invoke(form, graph, Command(resume=[QUESTION]), thread)
    assert paused["__interrupt__"][0].value["queries"] == [FURTHER]
    result = await invoke(form, graph, Command(resume=[FURTHER]), thread)
    assert ANSWER in result.values()
    assert world.tasks == ["answer_with_references", "self_complete", "answer_with_references"]
    assert world.retriever.queries == [QUESTION, FURTHER]


async def test_its_events_stream_with_the_sub_graphs(form: str) -> None:
    graph: Any = as_a_node(World().graph.compile()).compile()
    options: Any = {"stream_mode": "custom", "subgraphs": True}
    if form == "sync":
        events = [event for _, event in graph.stream({"question": QUESTION}, **options)]
    else:
        stream = graph.astream({"question": QUESTION}, **options)
        events = [event async for _, event in stream]
    assert [each["query"] for each in events if each["type"] == "query"] == [QUESTION, FURTHER]
    assert "".join(each["text"] for each in events if each["type"] == "token") == ANSWER


# Back to an earlier round: what came before it is not run again.


async def history(form: str, graph: Any) -> list[Any]:
    if form == "sync":
        return list(graph.get_state_history(THREAD))
    return [each async for each in graph.aget_state_history(THREAD)]


async def before(form: str, graph: Any, node: str) -> Any:
    """The latest state in which a node was about to run."""
    return next(each for each in await history(form, graph) if each.next == (node,))


async def update(form: str, graph: Any, *args: Any, **kwargs: Any) -> Any:
    if form == "sync":
        return graph.update_state(*args, **kwargs)
    return await graph.aupdate_state(*args, **kwargs)


async def test_it_runs_again_from_there_only(form: str) -> None:
    world = World()
    graph = world.graph.compile(checkpointer=InMemorySaver())
    first = await invoke(form, graph, {"question": QUESTION}, THREAD)
    tasks, searched = len(world.tasks), len(world.retriever.queries)
    earlier = await before(form, graph, "follow_up")
    again = await invoke(form, graph, None, earlier.config)
    assert world.retriever.queries[searched:] == [FURTHER]
    assert world.tasks[tasks:] == ["self_complete", "answer_with_references"]
    assert again["rounds"][0] == first["rounds"][0]


async def test_with_other_queries(form: str) -> None:
    world = World()
    graph = world.graph.compile(checkpointer=InMemorySaver())
    await invoke(form, graph, {"question": QUESTION}, THREAD)
    tasks, searched = len(world.tasks), len(world.retriever.queries)
    earlier = await before(form, graph, "follow_up")
    queries = ["Ada Quill's birthplace"]
    edited = await update(form, graph, earlier.config, {"queries": queries}, as_node="follow_up")
    result = await invoke(form, graph, None, edited)
    assert world.retriever.queries[searched:] == queries
    assert world.tasks[tasks:] == ["answer_with_references"]
    assert [each["queries"] for each in result["rounds"]] == [[QUESTION], queries]
    assert result["answer"] == ANSWER


async def test_the_branch_becomes_the_thread_s_present(form: str) -> None:
    world = World()
    graph = world.graph.compile(checkpointer=InMemorySaver())
    await invoke(form, graph, {"question": QUESTION}, THREAD)
    earlier = await before(form, graph, "finish")
    edited = await update(form, graph, earlier.config, {"stop_reason": "max_rounds"})
    await invoke(form, graph, None, edited)
    assert graph.get_state(THREAD).values["stop_reason"] == "max_rounds"
    assert len([each for each in await history(form, graph) if not each.next]) == 2
