"""Key-facts and self-consistency, worked by hand; a judge's failure is never a wrong answer."""

from __future__ import annotations

import pytest

from skr_app.extractive import LexicalEntailment
from skr_core.flow import run
from skr_core.types import Answer, Citation, Decision, Reference
from skr_learn.metrics.claims import (
    KeyFactScores,
    consistency_pairs,
    f1_of_means,
    harmonic_mean,
    key_fact_pairs,
    key_fact_scores,
    self_consistency,
    verdicts_of,
)

E, N = "entailment", "neutral"


def test_worked_by_hand():
    # Two sentences, three facts: the whole entails two; the first sentence entails one, the
    # second none.
    verdicts = [E, E, N, N, E, N, N, N, N]
    scores = key_fact_scores(verdicts, ["a", "b", "c"])
    assert scores is not None
    assert scores.recall == pytest.approx(2 / 3)
    assert scores.precision == pytest.approx(1 / 2)
    assert scores.f1 == pytest.approx(2 * (2 / 3) * (1 / 2) / (2 / 3 + 1 / 2))


def test_nothing_is_zero_and_not_a_nan():
    assert harmonic_mean(0.0, 0.0) == 0.0
    assert key_fact_scores([], ["a"]) == KeyFactScores(0.0, 0.0)
    assert key_fact_scores([], []) == KeyFactScores(0.0, 0.0)
    assert KeyFactScores(0.0, 0.0).f1 == 0.0


def test_a_failure_of_the_judge_is_no_score():
    assert key_fact_scores([E, None], ["a"]) is None
    assert self_consistency([E, None]) is None


def test_pairs_hold_no_markers():
    assert key_fact_pairs("It is so [1]. And so [2][3].", ["k"]) == [
        ("It is so. And so.", "k"),
        ("It is so.", "k"),
        ("And so.", "k"),
    ]
    assert key_fact_pairs("[1]", ["k"]) == []
    assert key_fact_pairs("", ["k"]) == []


def test_an_empty_answer_costs_no_call():
    class Untouchable:
        def predict(self, pairs):
            raise AssertionError

        apredict = predict

    assert run(verdicts_of(Untouchable(), key_fact_pairs("", ["k"]))) == []


def test_a_pair_is_judged_once_however_often_it_comes():
    class Counting(LexicalEntailment):
        def __init__(self):
            super().__init__()
            self.asked = []

        def predict(self, pairs):
            self.asked.extend(pairs)
            return super().predict(pairs)

    old = ("Paris is old.", "Paris is old.")
    pairs = [old, ("Rome is new.", "Paris is old."), old]
    judge = Counting()
    assert run(verdicts_of(judge, pairs)) == [E, N, E]
    assert judge.asked == pairs[:2]


JAWS = Reference.of("Jaws was directed by Steven Spielberg.", "Jaws")
OHIO = Reference.of("Steven Spielberg was born in Cincinnati.", "Steven Spielberg")


def answered(text: str, *citations: Citation) -> Answer:
    return Answer("?", text, citations, (JAWS, OHIO), Decision(True), (), "sufficient", {})


def test_a_sentence_goes_with_all_that_it_cites():
    sentence = "Spielberg was born in Cincinnati [1][2]."
    answer = answered(
        sentence,
        Citation(1, JAWS.id, sentence, (0, 0)),
        Citation(2, OHIO.id, sentence, (0, 0)),
        Citation(2, OHIO.id, sentence, (0, 0)),
    )
    [(premise, hypothesis)] = consistency_pairs(answer)
    assert premise == f"{JAWS.text} {OHIO.text}"
    assert hypothesis == "Spielberg was born in Cincinnati."
    assert run(verdicts_of(LexicalEntailment(), consistency_pairs(answer))) == [E]


def test_uncited_answers_and_citations_of_nothing():
    assert consistency_pairs(answered("It is so.")) == []
    gone = Citation(9, "no such id", "It is so [9].", (0, 0))
    assert consistency_pairs(answered("It is so [9].", gone)) == []


def test_f1_as_the_papers_tables_have_it():
    """RaLLM Table 1: ChatGPT's precision of 85.40 and recall of 56.55 are an F1 of 68."""
    assert f1_of_means([0.854] * 4, [0.5655] * 4).mean == pytest.approx(0.68, abs=0.003)
    interval = f1_of_means([1.0, 0.0, 1.0], [0.0, 1.0, 1.0], n_failed=2)
    assert interval.mean == pytest.approx(2 / 3)  # of each question alone it is 1/3
    assert 0.0 <= interval.low <= interval.mean <= interval.high <= 1.0
    assert (interval.n, interval.n_failed) == (3, 2)
    assert f1_of_means([], []).n == 0
    assert f1_of_means([0.0], [0.0]).mean == 0.0
