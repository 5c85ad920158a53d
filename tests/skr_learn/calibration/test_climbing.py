"""Whether a ladder pays: what calibration says of it, and what it leaves in the folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skr_core import CandidateAnswer, load_router
from skr_core.routers.saving import holds_arbiter
from skr_learn import Calibration, Ladder, SelfKnowledge, calibrate
from skr_learn.arbiters.rungs import Climb
from skr_learn.calibration.climbing import Alone, Climbing
from skr_learn.learning import ActionTable
from skr_learn.learning.rule import Aim
from skr_learn.self_knowledge.order import in_fixed_order
from skr_learn.self_knowledge.records import Outcome

pytestmark = pytest.mark.usefixtures("few_trees")

ROUTERS = ["combined-question"]
THREE = ("direct", "single", "loop")


def found_late(n: int = 300, *, shuffled: int | None = None) -> list[SelfKnowledge]:
    """Teams whose leader two rounds of five find at once and lose again, and the loop finds else.

    The answers tell which, and the questions do not.

    Args:
        n: How many.
        shuffled: Seed by which the scores are dealt out anew; None leaves them right.
    """
    at_once = np.random.default_rng(0).permutation(np.arange(n) % 5 < 2)
    right = at_once if shuffled is None else np.random.default_rng(shuffled).permutation(at_once)
    return [
        SelfKnowledge(
            f"Who led team {number}?",
            (),
            {
                "direct": Outcome("Somebody.", 0.0, retrievals=0.0),
                "single": Outcome(
                    f"Ada {number}" if early else "The Dead Sea", float(score), retrievals=1.0
                ),
                "loop": Outcome(
                    "In the books" if early else f"Bo {number}", float(not score), retrievals=3.0
                ),
            },
        )
        for number, (early, score) in enumerate(zip(at_once, right, strict=True))
    ]


@pytest.fixture(scope="module")
def paying() -> Calibration:
    return calibrate(found_late(), routers=ROUTERS)


def test_where_it_pays_it_is_the_router(paying: Calibration, tmp_path: Path):
    assert isinstance(paying.router, Ladder)
    assert paying.arbiter is None
    assert paying.arbitration is not None
    assert paying.arbitration.pays  # and the ladder is worth more than that
    paying.save(tmp_path)
    assert not holds_arbiter(tmp_path)
    ladder = load_router(tmp_path)
    assert isinstance(ladder, Ladder)
    answers = {"direct": CandidateAnswer("Somebody."), "single": CandidateAnswer("Ada 77")}
    assert ladder.decide_after("Who led team 77?", answers).max_rounds == 1
    later = {"direct": CandidateAnswer("Somebody."), "single": CandidateAnswer("The Dead Sea")}
    assert ladder.decide_after("Who led team 77?", later).max_rounds is None


def test_it_is_what_is_learnt_without_an_arbiter_before_it(paying: Calibration):
    apart = Ladder.fit(in_fixed_order(found_late()))
    for mine, theirs in zip(paying.router._rungs, apart._rungs, strict=True):
        arrays = theirs.arrays()
        assert mine.arrays().keys() == arrays.keys()
        for name, array in mine.arrays().items():
            np.testing.assert_array_equal(array, arrays[name], name)


def test_one_sentence_has_its_figures(paying: Calibration):
    found = paying.climbing
    assert found is not None
    assert found.served.mean >= found.alone.mean - 0.01
    assert found.alone_cost == pytest.approx(3.0)
    assert found.served_cost == pytest.approx(0.4 * 1 + 0.6 * 3, abs=0.1)
    assert found.shares["single"] == pytest.approx(0.4, abs=0.05)
    assert found.sentence.startswith("A ladder pays on these 300 records")
    assert "retrievals a question in place of" in found.sentence
    assert "3.00" in found.sentence
    assert found.sentence.count(". ") == 0


@pytest.mark.parametrize(
    "given",
    [
        found_late(150, shuffled=1),
        found_late(150, shuffled=2),
        found_late(20),
        [
            SelfKnowledge.of(f"Q{k}?", direct=("", 0), single=("b", 1), loop=("b", 1))
            for k in range(60)
        ],
    ],
    ids=["shuffled", "shuffled again", "20 records", "one class"],
)
def test_where_it_does_not_pay_there_is_none(given: list[SelfKnowledge]):
    found = calibrate(given, routers=ROUTERS)
    assert not isinstance(found.router, Ladder)
    if found.climbing is not None:
        assert "does not pay" in found.climbing.sentence


@pytest.mark.parametrize("wanted", [{"arbiter": False}, {"actions": ("direct", "loop")},
                                    {"retrieval_rate": 0.5}])  # fmt: skip
def test_it_is_not_looked_for_where_there_is_nothing_to_climb(wanted: dict[str, object]):
    found = calibrate(found_late(60), routers=ROUTERS, **wanted)  # type: ignore[arg-type]
    assert found.climbing is None


def climb_of(*, price: float | None = None, budget: float | None = None) -> Climbing:
    """Half need the loop, which always costs 3 and is always right."""
    needs = np.arange(400) % 2 == 0
    scores = np.column_stack([np.zeros(400), ~needs, np.ones(400)]).astype(float)
    table = ActionTable(THREE, scores, np.tile([0.0, 1.0, 3.0], (400, 1)))
    expected = [np.tile([0.0, 0.5, 1.0], (400, 1)), scores[:, 1:], scores[:, 2:]]
    served = [np.full(400, place) for place in range(3)]
    climb = Climb(expected, served, table.costs.mean(axis=0))
    always = Alone(np.full(400, 2), scores[:, 2], table.costs[:, 2])
    return Climbing.of(climb, table, always, Aim(price=price, budget=budget))


def test_it_saves_what_loses_no_accuracy():
    found = climb_of()
    assert (found.served.mean, found.served_cost, found.pays) == (1.0, 2.0, True)


def test_a_hair_s_breadth_is_not_worth_another_router():
    scores, costs = np.ones((400, 3)), np.tile([0.0, 2.9, 3.0], (400, 1))
    scores[:, 0] = 0.0
    table = ActionTable(THREE, scores, costs)
    expected = [scores, scores[:, 1:], scores[:, 2:]]
    climb = Climb(expected, [np.full(400, place) for place in range(3)], costs.mean(axis=0))
    always = Alone(np.full(400, 2), scores[:, 2], costs[:, 2])
    found = Climbing.of(climb, table, always, Aim())
    assert (found.served_cost, found.pays) == (pytest.approx(2.9), False)


def test_a_price_is_what_it_is_paid_by():
    found = climb_of(price=0.1)
    assert (found.served_cost, found.gain.mean) == (2.0, pytest.approx(0.1))
    assert found.pays
    assert not climb_of(price=0.0).pays  # cost is free, and nothing is gained


def test_a_budget_is_kept():
    found = climb_of(budget=1.0)
    assert found.served_cost <= 1.0
    assert not found.pays


def test_the_direct_answer_is_paid_for_once():
    costs = np.tile([1.0, 2.0, 4.0], (4, 1))
    table = ActionTable(THREE, np.ones((4, 3)), costs, "calls")
    alone = Alone(np.array([0, 1, 1, 2]), np.ones(4), np.array([1.0, 2.0, 2.0, 4.0]))
    by_arbiter = alone.with_arbiter(np.ones(4), table.costs[:, 0])
    assert by_arbiter.costs.tolist() == [1.0, 3.0, 3.0, 5.0]
    drafted = replace(alone, drafted=True).with_arbiter(np.ones(4), table.costs[:, 0])
    assert drafted.costs.tolist() == alone.costs.tolist()
