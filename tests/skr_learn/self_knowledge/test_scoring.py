"""Metrics of collection, on worked examples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import Question
from skr_core.errors import InputError, ModelError
from skr_core.flow import run
from skr_core.match import is_right
from skr_core.prompts import judge_name
from skr_core.testing import ScriptedModel
from skr_core.types import NO_USAGE
from skr_learn.self_knowledge import Judge
from skr_learn.self_knowledge.scoring import METRICS, TextMetric

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


def test_a_judge_without_a_verdict_fails() -> None:
    with pytest.raises(ModelError, match="neither"):
        run(Judge(ScriptedModel(["perhaps"])).score("Bob", ADA))
