"""Reflectors beside each other on drafts of which it is known whether they suffice."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import orjson
import pytest

from lab.tests.experiments.test_knowledge import QUESTIONS
from skr_app.extractive import LexicalEntailment
from skr_app.report import plot
from skr_core import Generation, Question, Reference
from skr_core.candidates import Standing
from skr_core.errors import DataError, InputError
from skr_core.files import KeyedLog
from skr_core.flow import arun, run
from skr_core.prompts import REFUSAL
from skr_core.reflectors import EntailmentReflector, JudgeReflector
from skr_core.testing import BrokenModel, ScriptedModel
from skr_lab.experiments.drafts import (
    Draft,
    complete_and_partial,
    draft_of,
    falls_short,
    made_drafts,
    read_drafts,
)
from skr_lab.experiments.knowledge import answer_given
from skr_lab.experiments.reflection import (
    Verdict,
    learned,
    reflect_on,
    reflection_result,
    stated,
)
from skr_learn import Record
from skr_learn.evaluate import Judged, ask_all, judge_all
from skr_learn.records import Outcome

PARIS = Reference.of("Paris is the capital of France.")


def drafted(reply: str, *, insufficient: bool) -> Draft:
    question = Question("1", "What is the capital of France?", ("Paris",))
    answer = run(answer_given(ScriptedModel([reply]), question, [PARIS], may_refuse=True))
    return draft_of(question, answer, insufficient=insufficient)


CITED = drafted("SUFFICIENT\nParis is the capital of France [1].", insufficient=False)
BLUFF = drafted("SUFFICIENT\nIt is Lyon, by all accounts [1].", insufficient=True)
UNCITED = drafted("SUFFICIENT\nIt is Lyon.", insufficient=True)
REFUSED = drafted(REFUSAL, insufficient=True)
ASKED_FOR_MORE = drafted("INSUFFICIENT\nIt is old [1].\nSearch: Paris", insufficient=False)
DRAFTS = [CITED, BLUFF, UNCITED, REFUSED, ASKED_FOR_MORE]


def insufficient(verdicts: list[Verdict]) -> list[bool | None]:
    return [each.insufficient for each in verdicts]


def test_a_query_that_names_the_answer_is_no_answer():
    """What is found in a store is judged by the answer, and the reply asks for more as well."""
    asked = drafted("INSUFFICIENT\nIt is old [1].\nSearch: Paris capital", insufficient=True).answer
    bare = drafted("INSUFFICIENT\nSearch: Paris", insufficient=True).answer
    stated = drafted("SUFFICIENT\nIt is Paris [1].", insufficient=False).answer
    assert [each.text for each in (asked, bare, stated)] == [
        "It is old [1].", REFUSAL, "It is Paris [1].",
    ]  # fmt: skip
    question = Question("1", "What is the capital of France?", ("Paris",))
    assert [falls_short(Judged(question, each, {})) for each in (asked, bare, stated)] == [
        True, True, False,
    ]  # fmt: skip
    assert (asked.stop_reason, stated.stop_reason) == ("max_rounds", "sufficient")


def test_what_the_replies_say_themselves():
    assert insufficient(stated(DRAFTS)) == [False, False, True, True, True]


def test_a_reflector_sees_what_the_loop_hands_it_and_a_refusal_is_not_judged():
    model = ScriptedModel(["sufficient", "insufficient: a source"])
    held = run(reflect_on(JudgeReflector(model), "judge", DRAFTS, KeyedLog(None), concurrency=1))
    assert insufficient(held) == [False, True, True, True, True]
    assert [each.calls for each in held] == [1, 1, 1, 0, 0]
    assert "Draft answer: Paris is the capital" in model.prompts[0].text  # without the verdict
    entailed = EntailmentReflector(LexicalEntailment())
    both = [
        run(reflect_on(entailed, "lexical", DRAFTS, KeyedLog(None))),
        asyncio.run(arun(reflect_on(entailed, "lexical", DRAFTS, KeyedLog(None)))),
    ]
    assert both[0] == both[1]
    assert insufficient(both[0]) == [False, True, True, True, True]


def test_failures_are_counted_and_asked_again(tmp_path: Path):
    told: list[int] = []
    with KeyedLog(tmp_path / "log.jsonl") as log:
        failed = run(reflect_on(JudgeReflector(BrokenModel()), "judge", DRAFTS, log))
        assert insufficient(failed) == [None, None, None, True, True]
        model = ScriptedModel(["insufficient: x"])
        run(
            reflect_on(
                JudgeReflector(model),
                "judge",
                DRAFTS,
                log,
                on_progress=lambda n, of: told.append(n),
            )
        )
    assert told == [1, 2, 3, 4, 5]
    with KeyedLog(tmp_path / "log.jsonl") as log:
        again = run(reflect_on(JudgeReflector(BrokenModel()), "judge", DRAFTS, log))
        other = run(reflect_on(JudgeReflector(BrokenModel()), "another", DRAFTS, log))
    assert insufficient(again) == [True] * 5
    assert insufficient(other)[:3] == [None] * 3

    result, judged = reflection_result(DRAFTS, {"judge": failed}, {}, n_failed=2)
    row = result.rows[-1].cells["reflection_accuracy"]
    assert (row.n, row.n_failed) == (1, 5)  # two drafts of one question
    assert judged["judge"][0].values["reflection_accuracy"] is None


def test_the_table():
    result, judged = reflection_result(
        DRAFTS,
        {"refusal": stated(DRAFTS), "all": [Verdict(each.insufficient) for each in DRAFTS]},
        {},
    )
    rows = {row.name: row.cells for row in result.rows}
    assert list(rows) == ["always sufficient", "always insufficient", "refusal", "all"]
    accuracy = {name: cells["reflection_accuracy"].mean for name, cells in rows.items()}
    assert accuracy == {
        "always sufficient": 0.4, "always insufficient": 0.6, "refusal": 0.6, "all": 1.0,
    }  # fmt: skip
    assert rows["refusal"]["reflection_f1"].mean == pytest.approx(2 * 2 / (3 + 3))
    assert rows["refusal"]["insufficient_found"].mean == pytest.approx(2 / 3)
    assert rows["refusal"]["sufficient_sent_back"].mean == 0.5
    assert [each.against for each in result.comparisons] == ["always insufficient"] * 2
    assert result.comparisons[1].cells["reflection_accuracy"].mean == pytest.approx(0.4)
    assert plot(result).startswith(b"\x89PNG")
    assert judged["refusal"][0].answer is CITED.answer


def learnable(n: int, *, made_up: bool) -> Draft:
    record = Record(
        f"Who led team {n}?",
        (),
        {
            "direct": Outcome("", 0.0),
            "single": Outcome(
                f"Ada {n}.", float(not made_up), grounded=True, standing=Standing(own=1.0 - made_up)
            ),
        },
    )
    said = {"refused": False, "accepted": True}
    return Draft(Question(str(n), record.question, ()), f"Ada {n}.", (), made_up, record, **said)


def test_what_can_be_learnt_is_learnt():
    drafts = [learnable(n, made_up=bool(n % 2)) for n in range(80)]
    hits = [
        each.insufficient == draft.insufficient
        for each, draft in zip(learned(drafts), drafts, strict=True)
    ]
    assert sum(hits) / len(hits) > 0.95


def test_nothing_is_learnt_from_the_draft_that_is_judged():
    """Labels by lot: whoever is right about them has seen them."""
    lots = random.Random(0)
    drafts = [learnable(n, made_up=False) for n in range(200)]
    labelled = []
    for draft in drafts:
        lacks = lots.random() < 0.5
        outcomes = dict(draft.record.outcomes)
        outcomes["single"] = Outcome(draft.text, float(not lacks), grounded=True)
        record = Record(draft.record.question, (), outcomes)
        labelled.append(
            Draft(draft.question, draft.text, (), lacks, record, refused=False, accepted=True)
        )
    hits = [
        each.insufficient == draft.insufficient
        for each, draft in zip(learned(labelled), labelled, strict=True)
    ]
    assert sum(hits) / len(hits) < 0.6


class Aware:
    """Answers where both references are there."""

    name = "aware"

    def generate(self, prompt, *, on_token=None):
        return Generation("It is so [1]." if len(prompt.references) == 2 else REFUSAL)

    async def agenerate(self, prompt, *, on_token=None):
        return self.generate(prompt)


@pytest.mark.parametrize(
    ("model", "accuracy", "f1"), [(Aware(), 1.0, 1.0), (ScriptedModel(["It is so [1]."]), 0.5, 0.0)]
)
def test_a_model_that_sees_it_all_and_one_that_sees_nothing(model, accuracy: float, f1: float):
    judged = {
        system.name: run(judge_all(run(ask_all(system, QUESTIONS, KeyedLog(None)))))
        for system in complete_and_partial(model)
    }
    drafts, failed = made_drafts(judged, lambda name, _: name == "partial")
    assert (len(drafts), failed) == (2 * len(QUESTIONS), 0)
    assert sum(each.insufficient for each in drafts) == len(QUESTIONS)
    result, _ = reflection_result(drafts, {"refusal": stated(drafts)}, {})
    cells = result.rows[-1].cells
    assert (cells["reflection_accuracy"].mean, cells["reflection_f1"].mean) == (accuracy, f1)


def write(path: Path, *rows: dict) -> Path:
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    return path


def test_recorded_answers(tmp_path: Path):
    pair = {"question": "Who?", "gold": ["Ada"], "answer_direct": "", "correct_direct": 0}
    retrieved = {"answer_retrieved": "Ada", "correct_retrieved": 1, "passages": [{"text": "Ada."}]}
    several = {"extra": {"answer_multistep": "I do not know.", "correct_multistep": 0}}
    labelled = {"question": "Who?", "reply": "It was Ada.", "label": "correct", "setting": "oracle"}
    path = write(
        tmp_path / "a.jsonl",
        pair | retrieved,
        pair | retrieved | several,
        labelled,
        labelled | {"reply": REFUSAL, "label": "refusal"},
        labelled | {"setting": "closed_book"},
    )
    one, loop, right, refusal = read_drafts(path)
    assert (one.text, one.insufficient, len(one.references)) == ("Ada", False, 1)
    # A loop's answer rests on more passages than those of its first search.
    assert (loop.text, loop.insufficient, loop.references) == ("I do not know.", True, ())
    assert (right.insufficient, right.accepted) == (False, True)
    assert (refusal.insufficient, refusal.accepted, refusal.refused) == (True, False, True)
    assert len(read_drafts(path, limit=2)) == 2


def test_files_that_hold_something_else(tmp_path: Path):
    with pytest.raises(InputError, match="no file"):
        read_drafts(tmp_path / "absent.jsonl")
    broken = write(tmp_path / "b.jsonl", {"question": "Who?", "reply": "Ada."})
    with pytest.raises(DataError, match='"label"'):
        read_drafts(broken)
    with pytest.raises(DataError, match="no recorded answer with references"):
        read_drafts(broken, skip_bad=True)
