"""Metrics of collection, on worked examples."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_classic.evaluation import ExactMatchStringEvaluator
from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

from skr_core import Answer, Decision, Question, Reference, Usage
from skr_core.errors import InputError, ModelError
from skr_core.flow import arun, run
from skr_core.match import is_right
from skr_core.prompts import judge_name
from skr_core.testing import ScriptedModel
from skr_core.types import NO_USAGE, Stamp
from skr_learn import Outcome, Record, Records, arescore, rescore
from skr_learn.records import Statement
from skr_learn.scoring import METRICS, Judge, TextMetric, as_scorer, proposed_metric

ADA = Question("1", "Who?", ("Ada", "Lovelace"))
SHOP = Question("2", "Where?", ("shop",), choices=("street", "shop"))


@pytest.mark.parametrize(
    ("name", "answer", "gold", "score"),
    [
        ("accuracy", "It was Ada Lovelace [1].", "Ada Lovelace", 1.0),
        ("contains", "It was Ada Lovelace [1].", "Ada Lovelace", 1.0),
        ("contains", "It was Bob.", "Ada", 0.0),
        ("exact_match", "the Seine.", "Seine", 1.0),
        ("exact_match", "It is the Seine.", "Seine", 0.0),
        ("f1", "in Paris", "Paris", 2 / 3),
        ("choice", "So the answer is (B).", "B", 1.0),
        ("choice", "It is Paris.", "Paris", 1.0),
    ],
)
def test_text_metrics(name: str, answer: str, gold: str, score: float) -> None:
    question = Question("1", "?", (gold,))
    assert run(TextMetric(name).score(answer, question)) == (score, NO_USAGE)


@pytest.mark.parametrize("name", ["accuracy", "choice"])
@pytest.mark.parametrize(
    ("answer", "score"),
    [("(b)", 1.0), ("(a)", 0.0), ("The shop.", 1.0), ("The street or the shop.", 0.0)],
)
def test_the_options_of_a_question_decide(name: str, answer: str, score: float) -> None:
    assert run(TextMetric(name).score(answer, SHOP))[0] == score


def test_accuracy_is_what_evaluation_measures_and_the_default() -> None:
    assert METRICS[0] == TextMetric().name == "accuracy"
    for question in (ADA, SHOP):
        for answer in ("(b)", "street", "shop", "Ada", ""):
            assert run(TextMetric().score(answer, question))[0] == is_right(question, answer)


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(InputError, match="bleu"):
        TextMetric("bleu")


replies = st.text() | st.sampled_from(["(b)", "yes", "true", "B. shop", "The answer is b."])


@given(replies, st.lists(replies, max_size=3), st.lists(replies, max_size=4))
def test_every_score_is_between_0_and_1(answer: str, gold: list[str], choices: list[str]) -> None:
    question = Question("1", "?", tuple(gold), choices=tuple(choices))
    for name in METRICS:
        assert 0 <= run(TextMetric(name).score(answer, question))[0] <= 1


def test_a_judge_compares() -> None:
    model = ScriptedModel(["wrong"], name="strict")
    judge = Judge(model)
    score, usage = run(judge.score("Bob\n\nReply: right", ADA))
    assert (judge.name, score, usage.calls) == (judge_name("strict"), 0.0, 1)
    (prompt,) = model.prompts
    assert prompt.task == "judge"
    assert "Right answers: Ada; Lovelace\nGiven answer: Bob Reply: right\n" in prompt.text


def test_a_judge_has_a_rubric_of_one_s_own() -> None:
    model = ScriptedModel(["right"], name="strict")
    judge = Judge(model, rubric="Does it name {her}, with no doubt?\n")
    assert run(judge.score("Bob", ADA))[0] == asyncio.run(arun(judge.score("Bob", ADA)))[0] == 1.0
    assert model.prompts[0].text.endswith(
        "Given answer: Bob\n\nDoes it name {her}, with no doubt?\n\n"
        'Reply with one word: "right" or "wrong".'
    )
    names = {Judge(model, rubric=each).name for each in (None, "Is it she?", "Is it her?")}
    assert len(names) == 3
    with pytest.raises(InputError, match="rubric"):
        Judge(model, rubric=" ")


@pytest.mark.parametrize(
    ("gold", "metric"),
    [
        (
            [("Ada",), ("Ada Lovelace", "the Countess of Lovelace, who was Byron's daughter")],
            "accuracy",
        ),
        (
            [
                ("the harbour board of Port Elm",),
                ("Ada",),
                ("in 1844, when the harbour froze over",),
            ],
            "f1",
        ),
        ([("yes",), ("a right answer that is a whole sentence",), ("(b)",)], "f1"),
        ([()], "accuracy"),
    ],
)
def test_long_right_answers_are_not_looked_for_as_they_are(
    gold: list[tuple[str, ...]], metric: str
) -> None:
    name, reason = proposed_metric([Question("1", "?", each) for each in gold])
    assert (name, bool(reason)) == (metric, metric == "f1")
    choice = Question("1", "?", ("a street that is long and has many shops",), choices=("a", "b"))
    assert proposed_metric([choice]) == ("accuracy", "")


def test_a_judge_without_a_verdict_fails() -> None:
    with pytest.raises(ModelError, match="neither"):
        run(Judge(ScriptedModel(["perhaps"])).score("Bob", ADA))


def answered(text: str, **more: object) -> Answer:
    return Answer("Who?", text, (), (), Decision(False), (), "known", {}, **more)  # type: ignore[arg-type]


PLACE = Reference.of("Ada lived in London.")


def driven(form: str, metric: object, answer: Answer) -> float:
    """The score by one driver or the other."""
    flow = as_scorer(metric).score(answer, ADA)  # type: ignore[arg-type]
    return (run(flow) if form == "sync" else asyncio.run(arun(flow)))[0]


both = pytest.mark.parametrize("form", ["sync", "async"])


def first_name(answer: Answer, question: Question) -> bool:
    return answer.text.startswith(question.gold[0])


def cites(answer: Answer, question: Question) -> float:
    return np.float64(len(answer.references) / 4)


async def waited(answer: Answer, question: Question) -> float:
    await asyncio.sleep(0)
    return 0.25


@both
def test_a_function_of_one_s_own_scores_the_whole_answer(form: str) -> None:
    assert driven(form, first_name, answered("Ada L.")) == 1.0
    assert driven(form, first_name, answered("A. Lovelace")) == 0.0
    assert driven(form, cites, replace(answered("Ada"), references=(PLACE,))) == 0.25
    assert as_scorer(first_name).name == "first_name"
    assert as_scorer(partial(first_name)).name == "first_name"
    assert as_scorer(lambda: first_name).name == "first_name", "what makes one is called"


@pytest.mark.parametrize("metric", [waited, lambda answer, question: waited(answer, question)])
def test_an_async_function_is_awaited_and_no_sync_run_starts_a_loop(metric: object) -> None:
    assert driven("async", metric, answered("Ada")) == 0.25
    with pytest.raises(InputError, match=r"is async: use acollect or arescore"):
        driven("sync", metric, answered("Ada"))


@both
@pytest.mark.parametrize("wrong", [1.5, -0.1, math.nan, "right", [1, 7]])
def test_a_score_that_is_none_names_its_function(form: str, wrong: object) -> None:
    def graded(answer: Answer, question: Question) -> object:
        return wrong

    with pytest.raises(InputError, match=r"graded gave .*: a number from 0 to 1 is wanted"):
        driven(form, graded, answered("Ada"))


@both
def test_a_function_that_fails_fails_its_question(form: str) -> None:
    def rude(answer: Answer, question: Question) -> float:
        return 1 / 0

    with pytest.raises(ModelError, match="rude: ZeroDivisionError"):
        driven(form, rude, answered("Ada"))
    with pytest.raises(ModelError, match="gave no score"):
        driven(form, lambda answer, question: None, answered("Ada"))


@pytest.mark.parametrize("wrong", [Judge, 3, None, object()])
def test_what_is_no_metric_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match=r"is the class Judge|is no metric"):
        as_scorer(wrong)  # type: ignore[arg-type]


class Graded(BaseEvaluator):
    """An evaluator of LlamaIndex that grades from 1 to 5."""

    def _get_prompts(self) -> dict[str, object]:
        return {}

    def _update_prompts(self, prompts: object) -> None: ...

    def evaluate(self, query=None, response=None, contexts=None, **given):
        right = given["reference"] == "Ada or Lovelace" and query == "Who?" and response == "Ada"
        right = right and contexts == [PLACE.text]
        return EvaluationResult(score=5.0 if right else 1.0, passing=right)

    async def aevaluate(self, query=None, response=None, contexts=None, **given):
        return self.evaluate(query, response, contexts, **given)


@both
def test_an_evaluator_of_llamaindex_scores_by_whether_it_passes(form: str) -> None:
    found = replace(answered("Ada"), references=(PLACE,))
    assert driven(form, Graded(), found) == 1.0
    assert driven(form, Graded(), answered("Ada")) == 0.0, "a grade of 1 of 5 is no 1.0"
    assert as_scorer(Graded()).name == "Graded"


@both
def test_an_evaluator_of_langchain_scores(form: str) -> None:
    evaluator = ExactMatchStringEvaluator()
    assert driven(form, evaluator, answered("Ada or Lovelace")) == 1.0
    assert driven(form, evaluator, answered("Bob")) == 0.0
    assert as_scorer(evaluator).name == "ExactMatchStringEvaluator"


def judged(*, inputs: str = "", outputs: str = "", reference_outputs: str = "", **_: object):
    right = outputs in reference_outputs and inputs == "Who?"
    return {"key": "correctness", "score": right, "comment": None}


async def ajudged(*, outputs: str, **given: object):
    return [judged(outputs=outputs, **given), {"key": "short", "score": 0.5}]  # type: ignore[arg-type]


def overlap(outputs: str, reference_outputs: str):
    return {"key": "overlap", "score": float(outputs == reference_outputs)}


def test_functions_of_openevals_score() -> None:
    for form in ("sync", "async"):
        assert driven(form, judged, answered("Ada")) == 1.0
        assert driven(form, judged, answered("Bob")) == 0.0
        assert driven(form, overlap, answered("Ada or Lovelace")) == 1.0
    assert driven("async", ajudged, answered("Ada")) == 0.75
    with pytest.raises(InputError, match="is async"):
        driven("sync", ajudged, answered("Ada"))


RECORD = Record(
    "Who?",
    ("Ada",),
    {
        "direct": Outcome("Bob", 0.0, Usage(3, 1, 1), logprob=-0.5),
        "loop": Outcome(
            "It is Ada [1].", 1.0, Usage(30, 2, 2), grounded=True, stop_reason="sufficient"
        ),
    },
    Stamp("m", "r", "c", "s", "accuracy"),
    {"confidence": Statement(False, draft="Ada", draft_score=1.0)},
    {"id": "7"},
)


def rescored(form: str, *given: object) -> Records:
    if form == "sync":
        return rescore(*given)  # type: ignore[arg-type]
    return asyncio.run(arescore(*given))  # type: ignore[arg-type]


@both
def test_records_are_scored_anew_without_asking_again(form: str) -> None:
    (found,) = rescored(form, [RECORD], "exact_match")
    assert [each.score for each in found.outcomes.values()] == [0.0, 0.0]
    assert found.statements["confidence"].draft_score == 1.0
    assert found.stamp == replace(RECORD.stamp, metric="exact_match")
    assert rescored(form, [found], "accuracy") == [RECORD]


@both
def test_records_are_scored_by_other_right_answers(form: str) -> None:
    (found,) = rescored(form, [RECORD], "accuracy", [Question("7", "who? ", ("Bob",))])
    assert [each.score for each in found.outcomes.values()] == [1.0, 0.0]
    assert found.gold == ("Bob",)
    with pytest.raises(InputError, match=r"'Who\?' has no right answer"):
        rescored(form, [replace(RECORD, gold=())], "accuracy")


@both
def test_a_function_is_given_what_is_on_record(form: str) -> None:
    seen = {}

    def cost(answer: Answer, question: Question) -> float:
        seen[answer.text] = answer
        return min(1.0, answer.total_usage.calls / 10)

    (found,) = rescored(form, [RECORD], cost)
    assert [each.score for each in found.outcomes.values()] == [0.1, 0.2]
    direct, loop = seen["Bob"], seen["It is Ada [1]."]
    assert (direct.decision.retrieve, direct.logprob, direct.grounded) == (False, -0.5, False)
    assert (loop.decision.retrieve, loop.stop_reason, loop.grounded) == (True, "sufficient", True)


def test_a_judge_is_asked_once_about_equal_answers() -> None:
    alike = replace(RECORD, outcomes={**RECORD.outcomes, "single": RECORD.outcomes["loop"]})
    judge = ScriptedModel(["right"])
    rescore([replace(alike, statements={})], Judge(judge))
    assert len(judge.prompts) == 2
