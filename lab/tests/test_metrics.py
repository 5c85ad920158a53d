"""The measures of the papers, worked by hand; a judge's failure is never a wrong answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_app.extractive import LexicalEntailment
from skr_app.report import Result, to_markdown
from skr_core import Answer, Citation, Decision, Generation, Prompt, Question, Reference
from skr_core.errors import InputError
from skr_core.files import KeyedLog, read_jsonl
from skr_core.flow import run
from skr_core.match import contains_gold
from skr_core.prompts import PROMPT_VERSION
from skr_core.prompts.routing import ROUTING_VERSION
from skr_core.questions import Context
from skr_core.reflectors import JudgeEntailment
from skr_core.replies import parse_certainty
from skr_core.testing import ScriptedModel
from skr_lab.baselines import BASELINES_VERSION
from skr_lab.experiments.knowledge import answer_given
from skr_lab.key_facts import KEY_FACTS_VERSION
from skr_lab.metrics import (
    CertaintyScores,
    KeyFactScores,
    ReflectionScores,
    claims_judged_by,
    consistency_pairs,
    corrupt,
    f1_of_means,
    harmonic_mean,
    key_fact_pairs,
    key_fact_scores,
    overlap,
    relies,
    self_consistency,
    verdicts_of,
)
from skr_lab.opening import row_of
from skr_learn.evaluate import System, ask_all, judge_all, mean


def test_rates_of_table_1():
    # N_cc = 4, N_cu = 1, N_ic = 3, N_iu = 2.
    certain = [True] * 4 + [False] + [True] * 3 + [False] * 2
    right = [True] * 5 + [False] * 5
    scores = CertaintyScores.of(certain, right)
    assert scores == CertaintyScores(4, 1, 3, 2)
    assert scores.n == 10
    assert scores.accuracy == 0.5
    assert scores.unc_rate == scores.ra_rate == 0.3
    assert scores.overconfidence == 0.3
    assert scores.conservativeness == 0.1
    assert scores.alignment == 0.6


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_alignment_is_what_the_two_faults_leave(pairs: list[tuple[bool, bool]]):
    scores = CertaintyScores.of(*zip(*pairs, strict=True))
    assert scores.alignment == pytest.approx(1 - scores.overconfidence - scores.conservativeness)
    assert scores.n == len(pairs)


def test_of_nothing_every_rate_is_zero():
    scores = CertaintyScores.of([], [])
    assert (scores.accuracy, scores.alignment, scores.unc_rate) == (0.0, 0.0, 0.0)


def test_lengths_must_agree():
    with pytest.raises(InputError):
        CertaintyScores.of([True], [])


def test_overlap():
    assert overlap("", "Paris") == 0.0
    assert overlap("the", "the") == 0.0  # articles are no words
    assert overlap("Paris France", "Paris.") == 0.5


def test_gamma_is_a_strict_threshold():
    assert not relies("Paris", "Paris", "Paris")
    assert relies("Lyon", "Paris", "Paris")
    assert not relies("Lyon", "Paris", "Paris", gamma=1.0)


def test_corrupting():
    assert corrupt("Rio de Janeiro is not Rio.", ["Rio", "Rio de Janeiro"]) == "Tom is not Tom."
    assert corrupt("C++ is old", ["C++"]) == "Tom is old"
    assert corrupt("nothing here", ["", "  "]) == "nothing here"


def test_reflection_by_hand():
    # TP 1, FP 1, FN 1, TN 1
    scores = ReflectionScores.of([True, True, False, False], [True, False, True, False])
    assert scores.accuracy.mean == 0.5
    assert scores.f1.mean == 0.5
    assert scores.f1.low <= 0.5 <= scores.f1.high


def test_a_model_that_always_answers():
    scores = ReflectionScores.of([True, False], [False, False])
    assert (scores.accuracy.mean, scores.f1.mean) == (0.5, 0.0)
    nothing = ReflectionScores.of([], [])
    assert (nothing.accuracy.n, nothing.f1.mean) == (0, 0.0)


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
    judged = run(judge_all(asked, measure=claims_judged_by(JudgeEntailment(Nonsense()))))
    recall = mean(judged, "key_fact_recall")
    assert (recall.n, recall.n_failed) == (8, 2)
    # Each of the others entails one fact of two, with its one sentence: nothing is averaged away.
    assert recall.mean == 0.5
    assert mean(judged, "key_fact_precision").mean == 1.0
    assert mean(judged, "key_fact_f1").mean == pytest.approx(2 / 3)
    accuracy = mean(judged, "answer_accuracy")
    assert (accuracy.mean, accuracy.n, accuracy.n_failed) == (1.0, 10, 0)
    row = row_of("given", judged)
    assert "| 8–10 | 0–2 |" in to_markdown(Result("demo", "?", {}, (row,)))
    f1 = row.cells["key_fact_f1_of_means"]
    assert (f1.mean, f1.n, f1.n_failed) == (pytest.approx(2 / 3), 8, 2)


def test_measures_that_gold_says_nothing_about_are_not_there():
    bare = [Question("1", "What?", ("Paris",))]
    asked = run(ask_all(given(ScriptedModel(["Paris"])), bare, KeyedLog(None)))
    [judged] = run(judge_all(asked, measure=claims_judged_by(LexicalEntailment())))
    assert not {"title_recall", "citation_recall", "fact_recall", "key_fact_recall"} & set(
        judged.values
    )
    assert judged.values["self_consistency"] == 0.0


def contains_as_recorded(answer: str, gold: list[str]) -> bool:
    """The measure of the recordings: a punctuation mark parts words, as in "B.R." or "$72.99"."""
    spaced = [re.sub(r"[^\w\s]", " ", text) for text in (answer, *gold)]
    return contains_gold(spaced[0], spaced[1:])


@pytest.mark.data
def test_recorded_replies_give_the_published_rates(data_dir: Path):
    certain, right, retrieved, silent = [], [], [], []
    for _, row in read_jsonl(data_dir / "whentoretrieve_nq_chatgpt.jsonl.gz"):
        found, extra = parse_certainty(row["confidence_raw"]), row["extra"]
        if found.certain is None:
            silent.append(row["confidence_raw"])
        # What a reply lacks was asked for once more; the recordings hold what came of that.
        sure = found.certain if found.certain is not None else not extra["giveup"]
        answer = found.answer or extra["answer_only_second_pass"] or ""
        assert sure is not extra["giveup"]
        certain.append(sure)
        right.append(contains_as_recorded(answer, row["gold"]))
        retrieved.append(row["correct_retrieved"])
    assert len(silent) == 3
    scores = CertaintyScores.of(certain, right)
    assert scores.n == 256
    assert scores.unc_rate == pytest.approx(0.246, abs=0.005)
    assert scores.accuracy == pytest.approx(0.469, abs=0.005)
    assert scores.conservativeness == pytest.approx(0.051, abs=0.005)
    assert scores.overconfidence == pytest.approx(0.336, abs=0.005)
    assert scores.alignment == pytest.approx(0.613, abs=0.005)
    assert sum(retrieved) / scores.n == pytest.approx(0.531, abs=0.005)
    adaptive = [
        direct if sure else augmented
        for sure, direct, augmented in zip(certain, right, retrieved, strict=True)
    ]
    assert sum(adaptive) / scores.n == pytest.approx(0.500, abs=0.005)


def test_the_words_of_the_lab_have_versions_of_their_own():
    versions = [BASELINES_VERSION, KEY_FACTS_VERSION, PROMPT_VERSION, ROUTING_VERSION]
    assert len(set(versions)) == len(versions)
    assert all(re.fullmatch(r"[0-9a-f]{8}", version) for version in versions)
