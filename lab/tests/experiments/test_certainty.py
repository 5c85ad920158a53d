"""W2R's measures, of a model that is asked and of recorded answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from skr_core import Generation, Question, Usage
from skr_core.errors import DataError, InputError
from skr_core.files import KeyedLog
from skr_core.flow import arun, run
from skr_core.prompts.routing import CHALLENGE, STRATEGIES
from skr_core.testing import ScriptedModel
from skr_lab.experiments.certainty import (
    certainty_result,
    read_strategies,
    strategy_system,
    with_certainty,
)
from skr_lab.experiments.recorded_certainty import read_certainty
from skr_lab.metrics import CERTAINTY_MEASURES, CertaintyScores
from skr_learn import Record, Records
from skr_learn.evaluate import ask_all, judge_all
from skr_learn.records import Statement

QUESTIONS = [Question(f"q{n}", f"Who wrote book {n}?", (f"Author {n}",)) for n in range(8)]
# Certain and right twice, certain and wrong three times, uncertain and right once, and wrong once.
SAID = {
    0: "Author 0. Certain.",
    1: "<think>I am uncertain.</think>Author 1 (certain)",
    2: "Somebody. Certain.",
    3: "Somebody else, I am quite\ncertain.",
    4: "Nobody (certain)",
    5: "Author 5 (uncertain)",
    6: "Ich bin mir nicht sicher.",
    7: "...",
}


class Author:
    """Says what stands in `SAID`, and the same again when asked for what it lacks."""

    name = "author"

    def generate(self, prompt: Any, *, on_token: Any = None) -> Generation:
        said = SAID[int(prompt.question.split("book ")[1][0])]
        if prompt.text == CHALLENGE:
            said = "I apologize. I am uncertain."
        return Generation(said, Usage(prompt_tokens=10, completion_tokens=2, calls=1))

    async def agenerate(self, prompt: Any, *, on_token: Any = None) -> Generation:
        return self.generate(prompt)


def test_the_rates_of_a_model_and_what_could_not_be_judged():
    measured = {}
    for strategy in ("vanilla", "challenge"):
        asked = run(ask_all(strategy_system(Author(), strategy), QUESTIONS, KeyedLog(None)))
        assert asked.n_failed == (1 if strategy == "vanilla" else 0)
        measured[strategy] = with_certainty(run(judge_all(asked)))
    result = certainty_result(measured, {"model": "author"})
    vanilla, challenge = ({k: c.mean for k, c in row.cells.items()} for row in result.rows)
    expected = CertaintyScores(2, 1, 3, 1)
    for name in CERTAINTY_MEASURES:
        assert vanilla[name] == pytest.approx(getattr(expected, name))
    assert {cell.n_failed for cell in result.rows[0].cells.values()} == {1}
    assert vanilla["calls"] == pytest.approx((6 * 1 + 1 * 2) / 7)  # q6 is asked for its answer
    # The answer stays the first one: challenged, nobody is certain and the same three are right.
    assert challenge["unc_rate"] == 1.0
    assert challenge["accuracy"] == pytest.approx(3 / 8)
    [comparison] = result.comparisons
    assert (comparison.cells["unc_rate"].n, comparison.cells["unc_rate"].n_failed) == (7, 1)


async def test_sync_and_async_ask_the_same():
    system = strategy_system(Author(), "punish_explain")
    awaited = await arun(ask_all(system, QUESTIONS, KeyedLog(None)))
    blocking = run(ask_all(system, QUESTIONS, KeyedLog(None)))
    assert awaited.asked == blocking.asked
    assert "states no certainty, asked twice" in awaited.last_failure


def test_a_model_that_is_certain_of_nothing_at_all_has_failed():
    system = strategy_system(ScriptedModel(["Certain."]), "vanilla")
    asked = run(ask_all(system, QUESTIONS[:1], KeyedLog(None)))
    assert "gives no answer" in asked.last_failure


def test_names_of_strategies():
    assert read_strategies(["all"]) == list(STRATEGIES)
    assert read_strategies(["Punish+Explain", "step-by-step", "vanilla", "vanilla"]) == [
        "punish_explain",
        "think_step_by_step",
        "vanilla",
    ]
    for names in (["shout"], [""], []):
        with pytest.raises(InputError, match="vanilla"):
            read_strategies(names)


def pair(n: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"r{n}",
        "question": f"Who {n}?",
        "model": "m",
        "gold": ["Ada"],
        "answer_direct": "Ada" if n % 2 else "Bob",
        "correct_direct": bool(n % 2),
        "answer_retrieved": "Ada",
        "correct_retrieved": True,
        **fields,
    }


def written(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    path = tmp_path / "recorded.jsonl"
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def test_every_form_of_a_recorded_certainty(tmp_path: Path):
    rows = [
        pair(0, extra={"giveup": True}),
        pair(1, extra={"giveup": "False"}),
        pair(2, extra={"confidence_1_to_5": 3}),
        pair(3, extra={"confidence_1_to_5": 4}),
        pair(4, confidence_raw="Bob (uncertain)"),
        pair(5, confidence_raw="Thank you for understanding."),
        pair(6),
    ]
    read = read_certainty(written(tmp_path, rows))
    row = read.result({}).rows[0].cells
    assert (row["unc_rate"].mean, row["unc_rate"].n, row["unc_rate"].n_failed) == (0.6, 5, 2)
    assert row["alignment"].mean == 1.0
    assert (row["static"].mean, row["static"].n) == (1.0, 7)
    assert (row["adaptive"].mean, row["adaptive"].n_failed) == (1.0, 2)
    assert [note for note in read.notes if "1 of 7 rows state no certainty" in note]
    assert [note for note in read.notes if "1 of 7 rows state a certainty that cannot" in note]
    stricter = read_certainty(written(tmp_path, rows), certain_from=5).groups["m"]
    assert [each.values["unc_rate"] for each in stricter] == [1, 0, 1, 1, 1, None, None]


def test_what_a_file_lacks_is_said(tmp_path: Path):
    said = {"extra": {"giveup": False}}
    rows = [
        pair(0, model="a", answer_retrieved=None, correct_retrieved=None, **said),
        pair(1, model="b", correct_direct=None, answer_retrieved=None, correct_retrieved=None)
        | said,
        pair(2, model="b", gold=[], correct_direct=None, extra={"giveup": True}),
    ]
    read = read_certainty(written(tmp_path, rows))
    assert list(read.groups) == ["all", "a", "b"]
    assert read.groups["b"][0].values["accuracy"] == 1.0  # scored by the answer's text
    assert "static" not in read.result({}).measures
    notes = " ".join(read.notes)
    assert "1 of 3 rows hold no right answer" in notes
    assert "uncertain of 1 of them" in notes
    assert "no answers with retrieval" in notes
    with pytest.raises(InputError, match="no row states a certainty"):
        read_certainty(written(tmp_path, [pair(0)]))
    with pytest.raises(InputError, match="which answer is right"):
        read_certainty(written(tmp_path, rows[2:]))
    bad = written(tmp_path, [pair(0, gold="Ada", **said), pair(1, **said)])
    with pytest.raises(DataError, match=r"1.*gold"):
        read_certainty(bad)
    assert len(read_certainty(bad, skip_bad=True).groups["m"]) == 1


def test_own_records_give_a_row_for_each_way_of_asking(tmp_path: Path):
    def record(n: int) -> Record:
        made = Record.of(f"q{n}?", ["x"], direct=("x", 1.0), single=("y", n % 2))
        said = {
            "confidence:vanilla": Statement(False, usage=Usage(7, 1, calls=1)),
            "confidence:punish_explain": Statement(True, draft="z", draft_score=0.0),
            "prompt:can_answer": Statement(True),
        }
        return Record(made.question, made.gold, made.outcomes, statements=said)

    path = tmp_path / "records.jsonl"
    Records([record(n) for n in range(4)]).write(path)
    rows = {row.name: row.cells for row in read_certainty(path).result({}).rows}
    assert list(rows) == ["recorded, vanilla", "recorded, punish_explain"]
    vanilla, prudent = rows.values()
    assert (vanilla["unc_rate"].mean, vanilla["accuracy"].mean) == (0.0, 1.0)
    assert (vanilla["adaptive"].mean, vanilla["static"].mean) == (1.0, 0.5)
    assert vanilla["prompt_tokens"].mean == 7.0
    assert (prudent["unc_rate"].mean, prudent["alignment"].mean) == (1.0, 1.0)
    assert prudent["adaptive"].mean == 0.5
