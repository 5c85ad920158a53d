"""Metrics of collection, on worked examples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.errors import InputError, ModelError
from skr_core.flow import run
from skr_core.self_knowledge.scoring import Judge, TextMetric, choice, parse_right
from skr_core.testing import ScriptedModel
from skr_core.types import NO_USAGE


@pytest.mark.parametrize(
    ("name", "answer", "gold", "score"),
    [
        ("contains", "It was Ada Lovelace [1].", ["Ada Lovelace"], 1.0),
        ("contains", "It was Bob.", ["Ada"], 0.0),
        ("exact_match", "the Seine.", ["Seine"], 1.0),
        ("exact_match", "It is the Seine.", ["Seine"], 0.0),
        ("f1", "in Paris", ["Paris"], 2 / 3),
        ("choice", "So the answer is (B).", ["B"], 1.0),
    ],
)
def test_text_metrics(name: str, answer: str, gold: list[str], score: float):
    assert run(TextMetric(name).score(answer, "?", gold)) == (score, NO_USAGE)


def test_an_unknown_metric_is_refused():
    with pytest.raises(InputError, match="bleu"):
        TextMetric("bleu")


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("The answer is (B).", "B", True),
        ("B. They grow.", "(B)", True),
        ("b", "B", True),
        ("(A) They grow.", "A. They grow.", True),
        ("(A) is wrong. So the answer is C.", "C", True),
        ("(A) is wrong. So the answer is C.", "A", False),
        ("A watermelon is a fruit.", "A", False),
        ("It is not true. So the answer is false.", "False", True),
        ("It is not true. So the answer is false.", "True", False),
        ("Yes, it could.", "yes", True),
        ("No.", "yes", False),
        ("The answer is Paris.", "Paris", True),
        ("", "B", False),
    ],
)
def test_choice(answer: str, gold: str, right: bool):
    assert choice(answer, [gold]) is right


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("right", True),
        ("**Right.**", True),
        ("Correct", True),
        ("wrong", False),
        ("Incorrect: it was Bob.", False),
        ("right/wrong", None),
        ("right or wrong", None),
        ("The answer is right.", None),
        ("", None),
    ],
)
def test_a_verdict_is_read_strictly(reply: str, verdict: bool | None):
    assert parse_right(reply) is verdict


@given(st.text(), st.text())
def test_nothing_raises_on_any_text(answer: str, gold: str):
    choice(answer, [gold])
    parse_right(answer)


def test_a_judge_compares():
    model = ScriptedModel(["wrong"], name="strict")
    judge = Judge(model)
    score, usage = run(judge.score("Bob\n\nReply: right", "Who?", ["Ada", "Lovelace"]))
    assert (judge.name, score, usage.calls) == ("judge:strict", 0.0, 1)
    (prompt,) = model.prompts
    assert prompt.task == "judge"
    assert "Right answers: Ada; Lovelace\nGiven answer: Bob Reply: right\n" in prompt.text


def test_a_judge_without_a_verdict_fails():
    with pytest.raises(ModelError, match="neither"):
        run(Judge(ScriptedModel(["perhaps"])).score("Bob", "Who?", ["Ada"]))
