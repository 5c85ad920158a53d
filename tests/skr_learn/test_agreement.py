"""A judge beside a person: of marked answers, and of published ones that people have labelled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skr_core import Question
from skr_core.errors import DataError, InputError
from skr_core.testing import ScriptedModel
from skr_learn.agreement import Marked, aagreement, agreement, read_marked
from skr_learn.scoring import Judge

WHO = Question("1", "Who keeps it?", ("the harbour board",))
MARKED = [Marked(WHO, f"The board, number {n}.", n % 4 != 0) for n in range(20)]


def judge(wrong: set[int]) -> Judge:
    """Says of each answer what the person said, but for those of some numbers."""
    numbers = {str(n): (n % 4 != 0) is not (n in wrong) for n in range(20)}

    class Says(ScriptedModel):
        def generate(self, prompt, *, on_token=None):  # type: ignore[no-untyped-def]
            number = prompt.text.partition("number ")[2].partition(".")[0]
            return ScriptedModel(["right" if numbers[number] else "wrong"]).generate(prompt)

    return Judge(Says(), rubric="Is it right?")


async def test_twenty_marked_answers():
    found = agreement(judge({0, 1}), MARKED)
    assert found == await aagreement(judge({0, 1}), MARKED)
    assert (found.n, found.share) == (20, 0.9)
    assert [each.reply for each in found.disagreed] == [MARKED[0].reply, MARKED[1].reply]
    # Wilson's interval of 18 of 20, and kappa by hand: chance agrees on 0.75² + 0.25² = 0.625.
    assert (found.low, found.high) == (
        pytest.approx(0.699, abs=1e-3),
        pytest.approx(0.972, abs=1e-3),
    )
    assert found.kappa == pytest.approx((0.9 - 0.625) / (1 - 0.625))
    assert "18 of 20 marked answers, 90% (70% to 97%), Cohen's kappa 0.73" in found.sentence


def test_full_agreement_is_no_certainty_and_one_sided_marks_have_no_kappa():
    found = agreement(judge(set()), MARKED)
    assert (found.share, found.kappa, found.low < 0.85) == (1.0, 1.0, True)
    assert agreement(judge(set()), MARKED[1:4]).kappa is None
    with pytest.raises(InputError, match="no answer is marked"):
        agreement("contains", [])


def test_marks_are_read_of_a_file(tmp_path: Path):
    path = tmp_path / "marked.jsonl"
    row = {"question": "Who?", "answers": ["Ada"], "reply": "Ada L.", "right": True}
    path.write_text(json.dumps(row))
    assert agreement("contains", read_marked(path)).share == 1.0
    for broken in ({"right": "yes"}, {"reply": None}, {"answers": []}):
        path.write_text(json.dumps(row | broken))
        with pytest.raises(DataError, match="a marked answer has question, answers"):
            read_marked(path)
