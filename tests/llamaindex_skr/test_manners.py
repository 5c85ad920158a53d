"""What a LlamaIndex user does with any engine, and expects to work here too."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.query_engine import SubQuestionQueryEngine
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.tools import QueryEngineTool
from pydantic import Field

from llamaindex_skr import SKRChatEngine, SKRQueryEngine, SKRRetriever, SKRStartEvent
from llamaindex_skr.graph_run import GraphRun
from skr_core.testing import MappingRetriever
from skr_graphs import create_self_completion_graph
from tests.llamaindex_skr.fakes import ANSWER, JAWS, QUESTION, Search, Speaker


def streaming_engine() -> SKRQueryEngine:
    return SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=True)


# A streaming engine as a tool


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


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_tool_gets_the_answer_of_a_streaming_engine(colour: str) -> None:
    tool = QueryEngineTool.from_defaults(streaming_engine())
    if colour == "sync":
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
    told = str(await agent_that_calls(tool, {"input": ""}).run("Go on."))
    assert "the question is empty" in told


# Pickles


@pytest.mark.parametrize("streaming", [False, True])
def test_an_engine_that_was_used_comes_out_of_a_pickle(streaming: bool) -> None:
    search = MappingRetriever({QUESTION: [JAWS]})
    engine = SKRQueryEngine.from_defaults(search, llm="extractive", streaming=streaming)
    before = str(engine.query(QUESTION))
    again = pickle.loads(pickle.dumps(engine))
    assert str(again.query(QUESTION)) == before
    assert str(asyncio.run(_asked(again))) == before


async def _asked(engine: SKRQueryEngine) -> str:
    response: Any = await engine.aquery(QUESTION)
    return str(await response.get_response()) if hasattr(response, "get_response") else response


def test_prompts_that_were_replaced_stay_replaced_in_a_pickle() -> None:
    from llama_index.core.prompts import PromptTemplate

    engine = SKRQueryEngine.from_defaults(MappingRetriever({}), llm="extractive")
    engine.update_prompts({"answer_directly": PromptTemplate("In a word: {query_str}")})
    again = pickle.loads(pickle.dumps(engine))
    assert again.get_prompts()["answer_directly"].template == "In a word: {question}"


def test_an_engine_over_one_s_own_graph_says_why_it_is_in_no_pickle() -> None:
    engine = SKRQueryEngine(create_self_completion_graph().compile())
    with pytest.raises(TypeError, match="cannot be pickled: make the SKRQueryEngine"):
        pickle.dumps(engine)


def test_a_chat_comes_out_of_a_pickle_with_what_was_said() -> None:
    chat = SKRChatEngine.from_defaults(MappingRetriever({QUESTION: [JAWS]}), llm="extractive")
    before = str(chat.chat(QUESTION))
    again = pickle.loads(pickle.dumps(chat))
    assert [each.content for each in again.chat_history] == [QUESTION, before]
    assert str(again.chat(QUESTION)) == before


@pytest.mark.parametrize("llm", [None, "extractive"])
def test_a_retriever_that_was_used_comes_out_of_a_pickle(llm: str | None) -> None:
    retriever = SKRRetriever(MappingRetriever({QUESTION: [JAWS]}), llm=llm)
    before = [each.text for each in retriever.retrieve(QUESTION)]
    again = pickle.loads(pickle.dumps(retriever))
    assert [each.text for each in again.retrieve(QUESTION)] == before == [JAWS]


# Events come before what they tell of


class Started(BaseEventHandler):
    tasks: list[str] = Field(default_factory=list)

    def handle(self, event: Any, **_: Any) -> None:
        if isinstance(event, SKRStartEvent):
            self.tasks.append(event.task)


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_task_is_told_before_the_model_has_replied(colour: str) -> None:
    handler, seen = Started(), []

    class Patient(Speaker):
        """Replies when it has been told that it is asked, or after a minute."""

        def chat(self, messages: Any, **kwargs: Any) -> Any:
            import time

            for _ in range(6_000):
                if handler.tasks and handler.tasks[-1] != "route":
                    break
                time.sleep(0.01)
            seen.append(handler.tasks[-1])
            return super().chat(messages, **kwargs)

        async def achat(self, messages: Any, **kwargs: Any) -> Any:
            for _ in range(6_000):
                if handler.tasks and handler.tasks[-1] != "route":
                    break
                await asyncio.sleep(0.01)
            seen.append(handler.tasks[-1])
            return await super().achat(messages, **kwargs)

    engine = SKRQueryEngine.from_defaults(Search(), llm=Patient())
    get_dispatcher().add_event_handler(handler)
    try:
        if colour == "sync":
            await asyncio.to_thread(engine.query, QUESTION)
        else:
            await engine.aquery(QUESTION)
    finally:
        get_dispatcher().event_handlers.remove(handler)
    assert seen[0] == "answer_with_references"
    assert handler.tasks[0] == "route"


def test_a_run_s_context_is_its_own() -> None:
    graph = create_self_completion_graph().compile()
    one, other = GraphRun(graph, QUESTION), GraphRun(graph, QUESTION)
    assert one._context.closed is not other._context.closed
