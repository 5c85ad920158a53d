"""The state in each checkpointer: kept, resumed after a failure, read again, without a warning."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from skr_core.prompts.templates import QUERY_LEAD, REFUSAL
from skr_core.types import Generation, Prompt
from skr_graphs import answer_of, create_self_completion_graph
from tests.skr_graphs.citizen import ANSWER, FURTHER, QUESTION, World, invoke

THREAD: Any = {"configurable": {"thread_id": "1"}}
KINDS = ["memory sync", "memory async", "sqlite sync", "sqlite async"]


@pytest.fixture(params=KINDS)
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Any, str]]:
    """A checkpointer, and the colour it is used in."""
    kind, colour = request.param.split()
    path = str(tmp_path / "checkpoints.sqlite")
    with ExitStack() as stack:
        async with AsyncExitStack() as astack:
            if kind == "memory":
                yield InMemorySaver(), colour
            elif colour == "sync":
                yield stack.enter_context(SqliteSaver.from_conn_string(path)), colour
            else:
                yield (
                    await astack.enter_async_context(AsyncSqliteSaver.from_conn_string(path)),
                    colour,
                )


async def state_of(graph: Any, colour: str) -> Any:
    return graph.get_state(THREAD) if colour == "sync" else await graph.aget_state(THREAD)


async def test_what_is_kept_is_what_was_answered(saver: tuple[Any, str]) -> None:
    checkpointer, colour = saver
    graph = World().graph.compile(checkpointer=checkpointer)
    output = await invoke(colour, graph, {"question": QUESTION}, THREAD)
    again = World().graph.compile(checkpointer=checkpointer)
    kept = (await state_of(again, colour)).values
    assert answer_of(kept) == answer_of(output)
    assert kept["answer"] == ANSWER


async def test_a_run_goes_on_where_it_failed(saver: tuple[Any, str]) -> None:
    checkpointer, colour = saver
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
        await invoke(colour, graph, {"question": QUESTION}, THREAD)
    world.model.generate = said  # type: ignore[method-assign]
    result = await invoke(colour, graph, None, THREAD)
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


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_run_goes_on_from_whatever_a_kill_leaves(colour: str) -> None:
    whole: list[Any] = []

    async def go_on(saver: Any, given: Any = None) -> int:
        """End the run, and say how often the model was asked for it."""
        model = ByWhatItIsShown()
        graph = create_self_completion_graph(model=model, retriever=World().retriever)
        graph = graph.compile(checkpointer=saver)
        if given or (await state_of(graph, colour)).tasks:
            await invoke(colour, graph, given, THREAD, durability="sync")
        else:
            whole.append(saver)
        kept = (await state_of(graph, colour)).values
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
