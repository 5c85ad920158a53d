"""Whether a learned reflector pays on records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skr_learn import SelfKnowledge
from skr_learn.calibration.reflection import ReflectorWorth, fit_reflector
from skr_learn.self_knowledge.records import Outcome
from tests.skr_learn.reflectors.test_learned import record


def test_it_pays_where_made_up_answers_stand_in_no_reference():
    reflector, worth = fit_reflector([record(number) for number in range(120)])
    # Nothing on record refuses, so that every other answer was taken that is wrong.
    assert (worth.right.mean, worth.said.mean) == (0.5, 0.5)
    assert worth.learned.mean > 0.9
    assert worth.pays
    assert worth.sentence.startswith("A learned reflector pays on these 120 records")
    assert reflector.name.startswith("learned:")


def test_it_does_not_pay_where_the_model_says_so_itself():
    records = []
    for number in range(120):
        made_up = number % 2
        each = record(number)
        reason = "max_rounds" if made_up else "sufficient"
        told = replace(each.outcomes["single"], stop_reason=reason)
        records.append(replace(each, outcomes={**each.outcomes, "single": told}))
    worth = fit_reflector(records)[1]
    assert worth.said.mean == 1.0
    assert not worth.pays
    assert "does not pay" in worth.sentence


@pytest.mark.parametrize(
    ("answer", "stop_reason", "rightly"),
    [("Ada.", "", 1.0), ("I don't know.", "", 0.0), ("Ada.", "max_rounds", 0.0)],
)
def test_a_refusal_and_a_loop_that_ended_otherwise_held_a_right_answer_insufficient(
    answer: str, stop_reason: str, rightly: float
):
    outcomes = {"direct": Outcome("", 0), "single": Outcome(answer, 1, stop_reason=stop_reason)}
    worth = ReflectorWorth.of([SelfKnowledge("Who?", (), outcomes)], np.ones(1), 0.5)
    assert worth.said.mean == rightly
