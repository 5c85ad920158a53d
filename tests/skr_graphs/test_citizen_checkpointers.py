"""The state in each checkpointer: kept, resumed after a failure, read again, without a warning."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from skr_graphs import answer_of
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
