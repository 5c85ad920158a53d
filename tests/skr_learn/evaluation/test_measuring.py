"""From answers to a table: what failed is counted and in no mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skr_app.extractive import LexicalEntailment
from skr_app.report import Result, compare, row_of, to_markdown
from skr_core.budget import Price
from skr_core.errors import ModelError
from skr_core.files import KeyedLog
from skr_core.flow import run
from skr_core.plain import from_plain, to_plain
from skr_core.questions import Context, Question
from skr_core.reflectors import JudgeEntailment
from skr_core.testing import ScriptedModel
from skr_core.types import Generation, Prompt
from skr_lab.experiments.knowledge import answer_given
from skr_learn.evaluation.asking import System, ask_all, log_key
from skr_learn.evaluation.measuring import difference, judge_all, mean

FACT = "Paris is the capital."
QUESTIONS = [
    Question(
        str(n),
        f"What is capital {n}?",
        ("Paris",),
        supporting_titles=("Paris",),
        contexts=(Context("Paris", FACT),),
        key_facts=(f"Fact {n}.", FACT),
    )
    for n in range(10)
]


def given(model: ScriptedModel, name: str = "given") -> System:
    references = [QUESTIONS[0].contexts[0].reference]
    return System(name, lambda question: answer_given(model, question, references))


class Nonsense:
    """A judge that says neither for one question in five, whatever it is asked of it."""

    name = "nonsense"

    def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        if prompt.question in {"Fact 0.", "Fact 5."}:
            return Generation("Well, it depends on how you look at it.")
        return Generation("entailment" if prompt.question == FACT else "neutral")

    async def agenerate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        return self.generate(prompt)


def test_a_judge_that_answers_nonsense_for_one_question_in_five():
    asked = run(ask_all(given(ScriptedModel([f"{FACT} [1]"])), QUESTIONS, KeyedLog(None)))
    judged = run(judge_all(asked, entailment=JudgeEntailment(Nonsense())))
    recall = mean(judged, "key_fact_recall")
    assert (recall.n, recall.n_failed) == (8, 2)
    # Each of the others entails one fact of two, with its one sentence: nothing is averaged away.
    assert recall.mean == 0.5
    assert mean(judged, "key_fact_precision").mean == 1.0
    assert mean(judged, "key_fact_f1").mean == pytest.approx(2 / 3)
    accuracy = mean(judged, "answer_accuracy")
    assert (accuracy.mean, accuracy.n, accuracy.n_failed) == (1.0, 10, 0)
    result = Result("demo", "?", {}, (row_of("given", judged),))
    assert "| 8–10 | 0–2 |" in to_markdown(result)


def test_failed_questions_are_asked_again_and_answers_are_not():
    class Moody(ScriptedModel):
        broken = True

        def generate(self, prompt, *, on_token=None):
            if self.broken and "capital 3" in prompt.question:
                raise ModelError("over\nloaded")
            return super().generate(prompt)

    model, log = Moody(["Paris [1]."]), KeyedLog(None)
    first = run(ask_all(given(model), QUESTIONS, log))
    assert (first.n_failed, first.last_failure) == (1, "over loaded")
    judged = run(judge_all(first))
    assert mean(judged, "answer_accuracy").n_failed == 1
    assert mean(judged, "title_recall").n_failed == 1
    assert len(model.prompts) == 9
    model.broken = False
    second = run(ask_all(given(model), QUESTIONS, log))
    assert second.n_failed == 0
    assert len(model.prompts) == 10
    assert [each.question for each in second.asked] == QUESTIONS
    assert second.asked[0].answer == first.asked[0].answer
    gain = difference(run(judge_all(second)), judged, "answer_accuracy")
    assert (gain.mean, gain.n, gain.n_failed) == (0.0, 9, 1)


def test_another_system_or_other_contexts_are_other_rows():
    one, two = QUESTIONS[0], replace(QUESTIONS[0], contexts=())
    assert len({log_key("a", one), log_key("b", one), log_key("a", two)}) == 3


def test_measures_that_gold_says_nothing_about_are_not_there():
    bare = [Question("1", "What?", ("Paris",))]
    asked = run(ask_all(given(ScriptedModel(["Paris"])), bare, KeyedLog(None)))
    [judged] = run(judge_all(asked, entailment=LexicalEntailment(), price=Price(1.0, 1.0)))
    assert not {"title_recall", "citation_recall", "fact_recall", "key_fact_recall"} & set(
        judged.values
    )
    assert judged.values["self_consistency"] == 0.0
    assert judged.values["usd"] > 0


def test_a_result_survives_json():
    asked = run(ask_all(given(ScriptedModel(["Paris"])), QUESTIONS, KeyedLog(None)))
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
