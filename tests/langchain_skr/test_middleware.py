from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, dynamic_prompt
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

import langchain_skr
from langchain_skr import SKRMiddleware, SKRRetriever
from skr_core.errors import InputError, RetrieverError
from skr_core.plain import from_plain
from skr_core.testing import MappingRetriever
from skr_core.types import Decision
from tests.langchain_skr.fakes import FOUND, QUESTION, Agent, Library, RouteByWord, model

KNOWN = "What is the capital of France?"
FIRST = f'[1]\n"""\n{FOUND[QUESTION][0]}\n"""\n'


@tool
def search(query: str) -> str:
    """Search the library."""
    return "Ada Quill was born in Port Elm."


@tool
def clock() -> str:
    """Tell the time."""
    return "Noon."


@pytest.fixture(params=["invoke", "ainvoke", "stream", "astream"])
def ask(request: pytest.FixtureRequest) -> Any:
    async def ask(agent: Any, question: Any, config: Any = None) -> dict[str, Any]:
        given = {"messages": [HumanMessage(question)] if question else [AIMessage("Hello.")]}
        if request.param == "invoke":
            return await asyncio.to_thread(agent.invoke, given, config)
        if request.param == "ainvoke":
            return await agent.ainvoke(given, config)
        if request.param == "stream":
            states = await asyncio.to_thread(
                lambda: list(agent.stream(given, config, stream_mode="values"))
            )
            return states[-1]
        return [each async for each in agent.astream(given, config, stream_mode="values")][-1]

    return ask


def agent_of(*middleware: AgentMiddleware[Any, Any, Any], **options: Any) -> tuple[Any, Agent]:
    chat = Agent(replies=[AIMessage("Done.")])
    return create_agent(chat, [search, clock], middleware=middleware, **options), chat


@pytest.mark.parametrize("tools", [["search"], "search", [search], search])
async def test_a_known_question_withholds_the_retrieval_tool_alone(ask: Any, tools: Any) -> None:
    agent, chat = agent_of(SKRMiddleware(RouteByWord(), tools=tools))
    known = await ask(agent, KNOWN)
    await ask(agent, QUESTION)
    assert chat.tools == ["clock", "clock,search"]
    assert from_plain(Decision, known["skr_decision"]).reason == "by its words"


async def test_references_join_the_system_message(ask: Any) -> None:
    library = Library()
    middleware = SKRMiddleware(RouteByWord(), retriever=library)
    agent, chat = agent_of(middleware, system_prompt="Be brief.")
    result = await ask(agent, QUESTION)
    system = chat.sent[0][0]
    assert isinstance(system, SystemMessage)
    assert system.text.startswith("Be brief.\n\nAnswer from these references")
    assert FIRST in system.text
    assert [each["text"] for each in result["skr_references"]] == FOUND[QUESTION]
    assert not any(isinstance(each, SystemMessage) for each in result["messages"])
    await ask(agent, KNOWN)
    assert chat.sent[1][0].text == "Be brief."
    assert library.asked == [QUESTION]


async def test_blocks_of_a_system_message_stay_blocks(ask: Any) -> None:
    block = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    agent, chat = agent_of(SKRMiddleware(retriever=Library()), system_prompt=SystemMessage([block]))
    await ask(agent, QUESTION)
    first, second = chat.sent[0][0].content
    assert first == block
    assert FIRST in second["text"]


async def test_they_join_what_a_dynamic_prompt_before_it_writes(ask: Any) -> None:
    @dynamic_prompt
    def brief(request: Any) -> str:
        return "Be brief."

    agent, chat = agent_of(brief, SKRMiddleware(retriever=Library()))
    await ask(agent, QUESTION)
    assert chat.sent[0][0].text.startswith("Be brief.\n\n")
    assert FIRST in chat.sent[0][0].text


async def test_retrieval_happens_once_a_run_however_often_the_model_is_called(ask: Any) -> None:
    library = Library()
    calls = [{"name": "clock", "args": {}, "id": "1"}]
    chat = Agent(replies=[AIMessage("", tool_calls=calls), AIMessage("At noon.")])
    agent = create_agent(chat, [clock], middleware=[SKRMiddleware(retriever=library)])
    assert (await ask(agent, QUESTION))["messages"][-1].text == "At noon."
    assert library.asked == [QUESTION]
    assert [FIRST in each[0].text for each in chat.sent] == [True, True]


async def test_self_completion_by_a_retriever_with_a_model(ask: Any) -> None:
    retriever = SKRRetriever(retriever=Library(), model=model())
    agent, chat = agent_of(SKRMiddleware(RouteByWord(), retriever=retriever))
    await ask(agent, QUESTION)
    assert "Port Elm" in chat.sent[0][0].text


async def test_a_thread_s_next_question_is_decided_anew(ask: Any) -> None:
    agent, chat = agent_of(
        SKRMiddleware(RouteByWord(), retriever=Library(), tools="search"),
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "1"}}
    await ask(agent, QUESTION, thread)
    result = await ask(agent, KNOWN, thread)
    assert result["skr_references"] == []
    assert chat.tools == ["clock,search", "clock"]
    assert not isinstance(chat.sent[1][0], SystemMessage)


async def test_without_a_question_nothing_is_decided(ask: Any) -> None:
    agent, chat = agent_of(SKRMiddleware(RouteByWord(["?"]), retriever=Library(), tools=["search"]))
    assert (await ask(agent, None))["skr_decision"] is None
    assert chat.tools == ["clock,search"]


async def test_a_failing_retriever_ends_the_run(ask: Any) -> None:
    broken = MappingRetriever({}, failing=[QUESTION])
    agent, _ = agent_of(SKRMiddleware(retriever=broken))
    with pytest.raises(RetrieverError, match="no connection"):
        await ask(agent, QUESTION)


async def test_a_withheld_tool_is_not_forced(ask: Any) -> None:
    class Force(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(tool_choice="search"))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request.override(tool_choice="search"))

    agent, chat = agent_of(Force(), SKRMiddleware(RouteByWord(), tools=["search"]))
    await ask(agent, KNOWN)
    await ask(agent, QUESTION)
    assert chat.choices == [None, "search"]


def test_what_cannot_be_used_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="a retriever is wanted"):
        SKRMiddleware(retriever=5)
    with pytest.raises(InputError, match="would change nothing: give retriever="):
        SKRMiddleware(tools=["search"])


def test_without_langchain_all_else_imports_and_the_middleware_says_what_to_install() -> None:
    code = """
import sys
sys.modules["langchain"] = None
import langchain_skr
langchain_skr.create_skr_chain, langchain_skr.SKRRetriever, langchain_skr.create_skr_tool
try:
    langchain_skr.SKRMiddleware
except ImportError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=150
    )
    assert done.stdout.startswith("MissingDependency langchain")
    assert done.stdout.endswith('is not installed: run  pip install "skr-rag[langchain]"\n')


def test_public_names() -> None:
    for name in langchain_skr.__all__:
        assert getattr(langchain_skr, name).__name__ == name
    with pytest.raises(AttributeError, match="Nothing"):
        _ = langchain_skr.Nothing
