"""The drop-ins inside LlamaIndex's own engines, tools and agents, and chat engines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    CompletionResponse,
    MessageRole,
    ToolCallBlock,
)
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
)
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import (
    RetrieverQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import RouterRetriever
from llama_index.core.tools import QueryEngineTool, RetrieverTool

from llamaindex_skr import KNOWN_TEXT, SKRQueryEngine, SKRRetriever, SKRSelector
from skr_core import Decision
from skr_core.routers import AlwaysRetrieve, NeverRetrieve
from tests.llamaindex_skr.fakes import ANSWER, BORN, FOLLOW_UP, JAWS, QUESTION, Search, Speaker


@pytest.fixture
def engine() -> SKRQueryEngine:
    return SKRQueryEngine.from_defaults(Search(), llm=Speaker())


async def test_query_engine_tool(engine: SKRQueryEngine) -> None:
    tool = QueryEngineTool.from_defaults(engine, name="films", description="About films.")
    for output in (tool.call(QUESTION), await tool.acall(input=QUESTION)):
        assert output.content == ANSWER
        assert output.raw_output.metadata["grounded"] is True
        assert [node.text for node in output.raw_output.source_nodes] == [JAWS, BORN]


@pytest.mark.parametrize("router", [AlwaysRetrieve(), NeverRetrieve()])
@pytest.mark.parametrize("streaming", [False, True])
async def test_router_query_engine(router: Any, streaming: bool) -> None:
    def tools() -> list[QueryEngineTool]:
        direct = SKRQueryEngine.from_defaults(
            llm=Speaker(), router=NeverRetrieve(), streaming=streaming
        )
        full = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=streaming)
        return [QueryEngineTool.from_defaults(each, description="?") for each in (direct, full)]

    routed = RouterQueryEngine(SKRSelector(router), tools(), llm=MockLLM())
    expected = ANSWER if isinstance(router, AlwaysRetrieve) else "Cincinnati, as far as I know."
    response: Any = routed.query(QUESTION)
    assert str(response) == expected
    aresponse: Any = await routed.aquery(QUESTION)
    whole = await aresponse.get_response() if streaming else aresponse
    assert whole.response == expected
    for about in (response.metadata, whole.metadata):
        assert about["selector_result"].reason == router.decide(QUESTION).reason
        assert about["stop_reason"] in ("sufficient", "known")


@pytest.mark.parametrize(("router", "found"), [(AlwaysRetrieve(), [JAWS]), (NeverRetrieve(), [])])
async def test_router_retriever(router: Any, found: list[str]) -> None:
    nothing = SKRRetriever(Search(), router=NeverRetrieve())
    tools = [RetrieverTool.from_defaults(each, description="?") for each in (nothing, Search())]
    routed = RouterRetriever(SKRSelector(router), tools, llm=MockLLM())
    assert [node.text for node in routed.retrieve(QUESTION)] == found
    assert [node.text for node in await routed.aretrieve(QUESTION)] == found


async def test_retriever_query_engine() -> None:
    llm = Speaker(lambda prompt: "Cincinnati.")
    found = RetrieverQueryEngine.from_args(SKRRetriever(Search(), llm=Speaker()), llm=llm)
    assert str(found.query(QUESTION)) == str(await found.aquery(QUESTION)) == "Cincinnati."
    assert JAWS in llm.sent[0]
    assert BORN in llm.sent[0]


async def test_sub_question_query_engine(engine: SKRQueryEngine) -> None:
    questions = json.dumps({"items": [{"sub_question": QUESTION, "tool_name": "films"}]})

    def reply(prompt: str) -> str:
        return f"```json\n{questions}\n```" if "sub-questions" in prompt else "Both in Ohio."

    llm = Speaker(reply)
    divided = SubQuestionQueryEngine.from_defaults(
        [QueryEngineTool.from_defaults(engine, name="films", description="About films.")],
        llm=llm,
        question_gen=LLMQuestionGenerator.from_defaults(llm=llm),
        verbose=False,
        use_async=False,
    )
    for response in (divided.query("Where?"), await divided.aquery("Where?")):
        assert str(response) == "Both in Ohio."
        texts = [node.text for node in response.source_nodes]
        assert any(ANSWER in text for text in texts)
        assert BORN in texts
    assert any(ANSWER in prompt for prompt in llm.sent)


@pytest.mark.parametrize("streaming", [False, True])
async def test_function_agent(engine: SKRQueryEngine, streaming: bool) -> None:
    agent = FunctionAgent(
        tools=[QueryEngineTool.from_defaults(engine, name="films", description="About films.")],
        llm=MockFunctionCallingLLM(response_generator=ask_once),
        streaming=streaming,
    )
    output = await agent.run(QUESTION)
    assert output.response.content == f"The tool says: {ANSWER}"
    (called,) = output.tool_calls
    assert called.tool_output.raw_output.metadata["stop_reason"] == "sufficient"


def ask_once(messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
    """An agent's model: calls the tool with the question, then repeats what it said."""
    *_, last = messages
    if last.role == MessageRole.TOOL:
        return ChatMessage(f"The tool says: {last.content}", role="assistant")
    call = ToolCallBlock(tool_call_id="1", tool_name="films", tool_kwargs={"input": QUESTION})
    return ChatMessage(role="assistant", blocks=[call])


# A streaming engine as a tool


def streaming_engine() -> SKRQueryEngine:
    return SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=True)


def agent_that_calls(tool: Any, arguments: dict[str, Any]) -> FunctionAgent:
    def scripted(messages: list[ChatMessage], **_: object) -> ChatMessage:
        last = messages[-1]
        if last.role == MessageRole.TOOL:
            return ChatMessage(f"Found: {last.content}", role=MessageRole.ASSISTANT)
        call = ToolCallBlock(tool_call_id="1", tool_name="films", tool_kwargs=arguments)
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=[call])

    return FunctionAgent(tools=[tool], llm=MockFunctionCallingLLM(response_generator=scripted))


async def test_an_agent_gets_the_answer_of_a_streaming_engine() -> None:
    tool = QueryEngineTool.from_defaults(streaming_engine(), name="films", description="Films.")
    agent = agent_that_calls(tool, {"input": QUESTION})
    assert str(await agent.run("Go on.")) == f"Found: {ANSWER}"


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_tool_gets_the_answer_of_a_streaming_engine(mode: str) -> None:
    tool = QueryEngineTool.from_defaults(streaming_engine())
    if mode == "sync":
        output = await asyncio.to_thread(tool.call, QUESTION)
    else:
        output = await tool.acall(QUESTION)
    assert output.content == ANSWER
    assert output.raw_output.metadata["grounded"]


async def test_sub_questions_get_the_answers_of_a_streaming_engine() -> None:
    class One(BaseQuestionGenerator):
        def _get_prompts(self) -> Any:
            return {}

        def _update_prompts(self, prompts: Any) -> None:
            pass

        def generate(self, tools: Any, query: Any) -> list[SubQuestion]:
            return [SubQuestion(sub_question=QUESTION, tool_name="films")]

        async def agenerate(self, tools: Any, query: Any) -> list[SubQuestion]:
            return self.generate(tools, query)

    tool = QueryEngineTool.from_defaults(streaming_engine(), name="films", description="Films.")
    llm = Speaker()
    engine = SubQuestionQueryEngine(
        question_gen=One(),
        response_synthesizer=get_response_synthesizer(llm=llm),
        query_engine_tools=[tool],
        verbose=False,
    )
    response = await engine.aquery("Tell me all.")
    assert ANSWER in response.source_nodes[0].node.get_content()


async def test_whoever_awaits_the_stream_still_gets_one() -> None:
    response: Any = await streaming_engine().aquery(QUESTION)
    assert len([token async for token in response.async_response_gen()]) > 5


async def test_an_agent_outlives_a_call_without_a_question() -> None:
    tool = QueryEngineTool.from_defaults(streaming_engine(), name="films", description="Films.")
    said = str(await agent_that_calls(tool, {"input": ""}).run("Go on."))
    assert "the question is empty" in said


# LlamaIndex's own chat engines over the retriever and the query engine

ASKED = "Where was Steven Spielberg born?"
CINCINNATI = "Steven Spielberg was born in Cincinnati."
KNOWN_QUESTION = "What is the capital of France?"
WAYS = ["chat", "achat", "stream_chat", "astream_chat"]


class Knows:
    """Retrieves for questions about Spielberg alone."""

    def decide(self, question: str) -> Decision:
        return Decision("Spielberg" in question)

    async def adecide(self, question: str) -> Decision:
        return self.decide(question)


def complete(prompt: str) -> str:
    """Of the last message, or of a prompt to complete."""
    if "rephrase" in prompt or "rewrite" in prompt:
        return FOLLOW_UP
    return "Paris." if "capital" in prompt else "In Cincinnati."


class Completer(Speaker):
    """Completes as it chats: LlamaIndex's engines ask for a rewritten question so."""

    def complete(self, prompt: str, *args: Any, **kwargs: Any) -> Any:
        return CompletionResponse(text=self.reply(prompt))

    async def acomplete(self, prompt: str, *args: Any, **kwargs: Any) -> Any:
        return self.complete(prompt)


def memory() -> ChatMemoryBuffer:
    return ChatMemoryBuffer.from_defaults(token_limit=10_000)


def context(retriever: SKRRetriever, llm: MockLLM) -> Any:
    return ContextChatEngine.from_defaults(retriever, llm=llm, memory=memory())


def condense_plus_context(retriever: SKRRetriever, llm: MockLLM) -> Any:
    return CondensePlusContextChatEngine.from_defaults(retriever, llm=llm, memory=memory())


def condense_question(retriever: SKRRetriever, llm: MockLLM) -> Any:
    engine = RetrieverQueryEngine.from_args(retriever, llm=llm)
    return CondenseQuestionChatEngine.from_defaults(engine, llm=llm, memory=memory())


async def chat(engine: Any, way: str, message: str) -> Any:
    asked = getattr(engine, way)(message)
    response = await asked if way.startswith("a") else asked
    if way == "stream_chat":
        assert "".join(response.response_gen) == response.response
    elif way == "astream_chat":
        assert "".join([each async for each in response.async_response_gen()]) == response.response
    return response


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [context, condense_plus_context])
async def test_it_retrieves_or_says_that_nothing_is_needed(make: Any, way: str) -> None:
    search = Search({ASKED: [CINCINNATI]})
    retriever = SKRRetriever(search, router=Knows(), known_text=KNOWN_TEXT)
    engine = make(retriever, Completer(complete))
    response = await chat(engine, way, ASKED)
    assert response.response == "In Cincinnati."
    assert [node.text for node in response.source_nodes] == [CINCINNATI]
    engine.reset()
    response = await chat(engine, way, KNOWN_QUESTION)
    assert response.response == "Paris."
    (note,) = response.source_nodes
    assert note.node.metadata == {"known": True}
    assert len(search.modes) == 1


@pytest.mark.parametrize("way", WAYS[:2])
async def test_condensed_questions_are_retrieved_for_or_not(way: str) -> None:
    search = Search({ASKED: [CINCINNATI]})
    retriever = SKRRetriever(search, router=Knows(), known_text=KNOWN_TEXT)
    engine = condense_question(retriever, Completer(complete))
    response = await chat(engine, way, KNOWN_QUESTION)
    assert response.response == "Paris."
    assert search.modes == []
    response = await chat(engine, way, "And he?")
    assert response.response == "In Cincinnati."
    assert [node.text for node in response.source_nodes] == [CINCINNATI]


@pytest.mark.parametrize("way", WAYS[:2])
async def test_without_a_note_their_answer_to_nothing_is_their_own(way: str) -> None:
    engine = context(SKRRetriever(Search({}), router=Knows()), Completer(complete))
    assert (await chat(engine, way, KNOWN_QUESTION)).response == "Empty Response"


@pytest.mark.parametrize("way", WAYS)
async def test_condensing_over_our_query_engine(way: str) -> None:
    """LlamaIndex rewrites the question, the query engine routes it."""
    query_engine = SKRQueryEngine.from_defaults(
        Search({ASKED: [CINCINNATI]}),
        llm=Speaker(lambda prompt: "Paris." if "capital" in prompt else "Cincinnati [1]."),
        router=Knows(),
        streaming="stream" in way,  # LlamaIndex switches it on in its own engines alone
    )
    llm = Completer(complete)
    engine = CondenseQuestionChatEngine.from_defaults(query_engine, llm=llm, memory=memory())
    response = await chat(engine, way, KNOWN_QUESTION)
    assert response.response == "Paris."
    assert response.source_nodes == []
    response = await chat(engine, way, "And he?")
    assert response.response == "Cincinnati [1]."
    (source,) = response.sources  # LlamaIndex reads no nodes off an async stream by itself
    assert [node.text for node in source.raw_output.source_nodes] == [CINCINNATI]
