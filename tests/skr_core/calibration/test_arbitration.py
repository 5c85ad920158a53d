"""Whether an arbiter pays: what calibration says of it, and what it leaves in the folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skr_core.arbiters import Arbiter, SeenAnswer
from skr_core.calibration import Calibration, calibrate
from skr_core.routers.saving import holds_arbiter
from skr_core.self_knowledge import SelfKnowledge

ROUTERS = ["combined-question"]


def mixed(n: int = 60, *, shuffled: bool = False) -> list[SelfKnowledge]:
    """Half of the sums come out right without retrieval, and half of the teams with it."""
    rng = np.random.default_rng(0)
    made = [
        SelfKnowledge.of(
            f"What is {number} plus 1?" if sums else f"Who led team {number}?",
            direct=(f"{number + 1}", 1) if sums else ("7", 0),
            single=("Adam", 0) if sums else (f"Ada {number}", 1),
        )
        for number in range(n)
        for sums in (True, False)
    ]
    if not shuffled:
        return made
    others = rng.permutation(len(made))
    return [
        SelfKnowledge.of(
            each.question,
            direct=(each.direct.answer, made[other].direct.score),
            single=(each.retrieved.answer, made[other].retrieved.score),
        )
        for each, other in zip(made, others, strict=True)
    ]


@pytest.fixture(scope="module")
def paying() -> Calibration:
    return calibrate(mixed(), routers=ROUTERS)


def test_where_it_pays_it_is_saved_beside_the_router(paying: Calibration, tmp_path: Path):
    paying.save(tmp_path)
    answers = {"direct": SeenAnswer("42"), "single": SeenAnswer("Adam")}
    assert Arbiter.load(tmp_path).judge("What is 41 plus 1?", answers).served == "direct"


def test_one_sentence_has_its_figures_and_its_cost(paying: Calibration):
    found = paying.arbitration
    assert found is not None
    assert found.pays
    assert (found.constant, found.always.mean) == ("direct", 0.5)
    assert found.served.mean >= 0.95
    assert found.sentence.startswith("An arbiter pays on these 120 records: ")
    assert "in place of 0.500" in found.sentence
    assert "one direct call" in found.sentence
    assert found.sentence.count(". ") == 0


@pytest.mark.parametrize(
    ("records", "measured"),
    [
        (mixed(shuffled=True), True),
        (mixed(10), False),
        ([SelfKnowledge.of(f"Q{k}?", direct=("", 0), single=("b", 1)) for k in range(60)], True),
    ],
    ids=["shuffled", "20 records", "one class"],
)
def test_where_it_does_not_pay_there_is_none(
    records: list[SelfKnowledge], measured: bool, paying: Calibration, tmp_path: Path
):
    found = calibrate(records, routers=ROUTERS)
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
