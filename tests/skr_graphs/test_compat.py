"""What `skr_graphs._compat` relies on, so that a new version that changes it is noticed here.

Tried with langgraph 1.2.22 and langchain-core 1.7.2.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from skr_graphs._compat import streams_messages


class State(TypedDict):
    found: bool


def look(state: State, config: RunnableConfig) -> State:
    return {"found": streams_messages(config)}


builder = StateGraph(State)
builder.add_node("look", look)
builder.add_edge(START, "look")
graph = builder.compile()
GIVEN: Any = {"found": False}


@pytest.mark.parametrize(
    ("mode", "found"), [("messages", True), ("values", False), ("custom", False)]
)
def test_a_handler_that_taps_models_is_there_where_messages_are_streamed(mode: Any, found: bool):
    *_, (_, last) = graph.stream(GIVEN, stream_mode=["values", mode])
    assert last["found"] is found


def test_it_is_there_where_events_are_read():
    async def outputs() -> list[Any]:
        events = graph.astream_events(GIVEN, version="v2")
        return [each["data"].get("output") async for each in events if each["name"] == "look"]

    assert {"found": True} in asyncio.run(outputs())


def test_other_handlers_do_not_have_it():
    config: RunnableConfig = {"callbacks": [BaseCallbackHandler()]}
    assert graph.invoke(GIVEN, config)["found"] is False
