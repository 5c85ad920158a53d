from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_skr import create_skr_tool
from langchain_skr.tool import UNSUPPORTED
from skr_core.errors import InputError
from skr_core.prompts.templates import REFUSAL
from skr_core.routers import NeverRetrieve
from skr_graphs import answer_of
from tests.langchain_skr.fakes import ANSWER, FURTHER, QUESTION, Agent, Library, model

CALL = {"name": "answer_from_references", "args": {"question": QUESTION}, "id": "1"}


@pytest.fixture(params=["sync", "async"])
def invoke(request: pytest.FixtureRequest) -> Any:
    async def invoke(runnable: Any, given: Any, *args: Any) -> Any:
        if request.param == "sync":
            return await asyncio.to_thread(runnable.invoke, given, *args)
        return await runnable.ainvoke(given, *args)

    return invoke


async def test_the_content_is_the_text_and_the_artifact_all_of_it(invoke: Any) -> None:
    tool = create_skr_tool(model(), Library())
    assert isinstance(tool, BaseTool)
    message = await invoke(tool, {**CALL, "type": "tool_call"})
    assert message.content == ANSWER
    answer = answer_of(message.artifact)
    assert answer.stop_reason == "sufficient"
    assert [each.queries for each in answer.rounds] == [(QUESTION,), (FURTHER,)]
    assert answer.cited_references[0].text == "Ada Quill engineered the lighthouse."


async def test_called_with_arguments_alone_it_gives_the_text(invoke: Any) -> None:
    assert await invoke(create_skr_tool(model(), Library()), {"question": QUESTION}) == ANSWER


@pytest.mark.parametrize(
    ("reply", "options", "content"),
    [
        ("In Port Elm.", {}, f"In Port Elm.\n\n{UNSUPPORTED}"),
        ("In Port Elm.", {"when_insufficient": "own_knowledge"}, f"In Port Elm.\n\n{UNSUPPORTED}"),
        (f"{REFUSAL}.", {"when_insufficient": "refuse"}, f"{REFUSAL}.\n\n{UNSUPPORTED}"),
        ("In Port Elm.", {"router": NeverRetrieve()}, "In Port Elm."),
        ("In Port Elm [1].", {}, "In Port Elm [1]."),
    ],
    ids=["uncited", "from memory", "refused", "known", "cited"],
)
async def test_the_content_tells_an_answer_that_rests_on_no_reference(
    invoke: Any, reply: str, options: dict[str, Any], content: str
) -> None:
    tool = create_skr_tool(FakeListChatModel(responses=[reply]), Library(), **options)
    message = await invoke(tool, {**CALL, "type": "tool_call"})
    assert message.content == content
    answer = answer_of(message.artifact)
    assert answer.grounded == ("[1]" in content)
    assert UNSUPPORTED not in answer.text


async def test_an_agent_uses_it_and_a_checkpointer_keeps_its_artifact(invoke: Any) -> None:
    chat = Agent(replies=[AIMessage("", tool_calls=[CALL]), AIMessage("In Port Elm.")])
    agent = create_agent(chat, [create_skr_tool(model(), Library())], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    result = await invoke(agent, {"messages": [("user", QUESTION)]}, thread)
    assert result["messages"][-1].text == "In Port Elm."
    (told,) = (each for each in result["messages"] if isinstance(each, ToolMessage))
    assert told.text == ANSWER
    kept = agent.get_state(thread).values["messages"][2]
    assert answer_of(kept.artifact) == answer_of(told.artifact)


async def test_two_calls_side_by_side_under_a_checkpointer(invoke: Any) -> None:
    calls = [CALL, {**CALL, "id": "2"}]
    chat = Agent(replies=[AIMessage("", tool_calls=calls), AIMessage("Twice.")])
    tool = create_skr_tool(FakeListChatModel(responses=["It is so [1]."]), Library())
    agent = create_agent(chat, [tool], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    result = await invoke(agent, {"messages": [("user", QUESTION)]}, thread)
    told = [each.text for each in result["messages"] if isinstance(each, ToolMessage)]
    assert told == ["It is so [1]."] * 2


def test_name_description_and_arguments_are_the_caller_s() -> None:
    tool = create_skr_tool(model(), Library(), name="lighthouses", description="All about them.")
    assert (tool.name, tool.description) == ("lighthouses", "All about them.")
    assert tool.get_input_jsonschema()["required"] == ["question"]
    assert "stands on its own" in tool.args["question"]["description"]
    with pytest.raises(InputError):
        create_skr_tool(model(), 5)
