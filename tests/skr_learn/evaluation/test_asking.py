"""Asking: order, progress and actions, in both colours; answers become the values of measures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from skr_core.errors import ModelError
from skr_core.files import KeyedLog
from skr_core.flow import Flow, arun, run
from skr_core.questions import Question
from skr_core.types import Action, Answer, Citation, Decision, Reference, Round, Usage
from skr_learn.evaluation.asking import Answers, System, ask_all
from skr_learn.evaluation.measuring import difference, judge_all, mean
from skr_learn.evaluation.scores import MEASURES, Scores

JAWS = Reference.of("Spielberg directed it.", "Jaws")
SHARK = Reference.of("A fish.", "Shark")


class Oracle:
    """Says the question back, citing the first of two references; notes the actions."""

    def __init__(self, *, failing: str = "") -> None:
        self.failing = failing
        self.actions: set[Action | None] = set()

    def answer(self, question: str, action: Action | None = None) -> Answer:
        self.actions.add(action)
        if question == self.failing:
            raise ModelError("broken on\npurpose")
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

    async def aanswer(self, question: str, action: Action | None = None) -> Answer:
        await asyncio.sleep(0)
        return self.answer(question, action)


QUESTIONS = [Question(f"{n}", f"q{n}", (f"q{n % 2}",), ("Jaws", "Quint")) for n in range(4)]


def blocking(flow: Flow[Answers]) -> Answers:
    return run(flow)


def awaited(flow: Flow[Answers]) -> Answers:
    return asyncio.run(arun(flow))


both = pytest.mark.parametrize("drive", [blocking, awaited])
Drive = Callable[[Flow[Answers]], Answers]


def of(oracle: Oracle) -> System:
    return System.of("oracle", oracle)


@both
def test_answers_stand_in_the_order_of_the_questions(drive: Drive):
    answers = drive(ask_all(of(Oracle()), QUESTIONS, KeyedLog(None)))
    assert [each.question for each in answers.asked] == QUESTIONS
    assert [each.answer.question for each in answers.asked if each.answer] == [
        each.question for each in QUESTIONS
    ]
    assert (answers.system, answers.n_failed, answers.last_failure) == ("oracle", 0, "")
    assert answers.seconds > 0


@both
@pytest.mark.parametrize("action", [None, "direct", "loop"])
def test_the_action_reaches_the_answerer(drive: Drive, action: Action | None):
    oracle = Oracle()
    drive(ask_all(System.of("oracle", oracle, action=action), QUESTIONS, KeyedLog(None)))
    assert oracle.actions == {action}


@both
def test_a_failure_is_counted(drive: Drive):
    answers = drive(ask_all(of(Oracle(failing="q2")), QUESTIONS, KeyedLog(None)))
    assert (answers.n_failed, answers.last_failure) == (1, "broken on purpose")
    assert answers.asked[2].answer is None


@both
def test_progress_reaches_the_end(drive: Drive):
    told: list[tuple[int, int]] = []

    def on_progress(done: int, total: int) -> None:
        told.append((done, total))

    many = [replace(each, id=f"{each.id}/{n}") for each in QUESTIONS for n in range(10)]
    drive(ask_all(of(Oracle()), many, KeyedLog(None), on_progress=on_progress))
    assert sorted(told) == [(done, 40) for done in range(1, 41)]


@both
def test_a_question_that_occurs_twice_is_asked_once(drive: Drive):
    oracle, log = Oracle(), KeyedLog(None)
    again = replace(QUESTIONS[0], gold=("another",))
    answers = drive(ask_all(of(oracle), [*QUESTIONS, again], log))
    assert len(log.rows) == len(QUESTIONS)
    assert answers.asked[-1].question is again
    assert answers.asked[-1].answer == answers.asked[0].answer


def test_no_question():
    assert run(ask_all(of(Oracle()), [], KeyedLog(None))).asked == ()


def test_one_answer_is_scored():
    assert Scores.of(QUESTIONS[0], Oracle().answer("q0")) == Scores(
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


def test_an_invented_citation_is_counted_and_costs_precision():
    invented = replace(Oracle().answer("q0"), removed_markers=3)
    scores = Scores.of(QUESTIONS[0], invented)
    assert (scores.removed_markers, scores.citation_precision) == (3, 0.25)


def test_every_measure_has_a_mean_and_a_paired_difference():
    judged = run(judge_all(run(ask_all(of(Oracle()), QUESTIONS, KeyedLog(None)))))
    # q0 and q1 are their own gold; q2 and q3 are not theirs.
    assert mean(judged, "answer_accuracy").mean == 0.5
    for measure in MEASURES:
        known = 0 if measure == "fact_recall" else 4  # no sentence is recorded
        assert mean(judged, measure).n == known
        gain = difference(judged, judged, measure)
        assert (gain.mean, gain.low, gain.high) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="shorter"):
        difference(judged, judged[:2], "rounds")
