"""What users say becomes records of one measured side."""

from __future__ import annotations

import pytest

from skr_core import Answer, Decision
from skr_core.errors import InputError
from skr_learn import record_of_feedback


def answer(stop_reason: str) -> Answer:
    retrieved = stop_reason != "known"
    return Answer("Who?", "Ada", (), (), Decision(retrieved), (), stop_reason, {})


@pytest.mark.parametrize(
    ("stop_reason", "right", "benefit"),
    [
        ("known", True, -0.4),
        ("known", False, 0.6),
        ("sufficient", True, 0.4),
        ("sufficient", False, -0.6),
    ],
)
def test_a_right_answer_counts_for_the_way_it_was_made(
    stop_reason: str, right: bool, benefit: float
):
    record = record_of_feedback(answer(stop_reason), right, expected_other=0.6)
    assert record.benefit == pytest.approx(benefit)
    taken, other = ("direct", "loop") if stop_reason == "known" else ("loop", "direct")
    assert record.outcomes[taken].answer == "Ada"
    assert record.outcomes[other].answer == ""
    assert record.extra["imputed"] == other


def test_an_expectation_is_a_share():
    with pytest.raises(InputError, match="expected_other"):
        record_of_feedback(answer("known"), True, expected_other=2)
