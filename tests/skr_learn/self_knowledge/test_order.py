"""Records in one order, whatever the order in which they were written."""

from __future__ import annotations

import numpy as np

from skr_learn import SelfKnowledge
from skr_learn.self_knowledge.order import in_fixed_order

ANSWERS = {"direct": ("", 0.0), "single": ("", 1.0)}


def test_any_order_of_the_same_records_becomes_one():
    records = [SelfKnowledge.of(f"Who led team {number}?", **ANSWERS) for number in range(50)]
    once = in_fixed_order(records)
    assert in_fixed_order(reversed(records)) == once
    assert once != records
    assert {each.question for each in once} == {each.question for each in records}


def test_records_of_one_question_stand_together_in_the_order_of_what_they_hold():
    asked = ["Who?", "who? ", "Who?", "When?"]
    records = [
        SelfKnowledge.of(each, direct=(f"Cy {number}", 0.0), single=("Ada", 1.0))
        for number, each in enumerate(asked)
    ]
    once = in_fixed_order(records)
    for seed in range(5):
        drawn = np.random.default_rng(seed).permutation(len(records))
        assert in_fixed_order([records[place] for place in drawn]) == once
    assert "When?" in (once[0].question, once[-1].question)


def test_another_answer_moves_no_record():
    records = [SelfKnowledge.of(f"Who led team {number}?", **ANSWERS) for number in range(50)]
    others = [
        SelfKnowledge.of(each.question, direct=("Cy", 1.0), single=("", 0.0)) for each in records
    ]
    assert [each.question for each in in_fixed_order(others)] == [
        each.question for each in in_fixed_order(records)
    ]


def test_what_no_file_can_hold_is_put_in_order_too():
    odd = SelfKnowledge.of("Who\ud800?", extra={"said": {"\ud800"}}, **ANSWERS)
    assert in_fixed_order([odd, odd]) == [odd, odd]
