"""Asking with a log, sync and async; answers become values, and what failed is in no mean."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from skr_app.report import Result, compare, row_of, to_markdown
from skr_core import Action, Answer, Citation, Decision, Price, Question, Reference, Round, Usage
from skr_core.answering import answer_anyway
from skr_core.errors import InputError, ModelError
from skr_core.files import KeyedLog
from skr_core.flow import Flow, arun, run
from skr_core.plain import from_plain, to_plain
from skr_core.questions import Context
from skr_core.references import resolve_citations
from skr_core.testing import ScriptedModel
from skr_learn import Record
from skr_learn.evaluate import (
    MEASURES,
    Answers,
    Asked,
    Scores,
    System,
    Values,
    ask_all,
    difference,
    folds_of,
    judge_all,
    log_key,
    mean,
    measures_of,
    unseen,
)
from skr_learn.routers.base import question_hashes

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
        # No sentence is recorded, and no chance is estimated.
        known = 0 if measure in ("fact_recall", "brier") else 4
        assert mean(judged, measure).n == known
        gain = difference(judged, judged, measure)
        assert (gain.mean, gain.low, gain.high) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="shorter"):
        difference(judged, judged[:2], "rounds")


FACT = "Paris is the capital."
CAPITALS = [
    Question(
        str(n),
        f"What is capital {n}?",
        ("Paris",),
        supporting_titles=("Paris",),
        contexts=(Context("Paris", FACT),),
    )
    for n in range(10)
]


def given(model: ScriptedModel, name: str = "given") -> System:
    """Answers from one reference, with one call."""
    references = [CAPITALS[0].contexts[0].reference]

    def ask(question: Question) -> Flow[Answer]:
        generation = yield from answer_anyway(model, question.asked, references)
        cited = resolve_citations(generation.text, references)
        usage = {"answer_anyway": generation.usage}
        rounds = (Round((question.asked,)),)
        return Answer(
            *(question.asked, cited.text, cited.citations, tuple(references)),
            *(Decision(True), rounds, "sufficient", usage),
        )

    return System(name, ask)


def test_failed_questions_are_asked_again_and_answers_are_not():
    class Moody(ScriptedModel):
        broken = True

        def generate(self, prompt, *, on_token=None):
            if self.broken and "capital 3" in prompt.question:
                raise ModelError("over\nloaded")
            return super().generate(prompt)

    model, log = Moody(["Paris [1]."]), KeyedLog(None)
    first = run(ask_all(given(model), CAPITALS, log))
    assert (first.n_failed, first.last_failure) == (1, "over loaded")
    judged = run(judge_all(first))
    assert mean(judged, "answer_accuracy").n_failed == 1
    assert mean(judged, "title_recall").n_failed == 1
    assert len(model.prompts) == 9
    model.broken = False
    second = run(ask_all(given(model), CAPITALS, log))
    assert second.n_failed == 0
    assert len(model.prompts) == 10
    assert [each.question for each in second.asked] == CAPITALS
    assert second.asked[0].answer == first.asked[0].answer
    gain = difference(run(judge_all(second)), judged, "answer_accuracy")
    assert (gain.mean, gain.n, gain.n_failed) == (0.0, 9, 1)


def test_another_system_or_other_contexts_are_other_rows():
    one, two = CAPITALS[0], replace(CAPITALS[0], contexts=())
    assert len({log_key("a", one), log_key("b", one), log_key("a", two)}) == 3


def test_measures_that_gold_says_nothing_about_are_not_there():
    bare = [Question("1", "What?", ("Paris",))]
    asked = run(ask_all(given(ScriptedModel(["Paris"])), bare, KeyedLog(None)))
    [judged] = run(judge_all(asked, price=Price(1.0, 1.0)))
    assert not {"title_recall", "citation_recall", "fact_recall"} & set(judged.values)
    assert judged.values["usd"] > 0


def test_a_caller_has_measures_of_its_own():
    def measure(answers: Sequence[Asked]) -> Flow[list[Values]]:
        yield from ()
        return [{"letters": each.answer and len(each.answer.text)} for each in answers]

    asked = run(ask_all(given(ScriptedModel(["Paris"])), CAPITALS, KeyedLog(None)))
    judged = run(judge_all(asked, price=Price(1.0, 1.0), measure=measure))
    assert mean(judged, "letters").mean == 5.0
    assert measures_of(judged)[-2:] == ["letters", "usd"]


def test_a_result_survives_json():
    asked = run(ask_all(given(ScriptedModel(["Paris"])), CAPITALS, KeyedLog(None)))
    judged = run(judge_all(asked))
    result = Result(
        "demo",
        "a|b",
        {"model": "m"},
        (row_of("x|y", judged),),
        (compare("x", judged, "y", judged),),
    )
    assert from_plain(Result, to_plain(result)) == result
    assert "x\\|y" in to_markdown(result)


def test_what_was_learnt_is_left_out_however_it_is_written():
    asked = [Question(str(n), f"Who is {n}?", ("Ada",)) for n in range(3)]
    records = [
        Record.of(text, direct=("", 0), single=("", 1)) for text in ("who  is 0?", "WHO IS 2?")
    ]
    assert [each.id for each in unseen(asked, question_hashes(records))] == ["1"]
    assert unseen([], question_hashes(records)) == []
    with pytest.raises(InputError, match="learnt from all 1 questions"):
        unseen(asked[:1], question_hashes(records))


def test_each_question_is_judged_by_one_fold_that_has_not_seen_it():
    texts = [f"Who is {n}?" for n in range(12)]
    records = [
        Record.of(text, direct=("", 0), single=("", 1))
        for name in texts
        for text in (name, name.upper())
    ]
    folds = folds_of(records)
    assert len(folds) == 5
    for text in texts:
        question = Question("1", text, ("Ada",))
        [fold] = [fold for fold in folds if fold.judges(question)]
        assert text.casefold() not in {each.question.casefold() for each in fold.others}
    assert not any(fold.judges(Question("2", "Who else?", ("Ada",))) for fold in folds)
