"""The engine, retriever and selector inside LlamaIndex's own parts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.query_engine import (
    RetrieverQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.retrievers import RouterRetriever
from llama_index.core.tools import QueryEngineTool, RetrieverTool

from llamaindex_skr import SKRQueryEngine, SKRRetriever, SKRSelector
from skr_core.routers import AlwaysRetrieve, NeverRetrieve
from tests.llamaindex_skr.fakes import ANSWER, BORN, JAWS, QUESTION, Search, Speaker


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
