"""How far a ladder climbs, at which price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from skr_core import CandidateAnswer, Generation, HashingEmbedder, Price, Usage, load_router
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.routers import AlwaysRetrieve
from skr_core.routers.saving import ARRAYS_FILE
from skr_core.testing import ScriptedModel
from skr_core.types import Stamp
from skr_learn import Ladder, SelfKnowledge
from skr_learn.arbiters import Seen
from skr_learn.arbiters.rungs import Climb, views_of_rungs
from skr_learn.arbiters.views import Views
from skr_learn.learning import ActionTable
from skr_learn.learning.outcomes import CostUnit
from skr_learn.self_knowledge.records import Outcome

pytestmark = pytest.mark.usefixtures("few_trees")

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

RECORDS = [
    SelfKnowledge.of(f"What is {n} plus 1?", direct=(f"{n + 1}", 1), single=("?", 0), loop=("?", 0))
    for n in range(40)
] + [
    SelfKnowledge.of(
        f"Who led team {n}?", direct=("I do not know", 0), single=("Ada", 1), loop=("Ada", 1)
    )
    for n in range(40)
]


class Counting(HashingEmbedder):
    """Counts the texts that it embeds."""

    texts = 0

    def embed_sparse(self, texts: Sequence[str]) -> csr_matrix[np.float32]:
        self.texts += len(texts)
        return super().embed_sparse(texts)


@pytest.fixture(scope="module")
def ladder() -> Ladder:
    return Ladder.fit(RECORDS)


def ends(ladder: Ladder, price: float) -> NDArray[np.int64]:
    views = views_of_rungs(RECORDS, ladder.actions, HashingEmbedder())
    return ladder.climb(views).ends(price)


def test_it_climbs_where_the_next_answer_is_worth_its_price(ladder: Ladder):
    found = ends(ladder, 0.05)
    assert (found[:40] == 0).all()
    assert (found[40:] == 1).all()


def test_the_price_decides_at_its_ends(ladder: Ladder):
    assert (ends(ladder, 5.0) == 0).all()
    assert (ends(ladder, -5.0) == 2).all()


@pytest.mark.parametrize("budget", [0.0, 0.3, 0.5, 1.0])
def test_a_budget_is_kept_and_used(budget: float):
    rng = np.random.default_rng(0)
    expected = [rng.random((200, 3)), rng.random((200, 2)), rng.random((200, 1))]
    climb = Climb(expected, [np.zeros(200, dtype=np.int64)] * 3, np.array([0.0, 1.0, 3.0]))
    spent = climb.costs[climb.ends(climb.price_within(budget))].mean()
    assert budget - 0.15 <= spent <= budget


def test_a_budget_keeps_a_standard_error_free():
    rng = np.random.default_rng(1)
    expected = [rng.random((50, 3)), rng.random((50, 2)), rng.random((50, 1))]
    climb = Climb(expected, [np.zeros(50, dtype=np.int64)] * 3, np.array([0.0, 1.0, 3.0]))
    spent = climb.costs[climb.ends(climb.price_within(1.0))]
    assert spent.mean() + spent.std() / np.sqrt(50) <= 1.0


def test_every_text_is_embedded_once():
    embedder = Counting()
    views_of_rungs(RECORDS, ("direct", "single", "loop"), embedder)
    assert embedder.texts == 4 * len(RECORDS)


def test_few_answers_are_seen_as_if_there_were_no_more():
    actions = ("direct", "single", "loop")
    rungs = views_of_rungs(RECORDS, actions, HashingEmbedder())
    for count, found in enumerate(rungs, start=1):
        seen = [Seen.in_record(each, actions[:count]) for each in RECORDS]
        expected = Views.of(seen, actions[:count], HashingEmbedder())
        assert np.array_equal(found.rows, expected.rows)
        assert np.array_equal(found.signals.features, expected.signals.features)


def test_a_large_budget_is_not_spent_on_what_is_worth_nothing():
    expected = [np.tile([0.5, 0.4, 0.4], (9, 1)), np.full((9, 2), 0.4), np.full((9, 1), 0.4)]
    climb = Climb(expected, [np.zeros(9, dtype=np.int64)] * 3, np.array([0.0, 1.0, 3.0]))
    assert climb.costs[climb.ends(climb.price_within(3.0))].mean() == 0.0


def test_served_answers_are_those_of_the_rung():
    served = [np.array([0, 0]), np.array([1, 0]), np.array([2, 1])]
    climb = Climb([np.zeros((2, 3))] * 3, served, np.zeros(3))
    assert climb.answers(np.array([1, 2])).tolist() == [1, 1]


def test_a_rung_sees_its_own_answers_alone():
    actions = ("direct", "single", "loop")
    views = views_of_rungs(RECORDS, actions, HashingEmbedder())
    assert [each.rows.shape[0] for each in views] == [1, 2, 3]
    changed = [
        SelfKnowledge.of(
            each.question, direct=(each.direct.answer, 0), single=("other", 0), loop=("other", 0)
        )
        for each in RECORDS
    ]
    other = views_of_rungs(changed, actions, HashingEmbedder())
    assert np.array_equal(views[0].rows, other[0].rows)
    assert not np.array_equal(views[1].rows, other[1].rows)


def test_it_comes_back_from_its_folder_as_it_was(ladder: Ladder, tmp_path: Path):
    ladder.price = 0.05
    ladder.save(tmp_path)
    again = load_router(tmp_path)
    assert isinstance(again, Ladder)
    assert (again.actions, again.price, again.unit) == (ladder.actions, 0.05, "retrievals")
    assert again.costs.tolist() == ladder.costs.tolist()
    for question, said in (("What is 41 plus 1?", "42"), ("Who led team 77?", "I do not know")):
        direct = Generation(said)
        assert again.decide_on(question, direct) == ladder.decide_on(question, direct)
        answers = {"direct": CandidateAnswer(said), "single": CandidateAnswer("Ada")}
        assert again.decide_after(question, answers) == ladder.decide_after(question, answers)
        assert again.judge(question, answers) == ladder.judge(question, answers)


def test_another_model_or_embedder_is_refused(tmp_path: Path):
    stamped = [replace(each, stamp=Stamp(model="m")) for each in RECORDS[::8]]
    Ladder.fit(stamped).save(tmp_path)
    with pytest.raises(StampMismatch, match="this ladder router was made with the model 'm', no"):
        load_router(tmp_path, model=ScriptedModel(name="other"))
    forced = load_router(tmp_path, model=ScriptedModel(["7"], name="other"), force=True)
    assert forced.decide("Who led team 77?").draft == "7"
    AlwaysRetrieve().save(tmp_path)
    with pytest.raises(InputError, match="holds the router 'always', not a ladder"):
        Ladder.load(tmp_path)


@pytest.mark.parametrize("content", [b"{}", b"torn"])
def test_broken_files_are_told(content: bytes, tmp_path: Path):
    Ladder.fit(RECORDS[::8]).save(tmp_path)
    (tmp_path / ARRAYS_FILE).write_bytes(content)
    with pytest.raises(DataError, match="does not belong to the JSON file beside it"):
        load_router(tmp_path)


def spending(n: int = 20) -> list[SelfKnowledge]:
    """Of which every answer says what it took."""
    calls = {"direct": 1, "single": 1, "loop": 3}
    return [
        SelfKnowledge(
            f"Q{k}?",
            (),
            {
                action: Outcome("a", float(k % 2), usage=Usage(900 * each, 100 * each, each))
                for action, each in calls.items()
            },
        )
        for k in range(n)
    ]


@pytest.mark.parametrize(
    ("unit", "costs"),
    [("calls", [1.0, 2.0, 4.0]), ("tokens", [1.0, 2.0, 4.0]), ("usd", [0.002, 0.004, 0.008])],
)
def test_costs_are_counted_in_each_unit_with_the_direct_answer(unit: CostUnit, costs: list[float]):
    found = Ladder.fit(spending(), unit=unit, token_price=Price(2.0, 2.0))
    assert found.costs.tolist() == pytest.approx(costs)
    assert found.unit == unit


def test_tokens_are_the_unit_where_they_are_recorded():
    assert Ladder.fit(spending()).unit == "tokens"


def test_a_price_or_a_budget_is_kept_to():
    assert Ladder.fit(RECORDS, price=0.05).price == 0.05
    assert Ladder.fit(RECORDS[::4], budget=0.0).price > 0
    with pytest.raises(InputError, match="give one of a retrieval rate, a price and a budget"):
        Ladder.fit(RECORDS, price=0.05, budget=1.0)


def test_where_it_stands_on_the_last_rung_it_stays(ladder: Ladder):
    answers = {action: CandidateAnswer("Ada") for action in ladder.actions}
    decision = ladder.decide_after("Who led team 77?", answers)
    assert (decision.retrieve, decision.score) == (True, None)
    assert ladder.judge("Who led team 77?", {"direct": CandidateAnswer("7")}).served == "direct"
    with pytest.raises(InputError, match="an answer is missing: direct"):
        ladder.judge("Who?", {"single": CandidateAnswer("Ada")})


def test_nothing_to_learn_from_is_named():
    with pytest.raises(InputError, match="none were given"):
        Ladder.fit([])


def test_its_costs_are_those_on_record(ladder: Ladder):
    assert ladder.costs.tolist() == ActionTable.of(RECORDS).costs.mean(axis=0).tolist()
