"""What many questions may cost together, sync, async and side by side."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from skr_core import Generation, Price, Prompt, Usage
from skr_core.answering import answer_directly
from skr_core.budget import estimate_usage
from skr_core.errors import BudgetError, DeadlineError, InputError, ModelError
from skr_core.flow import Flow, arun, call, gather, run
from skr_core.models.limited import Spending
from skr_core.testing import BrokenModel, MappingRetriever, ScriptedModel
from skr_graphs import create_self_completion_graph

QUESTION = "Capital of France?"
PROMPT = Prompt("answer_directly", QUESTION, QUESTION)
PRICES = {"priced": Price(1.0, 2.0), "other": Price(0.0, 0.0)}
Drive = Callable[[Flow[Any]], Any]


class Priced:
    """Takes a million tokens each way."""

    name = "priced"

    def generate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        return Generation("Paris.", Usage(1_000_000, 1_000_000, calls=1))

    async def agenerate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
        return self.generate(prompt)


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    return run if request.param == "sync" else lambda flow: asyncio.run(arun(flow))


def ask(model: Any) -> Flow[Generation]:
    return (yield from call(model.generate, model.agenerate, PROMPT))


def times(model: Any, number: int) -> Flow[int]:
    for done in range(number):
        try:
            yield from ask(model)
        except BudgetError:
            return done
    return number


def test_money(drive: Drive) -> None:
    spending = Spending(max_spend=7.0, prices=PRICES)
    assert drive(times(spending.limit(Priced()), 10)) == 3  # the one that crosses the line ends
    assert spending.dollars == 9.0
    with pytest.raises(BudgetError, match=r"9\.0000 of 7\.0000 US dollars are spent; run it again"):
        drive(ask(spending.limit(ScriptedModel(name="other"))))


@pytest.mark.parametrize(
    "usage",
    [Usage(-1_000_000, 5, calls=1), Usage(5, 10**30), Usage("many", 5), Usage(5, 5, -1), None],  # type: ignore[arg-type]
)
def test_what_is_spent_never_falls(drive: Drive, usage: Any) -> None:
    class Liar(Priced):
        def generate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
            return Generation("Paris.", usage)

    spending = Spending(max_spend=1.0, prices=PRICES)
    drive(ask(spending.limit(Liar())))
    assert spending.usage == estimate_usage(PROMPT, "Paris.")
    assert drive(answer_directly(Liar(), QUESTION)).usage.estimated


def test_tokens(drive: Drive) -> None:
    spending = Spending(max_tokens=2_000_001)
    assert drive(times(spending.limit(Priced()), 10)) == 2
    assert spending.usage == Usage(2_000_000 * 1, 2_000_000, calls=2)


def test_no_call_too_many_side_by_side(drive: Drive) -> None:
    model, spending = ScriptedModel(["Paris."]), Spending(max_calls=5)
    limited = spending.limit(model)

    def one() -> Flow[bool]:
        try:
            yield from ask(limited)
        except BudgetError:
            return False
        return True

    assert sum(drive(gather([one() for _ in range(20)]))) == 5
    assert len(model.prompts) == 5


def test_a_call_that_fails_is_counted(drive: Drive) -> None:
    spending = Spending(max_calls=1)
    model = spending.limit(BrokenModel())
    with pytest.raises(ModelError):
        drive(ask(model))
    assert spending.usage.prompt_tokens > 0
    assert drive(times(model, 1)) == 0


def test_seconds(drive: Drive) -> None:
    assert drive(times(Spending(deadline_s=1e-9).limit(Priced()), 3)) == 0
    assert drive(times(Spending(deadline_s=60).limit(Priced()), 3)) == 3


def test_a_call_has_its_own_seconds(drive: Drive) -> None:
    class Hanging(Priced):
        def generate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
            over.wait(60)
            return super().generate(prompt)

        async def agenerate(self, prompt: Prompt, *, on_token: Any = None) -> Generation:
            await asyncio.sleep(60)
            return super().generate(prompt)

    over, spending = threading.Event(), Spending(call_deadline_s=0.05)
    for _ in range(2):  # each call anew
        with pytest.raises(DeadlineError):
            drive(ask(spending.limit(Hanging())))
    over.set()
    assert spending.usage.prompt_tokens > 0


def test_turns_are_given_at_the_rate() -> None:
    spending = Spending(requests_per_second=0.001)
    waits = [spending.begin() for _ in range(4)]
    assert [round(each / 1000) for each in waits] == [0, 1, 2, 3]
    for rate in (0, -1, float("nan")):
        with pytest.raises(InputError, match="above 0"):
            Spending(requests_per_second=rate)


def test_what_is_spent_travels_to_another_process() -> None:
    spending = Spending(max_calls=2, deadline_s=60)
    spending.begin()
    other = pickle.loads(pickle.dumps(spending))
    assert 0 < other.bounds.ends_at - time.monotonic() <= 60
    other.begin()
    with pytest.raises(BudgetError, match="2 of 2"):
        other.begin()
    spending.begin()


def test_a_call_waits_for_its_turn() -> None:
    flow = Spending(requests_per_second=1).limit(Priced())._generation(PROMPT, None)
    next(flow)
    request = flow.send(2.5)
    assert (request.blocking.func, request.blocking.args) == (time.sleep, (2.5,))
    asyncio.run(request.awaitable.func(0))
    assert flow.send(None).blocking().text == "Paris."


def test_a_question_that_is_cut_short_is_no_answer() -> None:
    """A spent budget is no failure of the model, which a draft would stand in for."""
    spending = Spending(max_calls=1)
    model = ScriptedModel(["INSUFFICIENT\nPerhaps Paris [1].\nSearch: France"])
    graph = create_self_completion_graph(
        model=spending.limit(model),
        retriever=MappingRetriever({QUESTION: ["Paris is in France."], "France": ["A country."]}),
    ).compile()
    with pytest.raises(BudgetError):
        graph.invoke({"question": QUESTION})
    assert len(model.prompts) == 1


def test_money_wants_prices() -> None:
    with pytest.raises(InputError, match="prices"):
        Spending(max_spend=1.0)
    with pytest.raises(InputError, match="max_spend must be above 0"):
        Spending(max_spend=float("nan"), prices=PRICES)
    with pytest.raises(InputError, match="'scripted'"):
        Spending(max_spend=1.0, prices=PRICES).limit(ScriptedModel())


def test_the_model_keeps_its_name_and_version() -> None:
    class Versioned(ScriptedModel):
        version = "warm"

    limited: Any = Spending().limit(Versioned(name="mine"))
    assert (limited.name, limited.version) == ("mine", "warm")
