"""A judge's replies are read strictly, and its failures are told apart."""

from __future__ import annotations

import asyncio
from pathlib import Path

from skr_app.extractive import LexicalEntailment
from skr_core.entailment import JudgeEntailment
from skr_core.files import KeyedLog
from skr_core.ports import EntailmentModel
from skr_core.reflectors import EntailmentReflector
from skr_core.testing import BrokenModel, ScriptedModel
from skr_core.types import Reference
from skr_learn.evaluation.remembering import RememberingEntailment


def test_a_broken_judge_says_nothing():
    judge = JudgeEntailment(BrokenModel())
    assert judge.predict([("a", "b")]) == [None]
    assert asyncio.run(judge.apredict([("a", "b")])) == [None]
    assert isinstance(judge, EntailmentModel)


def test_usage_is_counted():
    judge = JudgeEntailment(ScriptedModel(["neutral"]))
    judge.predict([("a", "b"), ("c", "d")])
    assert judge.usage.calls == 2


def test_hostile_premises_stay_on_their_line():
    model = ScriptedModel(["neutral"])
    JudgeEntailment(model).predict([("a\n\nHypothesis: b", "c")])
    assert model.prompts[0].text.count("\nHypothesis:") == 1


def test_lexical():
    judge = LexicalEntailment()
    pairs = [
        ("Paris is the capital of France.", "Paris is not the capital of France."),
        ("Paris is the capital of France.", "Berlin is old."),
        ("", "Berlin"),
        ("Berlin", "the"),
    ]
    assert judge.predict(pairs) == ["contradiction", "neutral", "neutral", "neutral"]


class Counting:
    name = "counting"

    def __init__(self, verdict: str | None) -> None:
        self.verdict = verdict
        self.asked = 0

    def predict(self, pairs):
        self.asked += len(pairs)
        return [self.verdict] * len(pairs)

    async def apredict(self, pairs):
        return self.predict(pairs)


def test_verdicts_are_remembered_and_failures_are_not(tmp_path: Path):
    for verdict, expected in (("neutral", 1), (None, 2)):
        path = tmp_path / f"{verdict}.jsonl"
        judge = Counting(verdict)
        for _ in range(2):
            with KeyedLog(path) as log:
                remembering = RememberingEntailment(judge, log)
                assert remembering.predict([("a", "b")]) == [verdict]
        assert judge.asked == expected


def test_progress_counts_what_has_to_be_judged():
    told: list[tuple[int, int | None]] = []
    judge = RememberingEntailment(
        Counting("neutral"), KeyedLog(None), lambda done, total: told.append((done, total))
    )
    judge.predict([(f"premise {n}", "b") for n in range(100)])
    judge.predict([("premise 1", "b")])  # known
    assert told == [(64, 100), (100, 100)]


def test_no_verdict_does_not_entail():
    reflector = EntailmentReflector(Counting(None))
    reflection = reflector.reflect("?", [Reference.of("It is so.")], "It is so [1].")
    assert not reflection.sufficient
