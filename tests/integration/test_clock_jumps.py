"""A clock that is put an hour ahead and back: nothing ends early, hangs or changes by it."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda

from langchain_skr import SKRMiddleware, create_skr_chain
from llamaindex_skr import SKRQueryEngine
from skr_core import Budget, Generation, OnToken, Prompt, Question, Reference, Settings
from skr_core.budget import estimate_usage
from skr_core.errors import DeadlineError
from skr_core.files import KeyedLog
from skr_core.flow import run
from skr_core.models.limited import Spending
from skr_core.testing import MappingRetriever
from skr_graphs import GraphAnswerer
from skr_learn import collect
from skr_learn.evaluate import System, ask_all
from skr_store import Store
from tests.langchain_skr.fakes import Agent
from tests.parity.tenants import DOORS, TENANTS, App, question

HOUR = 3_600.0
LONG = Budget(deadline_s=600)
"""Time enough on any machine, and none once an hour has passed."""


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Lets the clock say another hour whenever it is looked at from now on."""
    true, hours = time.time, cycle((1, -1, 0, 2, -2))
    return lambda: monkeypatch.setattr(time, "time", lambda: true() + HOUR * next(hours))


def answers_of(door: str) -> list[str]:
    options = {"budget": LONG}
    with Store.ephemeral() as store:
        asked = DOORS[door](App(store, options=options, engine_options=dict(options)))
        found = [str(asked.ask(TENANTS[0], question(n))) for n in (1, 3)]
        return [*found, str(asyncio.run(asked.aask(TENANTS[0], question(6))))]


@pytest.mark.parametrize("door", DOORS)
def test_every_drop_in_says_what_it_says_by_a_clock_that_stands(
    door: str, jump: Callable[[], None]
):
    before = answers_of(door)
    jump()
    after = answers_of(door)
    assert [without_ids(each) for each in after] == [without_ids(each) for each in before]


def without_ids(said: str) -> str:
    """What was said, up to the ids of messages, which are drawn."""
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", said)


async def test_the_middleware_keeps_its_deadline(jump: Callable[[], None]):
    jump()
    search = RunnableLambda(lambda query: [Document("Colza oil.")])
    agent = create_agent(
        Agent(replies=[AIMessage("So it is."), AIMessage("So it is.")]),
        middleware=[SKRMiddleware(retriever=search, budget=LONG)],
    )
    given: Any = {"messages": [("user", "What burns in the lamp?")]}
    assert agent.invoke(given)["messages"][-1].text == "So it is."
    assert (await agent.ainvoke(given))["messages"][-1].text == "So it is."


class Slow:
    """Goes on searching, and hangs from its second call on."""

    name = "slow"

    def __init__(self) -> None:
        self.calls, self.ended = 0, threading.Event()

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        self.calls += 1
        if self.calls > 1:
            self.ended.wait(120)
        said = "INSUFFICIENT\nSearch: the keeper"
        return Generation(said, estimate_usage(prompt, said))

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        return await asyncio.to_thread(self.generate, prompt)


@pytest.mark.parametrize("form", ["chain", "engine"])
def test_a_deadline_is_not_put_off(form: str, monkeypatch: pytest.MonkeyPatch):
    search = MappingRetriever({"Who?": ["The keeper."], "the keeper": ["Nobody is."]})
    true = time.time
    for deadline in (1.0, 10.0):  # where the first has passed before the model was asked twice
        model, budget = Slow(), Budget(deadline_s=deadline)
        # An hour back, once the question has been asked.
        monkeypatch.setattr(time, "time", lambda model=model: true() - HOUR * (model.calls > 0))
        begun = time.monotonic()
        with suppress(DeadlineError):
            if form == "chain":
                create_skr_chain(model, search, budget=budget).invoke("Who?")
            else:
                SKRQueryEngine.from_defaults(search, llm=model, budget=budget).query("Who?")
        seconds = time.monotonic() - begun
        model.ended.set()
        if model.calls == 2:
            break
    assert model.calls == 2
    assert seconds < deadline + 60


QUESTIONS = [Question(str(n), f"Where is port {n}?", (f"Coast {n}",)) for n in range(5)]
PASSAGES = MappingRetriever({each.question: [f"On {each.gold[0]}."] for each in QUESTIONS})


class Reader:
    """Says what it is shown."""

    name = "reader"

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        said = f"SUFFICIENT\n{prompt.references[0].text} [1]" if prompt.references else "Unknown."
        return Generation(said, estimate_usage(prompt, said))

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        return self.generate(prompt)


def test_collecting_and_evaluating_go_on(jump: Callable[[], None]):
    answerer = GraphAnswerer(Settings(Reader(), PASSAGES, budget=LONG))
    limited = Spending(deadline_s=600, requests_per_second=1_000).limit(Reader())

    def found() -> list[Any]:
        records = collect(QUESTIONS, answerer)
        asked = run(ask_all(System.of("loop", answerer), QUESTIONS, KeyedLog(None)))
        assert asked.seconds < 600
        assert limited.generate(Prompt("answer_directly", "Who?", "Who?")).text == "Unknown."
        return [*((each.question, each.outcomes) for each in records), asked.n_failed]

    before = found()
    jump()
    assert found() == before


def test_a_store_loses_nothing_that_has_no_time_to_live(jump: Callable[[], None], tmp_path: Any):
    with Store.open(tmp_path, k=1) as store:
        jump()
        for n in range(5):
            store.add([Reference.of(f"passage p{n}", metadata={"source": f"{n}.txt"})])
            assert store.retrieve(f"p{n}")[0].text == f"passage p{n}"
    with Store.open(tmp_path) as store:
        assert store.count() == 5
        assert [each.passages for each in store.sources()] == [1] * 5
