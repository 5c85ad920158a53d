"""A judge beside a person: of marked answers, and of published ones that people have labelled."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from skr_core import Question
from skr_core.errors import DataError, InputError
from skr_core.files import read_jsonl
from skr_core.replies.refusals import is_refusal
from skr_core.testing import ScriptedModel
from skr_core.types import Prompt
from skr_learn.agreement import Marked, aagreement, agreement, read_marked
from skr_learn.scoring import Judge, proposed_metric

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
    assert (round(found.low, 3), round(found.high, 3)) == (0.699, 0.972)
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


def figures(text: str) -> set[str]:
    """The numbers of a text that are no years."""
    found = (each.replace(",", "") for each in re.findall(r"\d[\d,]*(?:\.\d+)?", text))
    return {each for each in found if not re.fullmatch(r"(19|20)\d\d", each)}


def same_figure(prompt: Prompt) -> str:
    """What a judge would say who looks for a figure, or else a yes or no, of the right answer."""
    gold, _, rest = prompt.text.partition("Right answers: ")[2].partition("\nGiven answer: ")
    said = rest.partition("\n\n")[0]
    shared = (
        figures(gold) & figures(said) if figures(gold) else gold.split()[:1] == said.split()[:1]
    )
    return "right" if shared and not is_refusal(said) else "wrong"


def test_a_script_in_the_judge_s_place_agrees_with_people_more_than_texts_do(data_dir: Path):
    """Published replies that people have labelled, beside a right one of another model."""
    rows = [row for _, row in read_jsonl(data_dir / "replies_financebench_gpt4.jsonl.gz")]
    newer = {"setting": "oracle", "model": "gpt-4-1106-preview"}
    from_newer = [newer.items() <= row.items() for row in rows]
    gold = {
        row["question"]: row["reply"]
        for row, is_gold in zip(rows, from_newer, strict=True)
        if is_gold and row["label"] == "correct"
    }
    marked = [
        Marked(
            Question(row["id"], row["question"], (gold[row["question"]],)),
            row["reply"],
            row["label"] == "correct",
        )
        for row, is_gold in zip(rows, from_newer, strict=True)
        if not is_gold and row["question"] in gold
    ]
    assert (len(marked), sum(each.right for each in marked)) == (483, 179)
    assert proposed_metric([each.question for each in marked])[0] == "f1"

    class Script(ScriptedModel):
        def generate(self, prompt, *, on_token=None):  # type: ignore[no-untyped-def]
            return ScriptedModel([same_figure(prompt)]).generate(prompt)

    judge = Judge(Script(), rubric="Does it give the figure of the right answer?")
    found = {name: agreement(name, marked) for name in ("contains", "f1")}
    found["judge"] = agreement(judge, marked)
    kappa = {name: each.kappa or 0.0 for name, each in found.items()}
    assert kappa["contains"] < 0.05 < 0.3 < kappa["f1"] < 0.7 < kappa["judge"]
