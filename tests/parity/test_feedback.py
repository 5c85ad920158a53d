"""What any drop-in returns makes a record of what somebody said of it, and can be monitored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, messages_to_dict

from langchain_skr import SKRMiddleware, create_skr_chain
from llamaindex_skr import SKRChatEngine, SKRQueryEngine
from skr_core import Settings
from skr_core.errors import InputError
from skr_graphs import GraphAnswerer, create_self_completion_graph, without_messages
from skr_learn import Record, monitor, record_of_feedback
from skr_learn.outputs import answer_of_output
from tests.langchain_skr.fakes import Agent
from tests.parity.test_reloading import of_two
from tests.skr_graphs.climbing import Knowing, ladder, library, question_of

pytestmark = pytest.mark.usefixtures("few_trees")

HUT, SUM = question_of("hut", 30).asked, question_of("sum", 30).asked
LIBRARY = library(range(30, 31))


def graph(asked: str) -> Any:
    made = create_self_completion_graph(model=Knowing(), retriever=LIBRARY, router=ladder())
    return made.compile().invoke({"question": asked})


def log(asked: str) -> Any:
    return json.loads(json.dumps(without_messages(graph(asked))))


def chain(asked: str) -> Any:
    made = create_skr_chain(Knowing(), LIBRARY, router=ladder(), return_sources=True)
    return made.invoke({"input": asked})


def engine(asked: str) -> Any:
    return SKRQueryEngine.from_defaults(LIBRARY, llm=Knowing(), router=ladder()).query(asked)


def chat(asked: str) -> Any:
    made = SKRChatEngine.from_defaults(LIBRARY, llm=Knowing(), router=ladder())
    return asyncio.run(made.achat(asked))


def answer(asked: str) -> Any:
    return GraphAnswerer(Settings.of(Knowing(), LIBRARY, router=ladder())).answer(asked)


WAYS: dict[str, Callable[[str], Any]] = {
    each.__name__: each for each in (answer, graph, log, chain, engine, chat)
}


@pytest.mark.parametrize("name", WAYS)
def test_a_record_holds_what_was_asked_done_and_said(name: str):
    wanted = answer(HUT)
    output = WAYS[name](HUT)
    record = record_of_feedback(output, True, expected_other=0.4, gold=["On hill 30"])
    assert (record.question, record.gold) == (HUT, ("On hill 30",))
    outcome = record.outcomes["single"]
    assert (outcome.answer, outcome.score) == (wanted.text, 1.0)
    assert (outcome.usage, outcome.retrievals, outcome.rounds) == (wanted.total_usage, 1.0, 1)
    assert record.outcomes["direct"].score == 0.4
    assert record.extra == {"imputed": "direct", "feedback": True}
    read = answer_of_output(output)
    assert (read.chance, read.decision, read.verdict) == (
        wanted.chance,
        wanted.decision,
        wanted.verdict,
    )
    assert wanted.chance is not None
    assert wanted.decision.novel is not None


def test_all_of_them_can_be_monitored():
    served = [way(asked) for way in WAYS.values() for asked in (HUT, SUM)]
    found = monitor(served, ladder(), [None, True] * len(WAYS))
    by_name = {each.name: each for each in found.changes}
    assert (by_name["single"].seen, by_name["direct"].seen) == (0.5, 0.5)
    assert (by_name["right"].n, by_name["chance"].n) == (len(WAYS), 2 * len(WAYS))


@pytest.mark.parametrize("is_logged", [False, True])
def test_an_agent_s_state(is_logged: bool):
    replies = [AIMessage("no river, 7"), AIMessage("On hill 30 [1].")]
    middleware = SKRMiddleware(of_two(), retriever=LIBRARY)
    state = create_agent(Agent(replies=replies), middleware=[middleware]).invoke(
        {"messages": [("user", HUT)]}
    )
    verdict = state["skr_verdict"]
    if is_logged:
        messages = [each["data"] for each in messages_to_dict(state["messages"])]
        state = json.loads(json.dumps({**state, "messages": messages}))
    read = answer_of_output(state)
    assert (read.question, read.text) == (HUT, state_text(verdict["served"]))
    assert read.chance == verdict["chances"][verdict["served"]]
    assert read.total_usage.calls == 2
    record = record_of_feedback(state, False, expected_other=0.5)
    assert record.outcomes[verdict["served"]].score == 0.0


def state_text(served: str) -> str:
    return "On hill 30 [1]." if served == "single" else "no river, 7"


def test_an_answer_that_the_arbiter_kept_counts_for_its_own_action():
    kept = {
        "question": "Who?",
        "answer": "Ada",
        "decision": {"retrieve": True, "max_rounds": 1},
        "verdict": {"served": "direct", "chances": {"direct": 0.8}, "reason": ""},
    }
    record: Record = record_of_feedback(kept, 1.0, expected_other=0.2)
    assert record.direct.answer == "Ada"
    assert (record.direct.score, record.extra["imputed"]) == (1.0, "loop")


def test_what_is_no_output_is_refused():
    known = {"answer": "Ada", "decision": {"retrieve": False}}
    with pytest.raises(InputError, match="does not hold its question"):
        record_of_feedback(known, True, expected_other=0.5)
    with pytest.raises(InputError, match="says nothing of a decision"):
        record_of_feedback({"answer": "Ada"}, True, expected_other=0.5)
    with pytest.raises(InputError, match="right must be True, False or a score"):
        record_of_feedback({**known, "question": "Who?"}, 2, expected_other=0.5)
