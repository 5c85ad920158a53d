"""An agent is collected over by the same `collect`, and served with what was learnt."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import Field

from langchain_skr import SKRMiddleware
from skr_core import Question
from skr_core.errors import InputError, ModelError
from skr_core.settings import answerer_of
from skr_core.testing import MappingRetriever
from skr_learn import acollect, calibrate, collect
from tests.langchain_skr.fakes import Agent

COUNT = 40
RIVERS = {f"Where does the Ar{n} flow?": f"sea{n}" for n in range(COUNT)}
FIRMS = {f"Who keeps the books of firm {n}?": f"keeper{n}" for n in range(COUNT)}
LIBRARY = MappingRetriever(
    {asked: [f"It is {gold}."] for asked, gold in {**RIVERS, **FIRMS}.items()}
)
QUESTIONS = [Question(asked, asked, (gold,)) for asked, gold in {**RIVERS, **FIRMS}.items()]


class Knowing(BaseChatModel):
    """Knows where rivers flow, and reads the rest; notes how it was told to."""

    prompts: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "knowing"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        question, system = messages[-1].text, messages[0].text
        self.prompts.append(system)
        found = re.search(r"It is (\w+)\.", system)
        if found:
            text = f"It is {found[1]} [1]."
        else:
            text = f"It is {RIVERS[question]}." if question in RIVERS else "I do not know."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


@tool
def search(query: str) -> str:
    """Search."""
    return query


def agent_of(model: BaseChatModel, **options: Any) -> Any:
    ours = SKRMiddleware(retriever=LIBRARY, tools=["search"], **options)
    return create_agent(
        model, [search], middleware=[ours], system_prompt="Be brief.", checkpointer=InMemorySaver()
    )


@pytest.fixture(params=["sync", "async"])
def gather(request: pytest.FixtureRequest) -> Callable[..., Any]:
    async def gather(*given: Any, **options: Any) -> Any:
        if request.param == "sync":
            return collect(*given, **options)
        return await acollect(*given, **options)

    return gather


async def test_records_are_those_of_the_agent_with_its_prompt_and_its_tools(gather: Any) -> None:
    model = Knowing()
    records = await gather(QUESTIONS[:2] + QUESTIONS[-2:], agent_of(model))
    assert {each[:9] for each in model.prompts} == {"Be brief."}
    assert len(model.prompts) == 8
    scores = [[record.outcomes[a].score for a in ("direct", "single")] for record in records]
    assert scores == [[1, 1], [1, 1], [0, 1], [0, 1]]
    river = records[0].outcomes
    assert (river["direct"].answer, river["single"].answer) == ("It is sea0.", "It is sea0 [1].")
    assert (river["direct"].retrievals, river["single"].retrievals) == (0, 1)
    assert (river["direct"].grounded, river["single"].grounded) == (None, True)
    assert [river[a].usage.calls for a in river] == [1, 1]  # type: ignore[union-attr]
    stamp = records[0].stamp
    assert (stamp.model, stamp.retriever) == ("knowing", LIBRARY.name)
    other = create_agent(Knowing(), middleware=[SKRMiddleware(retriever=LIBRARY)])
    assert answerer_of(other).settings.stamp().system != stamp.system


@pytest.mark.usefixtures("few_trees")
def test_what_is_learnt_of_an_agent_serves_it(tmp_path: Path) -> None:
    records = collect(QUESTIONS, agent_of(Knowing()))
    calibrate(records).save(path := tmp_path / "router")
    model = Knowing()
    answerer = answerer_of(agent_of(model, router=path))
    known, unknown = (answerer.answer(each.question) for each in (QUESTIONS[1], QUESTIONS[-1]))
    assert (known.text, known.stop_reason, known.total_usage.calls) == ("It is sea1.", "known", 1)
    assert (unknown.text, unknown.grounded) == (f"It is keeper{COUNT - 1} [1].", True)
    assert unknown.total_usage.calls <= 2


async def test_an_agent_is_asked_with_history_and_config(gather: Any) -> None:
    chat = Agent(replies=[AIMessage("sea0")])
    asked = Question(
        "1", "Where does the Ar0 flow?", ("sea0",), history=(("user", "Hm?"), ("assistant", "Yes."))
    )
    (record,) = await gather([asked], agent_of(chat))
    assert record.question == asked.question
    assert [each.text for each in chat.sent[0][1:]] == ["Hm?", "Yes.", asked.question]


async def test_an_agent_whose_model_fails_leaves_its_question_for_the_next_run(
    gather: Any,
) -> None:
    class Broken(Knowing):
        def _generate(self, *_: Any, **__: Any) -> ChatResult:
            raise OSError("out of order")

    with pytest.raises(ModelError, match="the agent: OSError: out of order"):
        await gather(QUESTIONS[:1], agent_of(Broken()))


def test_what_is_no_agent_of_ours_is_refused() -> None:
    with pytest.raises(InputError, match="this graph is your own"):
        collect(QUESTIONS, create_agent(Knowing()))
    plain = StateGraph(MessagesState)
    plain.add_node("say", lambda state: {})
    plain.add_edge(START, "say")
    with pytest.raises(InputError, match="this graph is your own"):
        collect(QUESTIONS, plain.compile())
