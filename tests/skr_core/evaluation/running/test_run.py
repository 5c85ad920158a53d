"""An experiment with a double: order, progress, judging and comparison, in both colours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from skr_core.errors import ModelError
from skr_core.evaluation import Report, Scores, evaluate
from skr_core.evaluation.run import MEASURES
from skr_core.flow import Flow, arun, run
from skr_core.questions import Question
from skr_core.types import Answer, Citation, Decision, Reference, Round, Usage

JAWS = Reference.of("Spielberg directed it.", "Jaws")
SHARK = Reference.of("A fish.", "Shark")


class Oracle:
    """Says the question back, citing the first of two references."""

    def __init__(self, *, failing: str = "") -> None:
        self.failing = failing

    def answer(self, question: str) -> Answer:
        if question == self.failing:
            raise ModelError("broken on purpose")
        return Answer(
            question,
            f"It is {question} [1].",
            (Citation(1, JAWS.id, "", (0, 0)),),
            (JAWS, SHARK),
            Decision(True),
            (Round((question,)), Round((question,))),
            "max_rounds" if question.startswith("q1") else "sufficient",
            {"judge": Usage(100, 5, 2), "self_complete": Usage(10, 1, 1)},
        )

    async def aanswer(self, question: str) -> Answer:
        await asyncio.sleep(0)
        return self.answer(question)


QUESTIONS = [Question(f"{n}", f"q{n}", (f"q{n % 2}",), ("Jaws", "Quint")) for n in range(4)]


def blocking(flow: Flow[Report]) -> Report:
    return run(flow)


def awaited(flow: Flow[Report]) -> Report:
    return asyncio.run(arun(flow))


both = pytest.mark.parametrize("drive", [blocking, awaited])
Drive = Callable[[Flow[Report]], Report]


@both
def test_a_report(drive: Drive):
    report = drive(evaluate(Oracle(), QUESTIONS))
    assert [each.question for each in report.scores] == QUESTIONS
    assert report.scores[0] == Scores(
        QUESTIONS[0],
        title_recall=0.5,
        all_titles=False,
        answer_accuracy=True,
        citation_precision=1.0,
        citation_recall=0.5,
        rounds=2,
        calls=3,
        prompt_tokens=110,
        stop_reason="sufficient",
        token_f1=0.5,
        completion_tokens=6,
    )
    # q0 and q1 are their own gold; q2 and q3 are not theirs.
    assert report.mean("answer_accuracy").mean == 0.5
    assert report.mean("answer_accuracy").n == 4
    assert report.stop_reasons == {"max_rounds": 1, "sufficient": 3}
    assert report.seconds >= 0


@both
def test_every_measure_has_a_mean_and_a_paired_gain(drive: Drive):
    report = drive(evaluate(Oracle(), QUESTIONS))
    for measure in MEASURES:
        known = 0 if measure == "fact_recall" else 4  # no sentence is recorded
        assert report.mean(measure).n == known
        gain = report.gain_over(report, measure)
        assert (gain.mean, gain.low, gain.high) == (0.0, 0.0, 0.0)


@both
def test_a_gain_needs_the_same_questions(drive: Drive):
    one = drive(evaluate(Oracle(), QUESTIONS))
    other = drive(evaluate(Oracle(), QUESTIONS[:2]))
    with pytest.raises(ValueError, match="shorter"):
        one.gain_over(other, "rounds")


@both
def test_progress_reaches_the_end(drive: Drive):
    told: list[tuple[int, int]] = []

    def on_progress(done: int, of: int) -> None:
        told.append((done, of))

    drive(evaluate(Oracle(), QUESTIONS * 10, on_progress=on_progress))
    assert sorted(told) == [(done, 40) for done in range(1, 41)]


@both
def test_an_error_comes_out(drive: Drive):
    with pytest.raises(ModelError):
        drive(evaluate(Oracle(failing="q2"), QUESTIONS))


@both
def test_no_question(drive: Drive):
    report: Any = drive(evaluate(Oracle(), []))
    assert report.scores == ()
    assert report.mean("rounds").n == 0
