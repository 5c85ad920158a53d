"""The middleware: decisions, references, limits, numbers, citations, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, dynamic_prompt
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

import langchain_skr
from langchain_skr import SKRMiddleware, SKRRetriever
from skr_core import Budget, Citation, Decision
from skr_core.errors import InputError, RetrieverError, install_line
from skr_core.plain import from_plain
from skr_core.routers import PromptRouter
from skr_core.testing import MappingRetriever, ScriptedModel
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
    with pytest.raises(TypeError, match=r"the agent's own: create_agent.*system_prompt="):
        SKRMiddleware(retriever=Library(), instructions="Be brief.")  # type: ignore[call-arg]
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
    assert done.stdout.endswith(f"is not installed: run  {install_line('langchain')}\n")


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        _ = langchain_skr.Nothing


BORN, TOWN = "Where was Ada Quill born?", "What is Port Elm?"


LIBRARY = {
    BORN: ["Ada Quill was born in Port Elm.", "Ada Quill engineered the lighthouse."],
    TOWN: ["Port Elm is a town by the sea.", "Ada Quill was born in Port Elm."],
}


Run = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture(params=["sync", "async"])
def ask_once(request: pytest.FixtureRequest) -> Run:
    async def ask_once(agent: Any, question: str, config: Any = None) -> dict[str, Any]:
        given = {"messages": [HumanMessage(question)]}
        if request.param == "sync":
            return await asyncio.to_thread(agent.invoke, given, config)
        return await agent.ainvoke(given, config)

    return ask_once


def saying(name: str, text: str) -> BaseTool:
    @tool(name)
    def say(query: str) -> str:
        """Search the library."""
        return text

    return say


def citing_agent(
    *replies: Any, tools: Any = (), response_format: Any = None, **options: Any
) -> tuple[Any, Agent]:
    chat = Agent(
        replies=[each if isinstance(each, AIMessage) else AIMessage(each) for each in replies]
    )
    middleware = SKRMiddleware(RouteByWord(), **{"retriever": MappingRetriever(LIBRARY), **options})
    agent: Any = create_agent(
        chat,
        tools,
        middleware=[middleware],
        checkpointer=InMemorySaver(),
        response_format=response_format,
    )
    return agent, chat


THREAD = {"configurable": {"thread_id": "1"}}

# Limits


async def test_no_more_references_than_the_budget_allows(ask_once: Run) -> None:
    many = MappingRetriever({BORN: [f"Fact {n} of her life." for n in range(40)]})
    for budget, expected in ((None, 10), (Budget(max_references=3), 3)):
        agent, chat = citing_agent("Done.", retriever=many, budget=budget)
        result = await ask_once(agent, BORN, THREAD)
        assert len(result["skr_references"]) == expected
        assert chat.sent[0][0].text.count("of her life.") == expected


async def test_no_more_tokens_than_the_budget_allows(ask_once: Run) -> None:
    long = MappingRetriever({BORN: [f"Fact {n}. " + "It is so. " * 500 for n in range(5)]})
    agent, chat = citing_agent("Done [1].", retriever=long, budget=Budget(max_reference_tokens=300))
    result = await ask_once(agent, BORN, THREAD)
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


async def test_a_model_that_finds_them_too_long_is_asked_with_half(ask_once: Run) -> None:
    long = MappingRetriever({BORN: [f"Fact {n}. " + "It is so. " * 200 for n in range(10)]})
    chat = Small(replies=[AIMessage("Done [1].")])
    agent = create_agent(chat, middleware=[SKRMiddleware(retriever=long)])
    assert (await ask_once(agent, BORN))["messages"][-1].text == "Done [1]."
    assert [len(each[0].text) > 12_000 for each in chat.sent] == [True, False]


async def test_a_model_that_fails_otherwise_is_asked_once(ask_once: Run) -> None:
    class Broken(Agent):
        def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
            self.sent.append(messages)
            raise ValueError("out of order")

    chat = Broken(replies=[])
    agent = create_agent(chat, middleware=[SKRMiddleware(retriever=MappingRetriever(LIBRARY))])
    with pytest.raises(ValueError, match="out of order"):
        await ask_once(agent, BORN)
    assert len(chat.sent) == 1


# Numbers and citations


def citations(result: dict[str, Any]) -> list[tuple[int, str]]:
    """Each marker's number, with the text that it names."""
    text_of = {each["id"]: each["text"] for each in result["skr_sources"]}
    cited = [from_plain(Citation, each) for each in result["skr_citations"]]
    return [(each.marker, text_of[each.reference_id]) for each in cited]


async def test_a_source_keeps_its_number_through_the_conversation(ask_once: Run) -> None:
    agent, chat = citing_agent("In Port Elm [1].", "A town [3], where she was born [1].")
    first = await ask_once(agent, BORN, THREAD)
    assert citations(first) == [(1, LIBRARY[BORN][0])]
    second = await ask_once(agent, TOWN, THREAD)
    system = chat.sent[1][0]
    assert isinstance(system, SystemMessage)
    assert f'[3]\n"""\n{LIBRARY[TOWN][0]}\n"""\n[1]\n"""\n{LIBRARY[TOWN][1]}\n"""' in system.text
    assert citations(second) == [(3, LIBRARY[TOWN][0]), (1, LIBRARY[BORN][0])]
    assert [each["text"] for each in second["skr_references"]] == LIBRARY[TOWN]
    texts = [each["text"] for each in second["skr_sources"]]
    assert texts == [*LIBRARY[BORN], LIBRARY[TOWN][0]]


async def test_what_an_earlier_turn_found_can_be_cited_later(ask_once: Run) -> None:
    agent, _ = citing_agent(
        "In Port Elm [1].", "Paris; she engineered a lighthouse [2], though [9]."
    )
    await ask_once(agent, BORN, THREAD)
    result = await ask_once(agent, KNOWN, THREAD)
    assert result["skr_references"] == []
    assert citations(result) == [(2, LIBRARY[BORN][1])]
    assert result["skr_removed_markers"] == 1


async def test_a_marker_that_names_no_source_is_taken_out_and_counted(ask_once: Run) -> None:
    agent, _ = citing_agent("In Port Elm [1], as she said [4].")
    result = await ask_once(agent, BORN, THREAD)
    answer = result["messages"][-1]
    assert answer.text == "In Port Elm [1], as she said."
    assert result["skr_removed_markers"] == 1
    (cited,) = [from_plain(Citation, each) for each in result["skr_citations"]]
    assert answer.text[slice(*cited.span)] == "[1]"
    assert cited.quote == LIBRARY[BORN][0]
    assert len(result["messages"]) == 2  # in its place, not beside it


async def test_blocks_stay_blocks(ask_once: Run) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    text = {"type": "text", "text": "In Port Elm [1][5]."}
    agent, _ = citing_agent(AIMessage([text, image]))
    answer = (await ask_once(agent, BORN, THREAD))["messages"][-1]
    assert answer.content == [{"type": "text", "text": "In Port Elm [1]."}, image]


async def test_a_next_turn_s_citations_are_its_own(ask_once: Run) -> None:
    agent, _ = citing_agent("In Port Elm [1][8].", "Paris.")
    await ask_once(agent, BORN, THREAD)
    result = await ask_once(agent, KNOWN, THREAD)
    assert (result["skr_citations"], result["skr_removed_markers"]) == ([], 0)


@pytest.mark.parametrize("said", ["Ada was born in Port Elm [7].", "Found:\n[7] Ada of Port Elm."])
async def test_numbers_of_another_tool_are_left_alone(ask_once: Run, said: str) -> None:
    call = AIMessage("", tool_calls=[{"name": "search", "args": {"query": "her"}, "id": "1"}])
    agent, _ = citing_agent(call, "In Port Elm [7].", tools=[saying("search", said)])
    assert (await ask_once(agent, BORN, THREAD))["messages"][-1].text == "In Port Elm [7]."


async def test_without_a_retriever_markers_are_left_alone(ask_once: Run) -> None:
    agent, _ = citing_agent("In Port Elm [7].", retriever=None)
    assert (await ask_once(agent, BORN, THREAD))["messages"][-1].text == "In Port Elm [7]."


async def test_the_same_passage_twice_is_one_source(ask_once: Run) -> None:
    twice = MappingRetriever({BORN: [LIBRARY[BORN][0], LIBRARY[BORN][0], "Another."]})
    agent, _ = citing_agent("Done.", retriever=twice)
    result = await ask_once(agent, BORN, THREAD)
    assert [each["text"] for each in result["skr_sources"]] == [LIBRARY[BORN][0], "Another."]


# What it refuses


async def test_a_name_that_is_no_tool_s_is_refused(ask_once: Run) -> None:
    agent, chat = citing_agent("Done.", tools=[search])
    assert await ask_once(agent, KNOWN, THREAD)
    chat = Agent(replies=[AIMessage("Done.")])
    middleware = SKRMiddleware(RouteByWord(), tools=["serach"])
    agent = create_agent(chat, [search], middleware=[middleware])
    with pytest.raises(InputError, match="no tool serach to withhold: its tools are search"):
        await ask_once(agent, KNOWN)
    assert chat.sent == []


async def test_other_middleware_may_select_tools(ask_once: Run) -> None:
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
        assert (await ask_once(agent, KNOWN))["messages"][-1].text == "Done."


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


async def test_a_saved_router_asks_the_model_that_is_given(ask_once: Run, tmp_path: Path) -> None:
    model = ScriptedModel(["No, I don't."])
    PromptRouter(model).save(tmp_path / "router")
    middleware = SKRMiddleware(
        tmp_path / "router", retriever=MappingRetriever(LIBRARY), model=model
    )
    agent = create_agent(Agent(replies=[AIMessage("Done.")]), middleware=[middleware])
    result = await ask_once(agent, BORN)
    assert not result["skr_decision"]["retrieve"]
    assert result["skr_decision"]["reason"].startswith("the model says it can answer by itself")


class Choosing:
    """A router that learnt from records, as far as its place is looked at."""

    drafts = True

    def __init__(self, *actions: str) -> None:
        self.actions = actions

    def decide(self, question: str) -> Decision:
        return Decision(True)

    async def adecide(self, question: str) -> Decision:
        return Decision(True)


class Weighing(Choosing):
    """Weighs all answers, and looks at none before."""

    drafts = False

    def decide_on(self, question: str, direct: Any) -> Decision:
        return Decision(True)

    adecide_on = judge = ajudge = decide_on


def test_what_an_agent_cannot_carry_out_of_a_router_is_refused_at_once() -> None:
    library = MappingRetriever(LIBRARY)
    with pytest.raises(InputError, match=r"between one round of retrieval and more.*actions="):
        SKRMiddleware(Choosing("direct", "single", "loop"), retriever=library)
    with pytest.raises(InputError, match="weighs them, which would double the calls"):
        SKRMiddleware(Weighing("direct", "single"), retriever=library)
    with pytest.raises(InputError, match="max_tool_calls: search must be at least 1, not 0"):
        SKRMiddleware(retriever=library, max_tool_calls={"search": 0})
    with pytest.raises(InputError, match="a reflector has reflect"):
        SKRMiddleware(retriever=library, reflector=5)  # type: ignore[arg-type]
    assert SKRMiddleware(Choosing("direct", "single"), retriever=library).arbiter is None


@pytest.mark.parametrize(
    "said", ['{"temps": [12, 15], "of": "[3]"}', "[12]", "[\n  [1],\n  [2]\n]"]
)
async def test_data_of_a_tool_is_no_numbering_of_its_own(ask_once: Run, said: str) -> None:
    call = AIMessage("", tool_calls=[{"name": "search", "args": {"query": "her"}, "id": "1"}])
    agent, _ = citing_agent(call, "In Port Elm [1][9].", tools=[saying("search", said)])
    result = await ask_once(agent, BORN, THREAD)
    assert result["messages"][-1].text == "In Port Elm [1]."
    assert (citations(result), result["skr_grounded"]) == ([(1, LIBRARY[BORN][0])], True)


class Birth(BaseModel):
    town: str


@pytest.mark.parametrize("strategy", [ProviderStrategy, ToolStrategy])
async def test_an_object_is_grounded_whichever_way_it_is_asked_for(
    ask_once: Run, strategy: Any
) -> None:
    made = {"town": "Port Elm [1]"}
    calls = [{"name": "Birth", "args": made, "id": "1"}] if strategy is ToolStrategy else []
    reply = AIMessage("" if calls else json.dumps(made), tool_calls=calls)
    agent, _ = citing_agent(reply, tools=[], response_format=strategy(Birth))
    result = await ask_once(agent, BORN, THREAD)
    assert result["structured_response"] == Birth(**made)
    assert (citations(result), result["skr_grounded"]) == ([(1, LIBRARY[BORN][0])], True)
