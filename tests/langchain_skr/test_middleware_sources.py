"""The middleware is as strong as the loop: limits, numbers, citations, and what it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_skr import SKRMiddleware
from skr_core.budget import Budget
from skr_core.errors import InputError
from skr_core.plain import from_plain
from skr_core.routers import PromptRouter, UncertaintyRouter
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Citation, Reference
from tests.langchain_skr.fakes import Agent, RouteByWord

BORN, TOWN = "Where was Ada Quill born?", "What is Port Elm?"
KNOWN = "What is the capital of France?"
FOUND = {
    BORN: ["Ada Quill was born in Port Elm.", "Ada Quill engineered the lighthouse."],
    TOWN: ["Port Elm is a town by the sea.", "Ada Quill was born in Port Elm."],
}
Run = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Run:
    async def ask(agent: Any, question: str, config: Any = None) -> dict[str, Any]:
        given = {"messages": [HumanMessage(question)]}
        if request.param == "sync":
            return await asyncio.to_thread(agent.invoke, given, config)
        return await agent.ainvoke(given, config)

    return ask


@tool
def search(query: str) -> str:
    """Search the library."""
    return "Ada Quill was born in Port Elm [7]."


def agent_of(*replies: Any, tools: Any = (), **options: Any) -> tuple[Any, Agent]:
    chat = Agent(
        replies=[each if isinstance(each, AIMessage) else AIMessage(each) for each in replies]
    )
    middleware = SKRMiddleware(RouteByWord(), **{"retriever": MappingRetriever(FOUND), **options})
    agent = create_agent(chat, tools, middleware=[middleware], checkpointer=InMemorySaver())
    return agent, chat


THREAD = {"configurable": {"thread_id": "1"}}


# Limits


async def test_no_more_references_than_the_budget_allows(ask: Run) -> None:
    many = MappingRetriever({BORN: [f"Fact {n} of her life." for n in range(40)]})
    for budget, expected in ((None, 10), (Budget(max_references=3), 3)):
        agent, chat = agent_of("Done.", retriever=many, budget=budget)
        result = await ask(agent, BORN, THREAD)
        assert len(result["skr_references"]) == expected
        assert chat.sent[0][0].text.count("of her life.") == expected


async def test_no_more_tokens_than_the_budget_allows(ask: Run) -> None:
    long = MappingRetriever({BORN: [f"Fact {n}. " + "It is so. " * 500 for n in range(5)]})
    agent, chat = agent_of("Done [1].", retriever=long, budget=Budget(max_reference_tokens=300))
    result = await ask(agent, BORN, THREAD)
    shown = chat.sent[0][0].text
    assert "Fact 0." in shown
    assert "Fact 1." not in shown
    assert len(shown) < 3_000
    assert len(result["skr_references"][0]["text"]) > 4_000  # what was cut is whole in the state


class Small(Agent):
    """Refuses what is too long for it."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        if sum(len(each.text) for each in messages) > 12_000:
            self.sent.append(messages)
            raise ValueError("This model's maximum context length is 3000 tokens.")
        return super()._generate(messages)


async def test_a_model_that_finds_them_too_long_is_asked_with_half(ask: Run) -> None:
    long = MappingRetriever({BORN: [f"Fact {n}. " + "It is so. " * 200 for n in range(10)]})
    chat = Small(replies=[AIMessage("Done [1].")])
    agent = create_agent(chat, middleware=[SKRMiddleware(retriever=long)])
    assert (await ask(agent, BORN))["messages"][-1].text == "Done [1]."
    assert [len(each[0].text) > 12_000 for each in chat.sent] == [True, False]


async def test_a_model_that_fails_otherwise_is_asked_once(ask: Run) -> None:
    class Broken(Agent):
        def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
            self.sent.append(messages)
            raise ValueError("out of order")

    chat = Broken(replies=[])
    agent = create_agent(chat, middleware=[SKRMiddleware(retriever=MappingRetriever(FOUND))])
    with pytest.raises(ValueError, match="out of order"):
        await ask(agent, BORN)
    assert len(chat.sent) == 1


# Numbers and citations


def citations(result: dict[str, Any]) -> list[tuple[int, str]]:
    """Each marker's number, with the text that it names."""
    text_of = {each["id"]: each["text"] for each in result["skr_sources"]}
    cited = [from_plain(Citation, each) for each in result["skr_citations"]]
    return [(each.marker, text_of[each.reference_id]) for each in cited]


async def test_a_source_keeps_its_number_through_the_conversation(ask: Run) -> None:
    agent, chat = agent_of("In Port Elm [1].", "A town [3], where she was born [1].")
    first = await ask(agent, BORN, THREAD)
    assert citations(first) == [(1, FOUND[BORN][0])]
    second = await ask(agent, TOWN, THREAD)
    system = chat.sent[1][0]
    assert isinstance(system, SystemMessage)
    assert f'[3]\n"""\n{FOUND[TOWN][0]}\n"""\n[1]\n"""\n{FOUND[TOWN][1]}\n"""' in system.text
    assert citations(second) == [(3, FOUND[TOWN][0]), (1, FOUND[BORN][0])]
    assert [each["text"] for each in second["skr_references"]] == FOUND[TOWN]
    texts = [each["text"] for each in second["skr_sources"]]
    assert texts == [*FOUND[BORN], FOUND[TOWN][0]]


async def test_what_an_earlier_turn_found_can_be_cited_later(ask: Run) -> None:
    agent, _ = agent_of("In Port Elm [1].", "Paris; she engineered a lighthouse [2], though [9].")
    await ask(agent, BORN, THREAD)
    result = await ask(agent, KNOWN, THREAD)
    assert result["skr_references"] == []
    assert citations(result) == [(2, FOUND[BORN][1])]
    assert result["skr_removed_markers"] == 1


async def test_a_marker_that_names_no_source_is_taken_out_and_counted(ask: Run) -> None:
    agent, _ = agent_of("In Port Elm [1], as she said [4].")
    result = await ask(agent, BORN, THREAD)
    answer = result["messages"][-1]
    assert answer.text == "In Port Elm [1], as she said."
    assert result["skr_removed_markers"] == 1
    (cited,) = [from_plain(Citation, each) for each in result["skr_citations"]]
    assert answer.text[slice(*cited.span)] == "[1]"
    assert cited.quote == FOUND[BORN][0]
    assert len(result["messages"]) == 2  # in its place, not beside it


async def test_blocks_stay_blocks(ask: Run) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    text = {"type": "text", "text": "In Port Elm [1][5]."}
    agent, _ = agent_of(AIMessage([text, image]))
    answer = (await ask(agent, BORN, THREAD))["messages"][-1]
    assert answer.content == [{"type": "text", "text": "In Port Elm [1]."}, image]


async def test_a_next_turn_s_citations_are_its_own(ask: Run) -> None:
    agent, _ = agent_of("In Port Elm [1][8].", "Paris.")
    await ask(agent, BORN, THREAD)
    result = await ask(agent, KNOWN, THREAD)
    assert (result["skr_citations"], result["skr_removed_markers"]) == ([], 0)


async def test_numbers_of_another_tool_are_left_alone(ask: Run) -> None:
    call = AIMessage("", tool_calls=[{"name": "search", "args": {"query": "her"}, "id": "1"}])
    agent, _ = agent_of(call, "In Port Elm [7].", tools=[search])
    assert (await ask(agent, BORN, THREAD))["messages"][-1].text == "In Port Elm [7]."


async def test_without_a_retriever_markers_are_left_alone(ask: Run) -> None:
    agent, _ = agent_of("In Port Elm [7].", retriever=None)
    assert (await ask(agent, BORN, THREAD))["messages"][-1].text == "In Port Elm [7]."


async def test_the_same_passage_twice_is_one_source(ask: Run) -> None:
    twice = MappingRetriever({BORN: [FOUND[BORN][0], FOUND[BORN][0], "Another."]})
    agent, _ = agent_of("Done.", retriever=twice)
    result = await ask(agent, BORN, THREAD)
    assert [each["text"] for each in result["skr_sources"]] == [FOUND[BORN][0], "Another."]


# What it refuses


async def test_a_name_that_is_no_tool_s_is_refused(ask: Run) -> None:
    agent, chat = agent_of("Done.", tools=[search])
    assert await ask(agent, KNOWN, THREAD)
    chat = Agent(replies=[AIMessage("Done.")])
    middleware = SKRMiddleware(RouteByWord(), tools=["serach"])
    agent = create_agent(chat, [search], middleware=[middleware])
    with pytest.raises(InputError, match="no tool serach to withhold: its tools are search"):
        await ask(agent, KNOWN)
    assert chat.sent == []


async def test_other_middleware_may_select_tools(ask: Run) -> None:
    class Select(AgentMiddleware[Any, Any, Any]):
        """Hands on no tools but in the first call."""

        calls = 0

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            self.calls += 1
            return handler(request if self.calls == 1 else request.override(tools=[]))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            self.calls += 1
            return await handler(request if self.calls == 1 else request.override(tools=[]))

    chat = Agent(replies=[AIMessage("Done.")])
    middleware = [Select(), SKRMiddleware(RouteByWord(), tools=["search"])]
    agent = create_agent(chat, [search], middleware=middleware)
    for _ in range(2):
        assert (await ask(agent, KNOWN))["messages"][-1].text == "Done."


@pytest.mark.parametrize(
    "retriever",
    [
        RunnableLambda(lambda query: [Document("Paris.")]),
        MappingRetriever({}),
        {"library": MappingRetriever({})},
    ],
    ids=["LangChain's", "ours", "several"],
)
def test_a_retriever_in_the_router_s_place_is_a_plain_mistake(retriever: Any) -> None:
    with pytest.raises(InputError, match=r"write SKRMiddleware\(retriever=\.\.\.\)"):
        SKRMiddleware(retriever)


# Routers that look at the model


async def test_a_saved_router_asks_the_model_that_is_given(ask: Run, tmp_path: Path) -> None:
    model = ScriptedModel(["No, I don't."])
    PromptRouter(model).save(tmp_path)
    middleware = SKRMiddleware(tmp_path, retriever=MappingRetriever(FOUND), model=model)
    agent = create_agent(Agent(replies=[AIMessage("Done.")]), middleware=[middleware])
    result = await ask(agent, BORN)
    assert not result["skr_decision"]["retrieve"]
    assert result["skr_decision"]["reason"].startswith("the model says it can answer by itself")


async def test_a_router_looks_at_the_direct_answer_as_in_the_loop(ask: Run) -> None:
    model = ScriptedModel(["<think>Hm.</think>In Port Elm [1]."])
    router = UncertaintyRouter(ScriptedModel(["She was born at sea."]), samples=2)
    middleware = SKRMiddleware(router, retriever=MappingRetriever(FOUND), model=model)
    agent = create_agent(Agent(replies=[AIMessage("Done.")]), middleware=[middleware])
    result = await ask(agent, BORN)
    assert [prompt.task for prompt in model.prompts] == ["answer_directly"]
    assert result["skr_decision"]["draft"] == "In Port Elm [1]."
    assert from_plain(Reference, result["skr_sources"][0]).text == FOUND[BORN][0]
