"""What asking will cost is said before, and what was then used is compared with it."""

from __future__ import annotations

from typing import Any

import pytest

from skr_core import Budget, Question, Settings
from skr_core.budget import Price
from skr_core.errors import RetrieverError
from skr_core.prompts import INSUFFICIENT, SEARCH_LEAD, SUFFICIENT
from skr_core.reflectors import JudgeReflector
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import NO_USAGE, Usage
from skr_graphs import GraphAnswerer
from skr_learn import collect
from skr_learn.foreseeing import Foreseen, aforesee, foresee

FACTOR = 1.25
"""By how much the tokens that are used may lie beside the range that was said."""

ASKED = [Question(str(n), f"Who keeps the lighthouse of island {n}?", ("Ada",)) for n in range(20)]
KEPT = "The lighthouse is kept by Ada, whom the harbour board has appointed for life. " * 6
PASSAGES = {each.question: [f"{KEPT} {each.id} {place}" for place in range(5)] for each in ASKED}
REPLY = " It is Ada [1], as the harbour board has ordered." * 4
GOES_ON = f"{INSUFFICIENT}\n{SEARCH_LEAD} {{}}"


class Another(MappingRetriever):
    """Finds something new for every query."""

    def retrieve(self, query: str) -> Any:
        return super().retrieve(query) or MappingRetriever({query: [f"{KEPT} {query}"]}).retrieve(
            query
        )


def settings(replies: list[str], **options: Any) -> Settings:
    model = ScriptedModel({"answer_directly": [REPLY]}, otherwise=replies[0])
    return Settings.of(model, Another(PASSAGES), **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"budget": Budget(max_rounds=1)},
        {"reflector": JudgeReflector(ScriptedModel(["insufficient: her name"] * 999))},
        {"when_insufficient": "own_knowledge"},
    ],
    ids=["plain", "one_round", "judged", "own_knowledge"],
)
@pytest.mark.parametrize(
    "reply",
    [f"{SUFFICIENT}\n{REPLY}", GOES_ON.format("the harbour board")],
    ids=["suffices", "goes_on"],
)
async def test_what_is_used_is_what_was_said(reply: str, options: dict[str, Any]):
    system = settings([reply], **options)
    due = [(each, action) for action in ("direct", "loop") for each in ASKED]
    said = foresee(system, due)
    assert said == await aforesee(system, due)
    used = [NO_USAGE]
    collect(ASKED, GraphAnswerer(system), on_progress=lambda each: used.append(each.usage))
    assert said.least.calls <= used[-1].calls <= said.most.calls
    assert said.least.total_tokens / FACTOR <= used[-1].total_tokens
    assert used[-1].total_tokens <= said.most.total_tokens * FACTOR


def test_where_every_question_takes_a_round_the_least_is_what_is_used():
    system = settings([f"{SUFFICIENT}\n{REPLY}"], budget=Budget(max_rounds=1))
    due = [(each, action) for action in ("direct", "single", None) for each in ASKED]
    said = foresee(system, due, verdicts=(20, 80), statements=20)
    assert (said.questions, said.least.calls) == (20, 100)
    assert said.sentence().startswith("20 questions: 100 to ")


def test_a_search_that_fails_is_told_of_when_it_is_asked():
    class Broken(MappingRetriever):
        def retrieve(self, query: str) -> Any:
            raise RetrieverError("down")

    said = foresee(Settings.of(ScriptedModel(), Broken({})), [(ASKED[0], "single")])
    assert said.least.calls == 1


def test_it_is_said_in_words():
    one = Foreseen(1, Usage(120, 60, calls=2), Usage(120, 60, calls=2))
    assert one.sentence(Price(1_000.0, 1_000.0)) == "1 question: 2 calls, 200 tokens, 0.18 USD"
