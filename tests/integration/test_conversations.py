"""A conversation over a real socket: a thread of the graph, and a chat engine of LlamaIndex."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langchain_skr import create_skr_graph
from langchain_skr import load_model as load_for_langchain
from llamaindex_skr import SKRChatEngine
from llamaindex_skr import load_model as load_for_llamaindex
from skr_core.testing import MappingRetriever
from tests.servers import Messages, OpenAIServer

pytestmark = pytest.mark.integration

FIRST = "Who directed the film Jaws?"
LEANING = "And where was he born?"
ALONE = "Where was Steven Spielberg born?"
ANSWERS = {FIRST: "Steven Spielberg directed it [1].", LEANING: "In Cincinnati [1]."}


def reply(messages: Messages) -> str:
    last = messages[-1]["content"]
    if "Standalone question:" in last:
        return f"<think>He is Spielberg.</think>\n\n**Standalone question:** {ALONE}"
    answer = next(answer for question, answer in ANSWERS.items() if f"Question: {question}" in last)
    return f"SUFFICIENT\n{answer}"


def search() -> MappingRetriever:
    return MappingRetriever(
        {
            FIRST: ["Jaws was directed by Steven Spielberg."],
            ALONE: ["Spielberg was born in Cincinnati."],
        }
    )


def check(server: OpenAIServer, retriever: MappingRetriever) -> None:
    assert retriever.queries == [FIRST, ALONE]
    first, condensing, second = [request["messages"] for request in server.requests]
    assert [each["role"] for each in first] == [each["role"] for each in condensing] == ["user"]
    assert [(each["role"], each["content"]) for each in second[:-1]] == [
        ("user", FIRST),
        ("assistant", "Steven Spielberg directed it."),
    ]
    assert second[-1]["role"] == "user"
    assert "Spielberg was born in Cincinnati." in second[-1]["content"]


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_thread_of_the_graph(colour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    retriever = search()
    with OpenAIServer(reply, keep_alive=False) as server:
        model: Any = load_for_langchain("openai:test", base_url=server.url)
        graph = create_skr_graph(model, retriever, checkpointer=InMemorySaver())
        thread: Any = {"configurable": {"thread_id": "1"}}
        for question in (FIRST, LEANING):
            if colour == "sync":
                output = await asyncio.to_thread(graph.invoke, {"question": question}, thread)
            else:
                output = await graph.ainvoke({"question": question}, thread)
            assert output["answer"] == ANSWERS[question]
        model.model.root_client.close()
        await model.model.root_async_client.close()
    check(server, retriever)
    assert output["usage"]["condense"]["calls"] == 1
    assert not output["usage"]["condense"]["estimated"]


@pytest.mark.parametrize("colour", ["sync", "async", "sync stream", "async stream"])
async def test_a_chat_engine(colour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    retriever = search()
    with OpenAIServer(reply, keep_alive=False) as server:
        model: Any = load_for_llamaindex("openai:test", base_url=server.url)
        engine = SKRChatEngine.from_defaults(retriever, llm=model)
        for question in (FIRST, LEANING):
            if colour == "sync":
                said = str(await asyncio.to_thread(engine.chat, question))
            elif colour == "async":
                said = str(await engine.achat(question))
            elif colour == "sync stream":
                stream = await asyncio.to_thread(engine.stream_chat, question)
                said = await asyncio.to_thread("".join, stream.response_gen)
            else:
                stream = await engine.astream_chat(question)
                said = "".join([token async for token in stream.async_response_gen()])
            assert said == ANSWERS[question]
        model.llm._get_client().close()
        await model.llm._get_aclient().close()
    check(server, retriever)
