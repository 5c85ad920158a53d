"""What each of LangChain's and LangGraph's streams shows: those the docs recommend, no verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph

from langchain_skr import create_skr_chain, create_skr_graph
from skr_core.prompts import INSUFFICIENT, SUFFICIENT
from tests.langchain_skr.fakes import ANSWER, QUESTION, Library, stating_model

Shown = Callable[[], Awaitable[list[str]]]


def chain(**options: Any) -> Any:
    return create_skr_chain(stating_model(), Library(), **options)


def graph() -> Any:
    return create_skr_graph(stating_model(), Library())


async def sync(function: Callable[[], Any]) -> list[str]:
    return await asyncio.to_thread(lambda: [str(piece) for piece in function()])


async def stream() -> list[str]:
    return await sync(lambda: chain().stream(QUESTION))


async def astream() -> list[str]:
    return [piece async for piece in chain().astream(QUESTION)]


async def stream_of_sources() -> list[str]:
    pieces = chain(return_sources=True).stream(QUESTION)
    return await sync(lambda: (piece["answer"] for piece in pieces if "answer" in piece))


async def stream_of_messages() -> list[str]:
    messages = graph().stream({"question": QUESTION}, stream_mode="messages")
    return await sync(lambda: (message.text for message, _ in messages))


async def astream_of_messages() -> list[str]:
    messages = graph().astream({"question": QUESTION}, stream_mode="messages")
    return [message.text async for message, _ in messages]


async def stream_of_custom_events() -> list[str]:
    given = {"question": QUESTION}
    events = graph().stream(given, stream_mode=["messages", "custom"])
    custom = (each for mode, each in events if mode == "custom")
    return await sync(lambda: (each["text"] for each in custom if each["type"] == "token"))


async def events_of_a_chain() -> list[str]:
    return await chunks(chain(), QUESTION)


async def events_of_sources() -> list[str]:
    pieces = await chunks(chain(return_sources=True), QUESTION)
    return [piece["answer"] for piece in pieces if "answer" in piece]


async def events_of_a_pipe() -> list[str]:
    piped = RunnableLambda(lambda question: question) | chain() | StrOutputParser()
    return await chunks(piped, QUESTION)


async def events_of_a_graph() -> list[str]:
    pieces = await chunks(graph(), {"question": QUESTION}, stream_mode="messages")
    return [message.text for message, _ in pieces]


async def chunks(runnable: Any, asked: Any, **options: Any) -> list[Any]:
    """What ``on_chain_stream`` of the outermost run shows."""
    events = runnable.astream_events(asked, version="v2", **options)
    return [
        event["data"]["chunk"]
        async for event in events
        if event["event"] == "on_chain_stream" and not event["parent_ids"]
    ]


async def astream_log() -> list[str]:
    log = chain().astream_log(QUESTION, include_types=["none"])
    ops = [op async for patch in log for op in patch.ops]
    return [op["value"] for op in ops if op["path"] == "/streamed_output/-"]


@pytest.mark.filterwarnings("ignore:astream_log is deprecated")
@pytest.mark.parametrize(
    "shown",
    [
        stream,
        astream,
        stream_of_sources,
        stream_of_messages,
        astream_of_messages,
        stream_of_custom_events,
        events_of_a_chain,
        events_of_sources,
        events_of_a_pipe,
        events_of_a_graph,
        astream_log,
    ],
)
async def test_a_stream_shows_the_answer_as_it_is_made_and_nothing_else(shown: Shown) -> None:
    pieces = await shown()
    assert "".join(pieces) == ANSWER
    assert len(pieces) > 5


@pytest.mark.parametrize("asked", [chain, graph])
async def test_what_the_model_says_is_tagged_and_can_be_left_out(asked: Any) -> None:
    """`on_chat_model_stream` is the model's own reply, verdict and drafts and all."""

    async def said(**options: Any) -> str:
        events = asked().astream_events({"question": QUESTION}, version="v2", **options)
        return "".join(
            [
                event["data"]["chunk"].text
                async for event in events
                if event["event"] == "on_chat_model_stream"
            ]
        )

    assert (await said()).startswith(INSUFFICIENT)
    assert await said(exclude_tags=["nostream"]) == ""


@pytest.mark.parametrize("mode", ["updates", "values", "custom", "messages"])
async def test_no_mode_of_a_graph_shows_a_verdict(mode: Any) -> None:
    given = {"question": QUESTION}
    shown = str([each async for each in graph().astream(given, stream_mode=mode)])
    assert ANSWER in shown or mode == "messages"
    assert SUFFICIENT not in shown


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_langgraph_s_third_protocol_shows_the_answer_as_one_message(mode: str) -> None:
    given = {"question": QUESTION}
    if mode == "sync":

        def messages() -> list[str]:
            run = graph().stream_events(given, version="v3")
            return [str(message.text) for message in run.messages]

        assert await asyncio.to_thread(messages) == [ANSWER]
    else:
        run = await graph().astream_events(given, version="v3")
        assert [str(await message.text) async for message in run.messages] == [ANSWER]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_messages_name_who_spoke_in_streams_and_conversations(mode: str) -> None:
    def named(name: str) -> Any:
        return create_skr_graph(stating_model(), Library(), name=name)

    team = StateGraph(MessagesState)
    team.add_node("one", named("librarian"))
    team.add_node("other", create_skr_graph(stating_model(), Library()))
    team.add_edge(START, "one").add_edge("one", "other")
    app: Any = team.compile()
    given, options = {"messages": [("user", QUESTION)]}, {"subgraphs": True}
    modes = ["messages", "values"]
    if mode == "sync":
        stream = app.stream(given, stream_mode=modes, **options)
        parts = await asyncio.to_thread(lambda: list(stream))
    else:
        parts = [each async for each in app.astream(given, stream_mode=modes, **options)]
    streamed = {(m.name, m.id) for _, mode, (m, *_) in parts if mode == "messages"}
    *_, last = (state for space, mode, state in parts if mode == "values" and not space)
    asked, one, other = last["messages"]
    assert [asked.name, one.name, other.name] == [None, "librarian", "skr"]
    assert streamed == {(one.name, one.id), (other.name, other.id)}
