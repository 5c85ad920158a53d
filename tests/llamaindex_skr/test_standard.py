"""What LlamaIndex's own tests hold of engines, chat engines, retrievers and tools, held of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.query_engine import RetrieverQueryEngine, RouterQueryEngine
from llama_index.core.schema import QueryBundle
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import QueryEngineTool, RetrieverTool, ToolOutput
from llama_index.core.tools.calling import acall_tool, call_tool

from llamaindex_skr import SKRChatEngine, SKRQueryEngine, SKRRetriever, SKRTool, create_skr_tool
from tests.llamaindex_skr.fakes import ANSWER, JAWS, QUESTION, Search, Speaker, index

OTHER = "What is the capital of the moon?"
BUNDLE = QueryBundle(QUESTION)


def engine(**options: Any) -> SKRQueryEngine:
    return SKRQueryEngine.from_defaults(Search(), llm=Speaker(), **options)


def tool() -> SKRTool:
    return create_skr_tool(engine())


def as_chat() -> SKRChatEngine:
    return SKRChatEngine.from_defaults(Search(), llm=Speaker())


# A tool


def test_a_tool_takes_its_input_by_place_by_name_and_by_its_schema() -> None:
    made = tool()
    schema: Any = made.metadata.fn_schema
    for output in (
        made(QUESTION),
        made(input=QUESTION),
        made(**schema(input=QUESTION).model_dump()),
        call_tool(made, {"input": QUESTION}),
    ):
        assert isinstance(output, ToolOutput)
        assert str(output).startswith(ANSWER)
        assert not output.is_error


async def test_an_async_tool_takes_the_same() -> None:
    for output in (
        await tool().acall(QUESTION),
        await tool().acall(input=QUESTION),
        await acall_tool(tool(), {"input": QUESTION}),
    ):
        assert str(output).startswith(ANSWER)


async def test_a_call_that_names_another_argument_is_an_error_that_the_agent_reads() -> None:
    made = tool()
    two = {"question": QUESTION, "k": 3}
    for output in (call_tool(made, two), await acall_tool(made, two)):
        assert output.is_error
        assert "input" in output.content


async def test_a_failed_tool_says_so_and_not_asked_again() -> None:
    def refuse(prompt: str) -> str:
        asked.append(prompt)
        raise ConnectionError("no connection")

    asked: list[str] = []
    made = create_skr_tool(SKRQueryEngine.from_defaults(Search(), llm=Speaker(refuse)))
    for output in (
        call_tool(made, {"input": QUESTION}),
        await acall_tool(made, {"input": QUESTION}),
    ):
        assert output.is_error
        assert "no connection" in output.content
    assert len(asked) == 2


def test_the_schema_that_a_provider_gets() -> None:
    schema = tool().metadata.to_openai_tool()["function"]  # refused where it is too long
    assert schema["name"] == "answer_from_references"
    assert schema["parameters"]["required"] == ["input"]
    assert tool().metadata.get_parameters_dict()["properties"].keys() == {"input"}


# A query engine


async def test_an_engine_takes_words_and_bundles() -> None:
    for response in (
        engine().query(QUESTION),
        engine().query(BUNDLE),
        await engine().aquery(QUESTION),
        await engine().aquery(BUNDLE),
    ):
        assert str(response) == ANSWER
        assert response.source_nodes[0].text == JAWS
        assert response.source_nodes[0].node_id in response.get_formatted_sources()


def test_an_engine_stands_where_llamaindex_takes_one() -> None:
    inner = QueryEngineTool.from_defaults(engine(), description="films")
    for given in (inner(QUESTION), inner(input=QUESTION)):
        assert str(given) == ANSWER
    selector = LLMSingleSelector.from_defaults(
        llm=Speaker(lambda prompt: '[{"choice": 1, "reason": "films"}]')
    )
    routed = RouterQueryEngine(selector, [inner], llm=Speaker())
    assert str(routed.query(QUESTION)) == ANSWER


async def test_an_engine_streams_more_than_one_token() -> None:
    response: Any = engine(streaming=True).query(QUESTION)
    tokens = list(response.response_gen)
    assert len(tokens) > 1
    assert "".join(tokens) == ANSWER
    response = await engine(streaming=True).aquery(QUESTION)
    assert "".join([token async for token in response.async_response_gen()]) == ANSWER


# A retriever


async def test_a_retriever_gives_scored_nodes_to_words_and_bundles() -> None:
    retriever = SKRRetriever(index(), k=2)
    for nodes in (
        retriever.retrieve(QUESTION),
        retriever.retrieve(BUNDLE),
        await retriever.aretrieve(QUESTION),
        await retriever.aretrieve(BUNDLE),
    ):
        assert len(nodes) == 2
        assert all(node.score is not None for node in nodes)


async def test_a_retriever_stands_where_llamaindex_takes_one() -> None:
    retriever = SKRRetriever(index(), k=2)
    made = RetrieverTool.from_defaults(retriever)
    for output in (made(QUESTION), await made.acall(QUESTION)):
        assert len(output.raw_output) == 2
        assert all(found.node.get_content().strip() in str(output) for found in output.raw_output)
    plain = RetrieverQueryEngine.from_args(retriever, llm=Speaker(lambda prompt: "Spielberg."))
    assert str(plain.query(QUESTION)) == "Spielberg."
    assert len((await plain.aquery(QUESTION)).source_nodes) == 2


# A chat engine


def read(response: Any) -> str:
    return "".join(response.response_gen)


async def aread(response: Any) -> str:
    return "".join([token async for token in response.async_response_gen()])


async def test_each_message_adds_two_to_the_history_and_a_reset_takes_them() -> None:
    chat = as_chat()
    for turns, message in enumerate([QUESTION, OTHER], start=1):
        chat.chat(message)
        assert len(chat.chat_history) == 2 * turns
    chat.reset()
    assert chat.chat_history == []
    for turns, message in enumerate([QUESTION, OTHER], start=1):
        await chat.achat(message)
        assert len(chat.chat_history) == 2 * turns


async def test_a_streamed_message_is_in_the_history_when_it_is_read() -> None:
    chat = as_chat()
    response = chat.stream_chat(QUESTION)
    assert read(response) == str(response) == ANSWER
    assert response.is_done
    response = await chat.astream_chat(QUESTION)
    assert await aread(response) == str(response) == ANSWER
    roles = [each.role for each in chat.chat_history]
    assert roles == [MessageRole.USER, MessageRole.ASSISTANT] * 2


async def test_a_message_may_be_a_query_bundle() -> None:
    chat = as_chat()
    assert str(chat.chat(BUNDLE)) == ANSWER
    assert str(await chat.achat(BUNDLE)) == ANSWER
    assert read(chat.stream_chat(BUNDLE)) == ANSWER
    assert await aread(await chat.astream_chat(BUNDLE)) == ANSWER
    assert [each.content for each in chat.chat_history] == [QUESTION, ANSWER] * 4


async def test_an_empty_history_that_is_given_is_taken() -> None:
    earlier = [
        ChatMessage("old question", role=MessageRole.USER),
        ChatMessage("old answer", role=MessageRole.ASSISTANT),
    ]

    async def left(ask: Callable[[SKRChatEngine], Any]) -> list[str | None]:
        chat = SKRChatEngine.from_defaults(Search(), llm=Speaker(), chat_history=earlier)
        assert len(chat.chat_history) == 2
        response = ask(chat)
        await aread(await response) if hasattr(response, "__await__") else read(response)
        return [each.content for each in chat.chat_history]

    assert await left(lambda chat: chat.stream_chat(QUESTION, [])) == [QUESTION, ANSWER]
    assert await left(lambda chat: chat.astream_chat(QUESTION, [])) == [QUESTION, ANSWER]
    chat = SKRChatEngine.from_defaults(Search(), llm=Speaker(), chat_history=earlier)
    assert str(chat.chat(QUESTION, [])) == ANSWER
    assert len(chat.chat_history) == 2
    assert str(await chat.achat(QUESTION, chat_history=[])) == ANSWER
    assert len(chat.chat_history) == 2
