"""The order in which records were written changes nothing that is found on them."""

from __future__ import annotations

import numpy as np
import pytest

from skr_learn import SelfKnowledge, calibrate, replay
from skr_learn.calibration.reflection import fit_reflector

pytestmark = pytest.mark.usefixtures("few_trees")


def noisy(n: int = 60) -> list[SelfKnowledge]:
    """Questions of which some are asked twice, and answers that are right by chance."""
    draws = np.random.default_rng(0)
    return [
        SelfKnowledge.of(
            f"Who led team {number % (n - 9)}?" if number % 2 else f"When was {number} founded?",
            direct=(f"Cy {draws.integers(9)}", float(draws.integers(2))),
            single=(f"Ada {draws.integers(9)} [1].", float(draws.integers(2))),
            extra={"half": number % 2},
        )
        for number in range(n)
    ]


def drawn_anew(records: list[SelfKnowledge]) -> list[SelfKnowledge]:
    return [records[place] for place in np.random.default_rng(1).permutation(len(records))]


def test_calibration_finds_the_same_of_routers_and_arbiter():
    records = noisy()
    one, other = (calibrate(each, routers=["benefit"]) for each in (records, drawn_anew(records)))
    assert one.arbitration is not None
    assert (other.curve, other.arbitration) == (one.curve, one.arbitration)


def test_replay_finds_the_same_in_folds_and_on_other_records():
    records = noisy()
    for test in (None, noisy(40)):
        one, other = (
            replay(
                *(each if each is None else order(each) for each in (records, test)),
                routers=["combined-question", "arbiter"],
                by="extra.half",
            ).row()
            for order in (list, drawn_anew)
        )
        assert one == other


def test_a_learned_reflector_is_the_same():
    records = noisy()
    (one, worth), (other, again) = (fit_reflector(each) for each in (records, drawn_anew(records)))
    assert (other.name, again) == (one.name, worth)
