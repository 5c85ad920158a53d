"""What the middleware makes of an agent's model calls: drafts, limits of a run, judged answers."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel, Field

from langchain_skr import SKRMiddleware
from skr_core import Budget, Decision
from skr_core.budget import Price
from skr_core.errors import ModelError
from skr_core.prompts import REFUSAL
from skr_core.testing import MappingRetriever
from skr_core.types import Generation, Reflection, Verdict
from tests.langchain_skr.fakes import Agent, RouteByWord

KNOWN, BORN, TOWN = "Capital of France?", "Where was Ada Quill born?", "What is Port Elm?"
LIBRARY = {
    BORN: ["Ada Quill was born in Port Elm.", "Ada Quill engineered the lighthouse."],
    TOWN: ["Port Elm is a town by the sea."],
}
GOOD = "In Port Elm [1]."


@tool
def search(query: str = "") -> str:
    """Search the library."""
    return "Ada Quill was born in Port Elm."


@tool
def clock() -> str:
    """Tell the time."""
    return "Noon."


class Looking:
    """Looks at the direct answer, and retrieves where it does not name Paris."""

    drafts = True

    def __init__(self) -> None:
        self.seen: list[tuple[str, Generation]] = []

    def decide(self, question: str) -> Decision:
        raise AssertionError("it is shown what the agent's own model says")

    async def adecide(self, question: str) -> Decision:
        return self.decide(question)

    def decide_on(self, question: str, direct: Generation) -> Decision:
        self.seen.append((question, direct))
        return Decision("Paris" not in direct.text, usage=direct.usage, draft=direct.text)

    async def adecide_on(self, question: str, direct: Generation) -> Decision:
        return self.decide_on(question, direct)


class Weighing(Looking):
    """Serves the direct answer where the one from references admits that it does not know."""

    actions = ("direct", "single")

    def judge(self, question: str, answers: Any) -> Verdict:
        self.answers = answers
        served = "direct" if "not" in answers["single"].text else "single"
        return Verdict(served, {"direct": 0.5, "single": 0.5}, "by its words")

    async def ajudge(self, question: str, answers: Any) -> Verdict:
        return self.judge(question, answers)


class Judge:
    """Finds an answer insufficient until it says what it is told to look for."""

    def __init__(self, wanted: str, missing: str = TOWN) -> None:
        self.wanted, self.missing = wanted, missing
        self.seen: list[tuple[list[str], str]] = []

    def reflect(self, question: str, references: Any, draft: str) -> Reflection:
        self.seen.append(([each.text for each in references], draft))
        suffices = self.wanted in draft
        return Reflection(suffices, missing="" if suffices else self.missing)

    async def areflect(self, question: str, references: Any, draft: str) -> Reflection:
        return self.reflect(question, references, draft)


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Any:
    async def ask(agent: Any, question: str = BORN) -> dict[str, Any]:
        given = {"messages": [HumanMessage(question)]}
        if request.param == "sync":
            return await asyncio.to_thread(agent.invoke, given)
        return await agent.ainvoke(given)

    return ask


@pytest.fixture(params=["sync", "async"])
def shown(request: pytest.FixtureRequest) -> Any:
    """The texts that a reader of the run's messages is shown."""

    async def shown(agent: Any, question: str = BORN) -> list[str]:
        given, mode = {"messages": [HumanMessage(question)]}, "messages"
        if request.param == "sync":
            pieces = await asyncio.to_thread(lambda: [*agent.stream(given, stream_mode=mode)])
        else:
            pieces = [each async for each in agent.astream(given, stream_mode=mode)]
        return [each.text for each, _ in pieces if isinstance(each, AIMessage)]

    return shown


def calling(*names: str, text: str = "") -> AIMessage:
    calls = [{"name": name, "args": {}, "id": f"{name}-{n}"} for n, name in enumerate(names)]
    return AIMessage(text, tool_calls=calls)


def agent_with(*replies: Any, own: Any = (), **options: Any) -> tuple[Any, Agent]:
    messages = [each if isinstance(each, AIMessage) else AIMessage(each) for each in replies]
    chat = Agent(replies=messages)
    middleware = SKRMiddleware(**{"retriever": MappingRetriever(LIBRARY), **options})
    made = create_agent(chat, own, middleware=[middleware], system_prompt="Be brief.")
    return made, chat


def last(result: dict[str, Any]) -> str:
    return str(result["messages"][-1].text)


# Drafts


async def test_a_known_question_ends_with_its_draft_after_one_call(ask: Any) -> None:
    router = Looking()
    agent, chat = agent_with("<think>Hm.</think>Paris [7].", router=router)
    result = await ask(agent, KNOWN)
    assert [each[0].text for each in chat.sent] == ["Be brief."]
    assert [(asked, direct.text) for asked, direct in router.seen] == [(KNOWN, "Paris.")]
    assert not result["skr_decision"]["retrieve"]
    assert last(result).endswith("Paris.")
    assert result["skr_usage"]["calls"] == 1
    assert (result["skr_grounded"], result["skr_references"]) == (False, [])


async def test_an_unknown_one_takes_two_calls_and_its_draft_is_thrown_away(ask: Any) -> None:
    agent, chat = agent_with("At sea.", GOOD, router=Looking())
    result = await ask(agent)
    assert len(chat.sent) == 2
    assert chat.sent[0][0].text == "Be brief."
    assert LIBRARY[BORN][0] in chat.sent[1][0].text
    assert [each.text for each in result["messages"]] == [BORN, GOOD]
    assert result["skr_decision"]["draft"] == "At sea."
    assert result["skr_usage"]["calls"] == 2
    assert (result["skr_grounded"], result["skr_queries"]) == (True, [BORN])
    assert result["skr_citations"][0]["quote"] == LIBRARY[BORN][0]


async def test_a_draft_that_is_thrown_away_is_shown_to_nobody(shown: Any) -> None:
    agent, _ = agent_with("At sea.", GOOD, router=Looking())
    assert await shown(agent) == [GOOD]
    agent, _ = agent_with("Paris.", router=Looking())
    assert await shown(agent, KNOWN) == ["Paris."]


async def test_the_draft_is_asked_for_with_the_agent_s_own_middleware(ask: Any) -> None:
    class Polite(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(system_message=SystemMessage("Be polite.")))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request.override(system_message=SystemMessage("Be polite.")))

    chat = Agent(replies=[AIMessage("At sea."), AIMessage(GOOD)])
    ours = SKRMiddleware(Looking(), retriever=MappingRetriever(LIBRARY))
    agent = create_agent(chat, middleware=[Polite(), ours], system_prompt="Be brief.")
    await ask(agent)
    first, second = (each[0].text for each in chat.sent)
    assert first == "Be polite."
    assert second.startswith("Be polite.\n\nAnswer from these references")


async def test_the_agent_s_system_prompt_stands_before_every_call(ask: Any) -> None:
    replies = [
        calling("clock"),
        "At sea.",
        "It is a place [1].",
        "In Port Elm [1], by the sea [3].",
    ]
    agent, chat = agent_with(*replies, own=[clock], router=Looking(), reflector=Judge("sea"))
    assert last(await ask(agent)) == replies[-1]
    said = [each[0].text for each in chat.sent]
    assert said[:2] == ["Be brief.", "Be brief."], "a tool's call, and the draft"
    assert len(said) == 4
    assert all(each.startswith("Be brief.\n\nAnswer from these") for each in said[2:])


async def test_retrieval_tools_are_withheld_from_the_draft_and_others_come_first(ask: Any) -> None:
    router = Looking()
    replies = [calling("clock"), "At noon, at sea.", GOOD]
    agent, chat = agent_with(*replies, own=[search, clock], router=router, tools=["search"])
    result = await ask(agent)
    assert chat.tools == ["clock", "clock", "clock,search"]
    assert [direct.text for _, direct in router.seen] == ["At noon, at sea."]
    assert last(result) == GOOD
    assert result["skr_usage"]["calls"] == 3


async def test_a_router_alone_withholds_tools_until_it_is_known_whether_they_are_needed(
    ask: Any,
) -> None:
    replies = ["At sea.", calling("search"), "In Port Elm."]
    options = {"own": [search], "router": Looking(), "tools": [search], "retriever": None}
    agent, chat = agent_with(*replies, **options)
    assert last(await ask(agent)) == "In Port Elm."
    assert chat.tools == ["search", "search"]
    agent, chat = agent_with("Paris.", **options)
    assert last(await ask(agent, KNOWN)) == "Paris."
    assert chat.tools == []


class Capital(BaseModel):
    """A capital."""

    name: str


async def test_a_structured_draft_is_looked_at_too(ask: Any) -> None:
    router = Looking()
    args = {"name": "Paris"}
    chat = Agent(replies=[AIMessage("", tool_calls=[{"name": "Capital", "args": args, "id": "1"}])])
    ours = SKRMiddleware(router, retriever=MappingRetriever(LIBRARY))
    agent = create_agent(chat, middleware=[ours], response_format=Capital)
    result = await ask(agent, KNOWN)
    assert result["structured_response"] == Capital(name="Paris")
    assert [direct.text for _, direct in router.seen] == ['{"name": "Paris"}']
    assert len(chat.sent) == 1


async def test_what_was_found_may_confirm_the_draft(ask: Any, shown: Any) -> None:
    router = Weighing()
    agent, _ = agent_with("At sea.", "I do not know [1].", router=router)
    result = await ask(agent)
    assert [each.text for each in result["messages"]] == [BORN, "At sea."]
    assert (result["skr_verdict"]["served"], result["skr_grounded"]) == ("direct", False)
    assert set(router.answers) == {"direct", "single"}
    assert router.answers["single"].standing is not None
    agent, _ = agent_with("At sea.", GOOD, router=Weighing())
    assert await shown(agent) == [GOOD]


# Limits of a run


async def test_the_last_call_is_made_without_tools(ask: Any) -> None:
    budget = Budget(max_calls=2)
    agent, chat = agent_with(calling("clock"), "At noon.", own=[clock], budget=budget)
    result = await ask(agent)
    assert chat.tools == ["clock"]
    assert (last(result), result["skr_stop_reason"]) == ("At noon.", "")
    assert result["skr_usage"]["calls"] == 2


PRICED = {"max_spend": 1e-6, "price": Price(1.0, 1.0)}


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"max_tokens": 20}, "max_tokens"), (PRICED, "max_spend"), ({"deadline_s": 0.2}, "deadline")],
)
async def test_a_limit_ends_the_run_with_what_was_said(ask: Any, limits: Any, reason: str) -> None:
    class Slow(Agent):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            time.sleep(0.3 if reason == "deadline" and self.sent else 0)
            return super()._generate(*args, **kwargs)

    used = {"input_tokens": 15, "output_tokens": 5, "total_tokens": 20}
    chat = Slow(replies=[calling("clock", text="Let me see."), AIMessage("At noon.")])
    chat.replies[0].usage_metadata = used  # type: ignore[assignment]
    ours = SKRMiddleware(retriever=MappingRetriever(LIBRARY), budget=Budget(**limits))
    result = await ask(create_agent(chat, [clock], middleware=[ours]))
    assert (last(result), result["skr_stop_reason"]) == ("Let me see.", reason)
    ran = any(isinstance(each, ToolMessage) for each in result["messages"])
    assert ran == (reason == "deadline")
    assert not result["messages"][-1].tool_calls


async def test_where_nothing_was_said_the_run_ends_with_a_refusal(ask: Any) -> None:
    agent, chat = agent_with(calling("clock"), own=[clock], budget=Budget(max_tokens=1))
    result = await ask(agent)
    assert (last(result), result["skr_stop_reason"]) == (f"{REFUSAL}.", "max_tokens")
    assert len(chat.sent) == 1


async def test_where_no_call_is_left_for_an_unknown_question_the_draft_is_served(ask: Any) -> None:
    agent, chat = agent_with("At sea.", GOOD, router=Looking(), budget=Budget(max_calls=1))
    result = await ask(agent)
    assert (last(result), result["skr_stop_reason"]) == ("At sea.", "max_calls")
    assert (len(chat.sent), result["skr_queries"]) == (1, [])


async def test_a_run_s_limits_are_its_own(ask: Any) -> None:
    agent, _ = agent_with(GOOD, budget=Budget(max_calls=1))
    for _ in range(2):
        assert (await ask(agent))["skr_usage"]["calls"] == 1


async def test_a_tool_s_calls_are_limited_by_its_name(ask: Any) -> None:
    replies = [calling("search", "search", "clock"), "Done."]
    options = {"own": [search, clock], "max_tool_calls": {"search": 1}}
    agent, chat = agent_with(*replies, **options)
    result = await ask(agent)
    said = {each.text for each in result["messages"] if isinstance(each, ToolMessage)}
    assert said == {
        "Ada Quill was born in Port Elm.",
        "The tool search may not be called again in this run.",
        "Noon.",
    }
    assert chat.tools == ["clock,search", "clock"]


async def test_the_length_of_replies_keeps_to_the_budget(ask: Any) -> None:
    class Long(Agent):
        max_tokens: int | None = None
        asked_for: list[Any] = Field(default_factory=list)

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            self.asked_for.append(kwargs["max_tokens"])
            return super()._generate(messages)

        async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            return self._generate(messages, **kwargs)

    chat = Long(replies=[AIMessage(GOOD)])
    budget = Budget(max_reply_tokens=50)
    ours = SKRMiddleware(retriever=MappingRetriever(LIBRARY), budget=budget)
    await ask(create_agent(chat, middleware=[ours]))
    assert chat.asked_for == [50]


# Judged answers


async def test_what_an_answer_lacks_is_searched_for_before_it_is_shown(
    ask: Any, shown: Any
) -> None:
    replies = ["It is a place [1].", "In Port Elm [1], by the sea [3]."]
    judge = Judge("sea")
    agent, chat = agent_with(*replies, reflector=judge)
    result = await ask(agent)
    assert [each.text for each in result["messages"]] == [BORN, replies[1]]
    assert (result["skr_queries"], result["skr_grounded"]) == ([BORN, TOWN], True)
    assert [each["text"] for each in result["skr_sources"]] == [*LIBRARY[BORN], *LIBRARY[TOWN]]
    told = chat.sent[1][0].text
    assert f"An earlier answer of yours lacked this: {TOWN}" in told
    assert LIBRARY[TOWN][0] in told
    assert judge.seen[0] == (LIBRARY[BORN], replies[0])
    agent, _ = agent_with(*replies, reflector=Judge("sea"))
    assert await shown(agent) == [replies[1]]


async def test_a_judge_reads_what_the_model_has_read(ask: Any) -> None:
    judge = Judge("Port Elm")
    agent, chat = agent_with(GOOD, reflector=judge, budget=Budget(max_reference_tokens=20))
    await ask(agent)
    ((read, _),) = judge.seen
    assert read == LIBRARY[BORN][:1]
    assert LIBRARY[BORN][1] not in chat.sent[0][0].text


async def test_an_answer_that_stays_insufficient_is_served_and_marked(ask: Any) -> None:
    agent, chat = agent_with(GOOD, reflector=Judge("never", missing="Who was she?"))
    result = await ask(agent)
    assert (last(result), result["skr_grounded"]) == (GOOD, False)
    assert (len(chat.sent), result["skr_queries"]) == (1, [BORN, "Who was she?"])


async def test_the_budget_holds_for_rounds_too(ask: Any) -> None:
    agent, chat = agent_with(GOOD, reflector=Judge("sea"), budget=Budget(max_rounds=1))
    result = await ask(agent)
    assert (last(result), result["skr_grounded"], len(chat.sent)) == (GOOD, False, 1)


async def test_a_judge_that_fails_takes_no_answer_away(ask: Any) -> None:
    class Broken(Judge):
        def reflect(self, question: str, references: Any, draft: str) -> Reflection:
            raise ModelError("out of order")

    agent, _ = agent_with(GOOD, reflector=Broken(""))
    result = await ask(agent)
    assert (last(result), result["skr_grounded"]) == (GOOD, False)


async def test_without_a_judge_an_answer_is_grounded_that_cites_and_refuses_nothing(
    ask: Any,
) -> None:
    for said, grounded in ((GOOD, True), ("In Port Elm.", False), (REFUSAL, False)):
        agent, _ = agent_with(said)
        assert (await ask(agent))["skr_grounded"] == grounded
    agent, _ = agent_with("Paris.", router=RouteByWord())
    assert not (await ask(agent, KNOWN))["skr_grounded"]
