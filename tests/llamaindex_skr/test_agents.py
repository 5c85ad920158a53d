"""An agent of LlamaIndex is collected over with `acollect`."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.tools import FunctionTool

from llamaindex_skr import SKRQueryEngine, create_skr_tool
from skr_core import Question
from skr_core.errors import InputError, RetrieverError
from skr_core.routers import NeverRetrieve
from skr_core.settings import answerer_of
from skr_core.testing import MappingRetriever
from skr_learn import acollect, collect
from tests.llamaindex_skr.fakes import ANSWER, QUESTION, Search, Speaker

ASKED = [Question("1", QUESTION, ("Cincinnati",))]


class Scripted(MockFunctionCallingLLM):
    """Calls the tool that it must call first, passes on what that says, and else guesses."""

    def __init__(self) -> None:
        super().__init__(response_generator=lambda messages, **_: self._says(messages))
        self._tools: list[list[str]] = []
        self._sent: list[list[ChatMessage]] = []

    def _prepare_chat_with_tools(self, tools: Any, *args: Any, **kwargs: Any) -> Any:
        self._tools.append([each.metadata.name for each in tools])
        self._choice = kwargs.get("tool_choice")
        return super()._prepare_chat_with_tools(tools, *args, **kwargs)

    def _says(self, messages: list[ChatMessage]) -> ChatMessage:
        self._sent.append(messages)
        if messages[-1].role == MessageRole.TOOL:
            said = str(messages[-1].content).partition("\n\nSources:")[0]
            return ChatMessage(said, role=MessageRole.ASSISTANT)
        if self._choice:
            call = ToolCallBlock(
                tool_call_id="1", tool_name=self._choice, tool_kwargs={"input": QUESTION}
            )
            return ChatMessage(role=MessageRole.ASSISTANT, blocks=[call])
        return ChatMessage("In Ohio, I guess.", role=MessageRole.ASSISTANT)


def clock() -> str:
    """Tell the time."""
    return "Noon."


def agent_of(retriever: Any = None, **options: Any) -> tuple[FunctionAgent, Scripted]:
    llm = Scripted()
    engine = SKRQueryEngine.from_defaults(retriever or Search(), llm=Speaker(), **options)
    tools = [create_skr_tool(engine, name="films"), FunctionTool.from_defaults(clock)]
    return FunctionAgent(tools=tools, llm=llm, system_prompt="Be brief."), llm


@pytest.mark.parametrize("options", [{}, {"router": NeverRetrieve()}])
async def test_records_are_those_of_the_agent_without_and_with_the_tool(options: Any) -> None:
    agent, llm = agent_of(**options)
    (record,) = await acollect(ASKED, agent)
    direct, loop = record.outcomes["direct"], record.outcomes["loop"]
    assert (direct.answer, direct.score, direct.retrievals) == ("In Ohio, I guess.", 0, 0)
    assert (loop.answer, loop.score, loop.retrievals) == (ANSWER, 1, 2)
    assert (direct.grounded, loop.grounded) == (None, True)
    assert (direct.usage.calls, loop.usage.calls) == (1, 5)  # type: ignore[union-attr]
    assert llm._tools == [["clock"], ["clock", "films"], ["clock", "films"]]
    assert {each[0].content for each in llm._sent} == {"Be brief."}
    assert record.stamp.model == answerer_of(agent).settings.model.name


async def test_a_run_of_its_own_decides_by_itself() -> None:
    agent, _ = agent_of()
    answer = await answerer_of(agent).aanswer(QUESTION)
    assert (answer.text, answer.decision.retrieve) == ("In Ohio, I guess.", False)


async def test_history_is_said_before() -> None:
    agent, llm = agent_of()
    asked = Question("1", QUESTION, ("Ohio",), history=(("user", "Hm?"), ("assistant", "Yes.")))
    await acollect([asked], agent)
    assert [each.content for each in llm._sent[0][1:]] == ["Hm?", "Yes.", QUESTION]


async def test_a_search_that_fails_is_no_record() -> None:
    agent, _ = agent_of(MappingRetriever({}, failing=[QUESTION]))
    with pytest.raises(RetrieverError, match="no connection"):
        await answerer_of(agent).aanswer_each(QUESTION)


def test_the_sync_form_names_the_other() -> None:
    agent, _ = agent_of()
    with pytest.raises(InputError, match="no sync form: collect over it with acollect"):
        collect(ASKED, agent)
    with pytest.raises(InputError, match="no sync form"):
        answerer_of(agent).answer(QUESTION)


def test_what_is_no_such_agent_is_refused() -> None:
    agent, llm = agent_of()
    for other in (FunctionAgent(llm=llm), AgentWorkflow(agents=[agent])):
        with pytest.raises(InputError, match="give a FunctionAgent that has one tool of create"):
            answerer_of(other)
