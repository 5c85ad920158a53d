"""Whether an arbiter pays: what calibration says of it, and what it leaves in the folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skr_core import CandidateAnswer
from skr_core.prompts import REFUSAL
from skr_core.routers.saving import holds_arbiter
from skr_learn import Arbiter, Calibration, SelfKnowledge, calibrate, replay
from skr_learn.arbiters.serving import HeldOut
from skr_learn.calibration.arbitration import Arbitration
from tests.skr_learn.routers.facts import records

pytestmark = pytest.mark.usefixtures("few_trees")

ROUTERS = ["combined-question"]


def mixed(n: int = 120, *, shuffled: int | None = None) -> list[SelfKnowledge]:
    """Teams of which three fifths are found: the answers tell which, and the questions do not.

    Args:
        n: How many.
        shuffled: Seed by which the scores are dealt out anew; None leaves them right.
    """
    right = np.random.default_rng(0).permutation(np.arange(n) % 5 < 3)
    scores = right if shuffled is None else np.random.default_rng(shuffled).permutation(right)
    return [
        SelfKnowledge.of(
            f"Who led team {number}?",
            direct=(f"Cy {number}", float(not score)),
            single=(f"Ada {number} [1]." if found else "The Dead Sea [1].", float(score)),
        )
        for number, (found, score) in enumerate(zip(right, scores, strict=True))
    ]


@pytest.fixture(scope="module")
def paying() -> Calibration:
    return calibrate(mixed(), routers=ROUTERS)


def test_where_it_pays_it_is_saved_beside_the_router(paying: Calibration, tmp_path: Path):
    paying.save(tmp_path)
    arbiter, asked = Arbiter.load(tmp_path), "Who led team 77?"
    for said, served in (("The Dead Sea.", "direct"), ("Ada 77.", "single")):
        answers = {"direct": CandidateAnswer("Cy 77"), "single": CandidateAnswer(said)}
        assert arbiter.judge(asked, answers).served == served


def test_one_sentence_has_its_figures_and_its_cost(paying: Calibration):
    found = paying.arbitration
    assert found is not None
    assert found.pays
    assert (found.constant, found.always.mean, found.alone.mean) == ("single", 0.6, 0.6)
    assert found.served.mean >= 0.95
    assert found.sentence.startswith("An arbiter pays on these 120 records: ")
    assert "in place of 0.600" in found.sentence
    assert "one direct call" in found.sentence
    assert found.sentence.count(". ") == 0


@pytest.mark.parametrize(
    ("given", "measured"),
    [
        (mixed(shuffled=1), True),
        (mixed(shuffled=2), True),
        (mixed(20), False),
        ([SelfKnowledge.of(f"Q{k}?", direct=("", 0), single=("b", 1)) for k in range(60)], True),
        (records(30), True),
    ],
    ids=["shuffled", "shuffled again", "20 records", "one class", "the router decides well"],
)
def test_where_it_does_not_pay_there_is_none(
    given: list[SelfKnowledge], measured: bool, paying: Calibration, tmp_path: Path
):
    found = calibrate(given, routers=ROUTERS)
    assert found.arbiter is None
    assert (found.arbitration is not None) is measured
    if found.arbitration is not None:
        assert "does not pay" in found.arbitration.sentence
    paying.save(tmp_path)  # an earlier one does not stay
    found.save(tmp_path)
    assert not holds_arbiter(tmp_path)


def test_it_is_not_looked_for_where_it_is_not_wanted():
    found = calibrate(mixed(), routers=ROUTERS, arbiter=False)
    assert (found.arbiter, found.arbitration) == (None, None)


def test_only_the_answers_at_hand_are_weighed():
    scores = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    taken = np.array([0, 1, 2])
    found = Arbitration.of(HeldOut(scores, scores), ("direct", "single", "loop"), taken)
    assert (found.alone.mean, found.served.mean) == (1 / 3, 2 / 3)
    assert found.routed
    assert "and always the answer of the loop has 1.000" in found.sentence


def refusing(n: int = 60) -> list[SelfKnowledge]:
    """References are in vain for every second question, and the model says so; it knows better."""
    return [
        SelfKnowledge.of(
            f"Who led team {number}?",
            direct=(f"Cy {number}", float(number % 2)),
            single=(f"{REFUSAL}." if number % 2 else f"Ada {number} [1].", float(not number % 2)),
        )
        for number in range(n)
    ]


def test_a_refusal_is_weighed_alike_in_calibration_and_replay():
    given = refusing()
    calibrated = calibrate(given, routers=ROUTERS).arbitration
    replayed = replay(given, routers=["arbiter"]).overall.routers["arbiter"]
    assert calibrated is not None
    assert calibrated.served.mean == replayed.accuracy == 1.0
