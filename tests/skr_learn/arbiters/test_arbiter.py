"""Which of the answers at hand is served, and when an arbiter is worth having."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from skr_core import CandidateAnswer, HashingEmbedder
from skr_core.errors import InputError
from skr_core.prompts import REFUSAL
from skr_learn import Arbiter, SelfKnowledge
from skr_learn.arbiters import Seen
from skr_learn.arbiters.serving import served_of, verdict_of

pytestmark = pytest.mark.usefixtures("few_trees")

SUM = {"direct": CandidateAnswer("42"), "single": CandidateAnswer("Adam", grounded=True)}
TEAM = {"direct": CandidateAnswer("7"), "single": CandidateAnswer("Ada 77", grounded=True)}


def records(n: int = 60, *, seed: int | None = None) -> list[SelfKnowledge]:
    """Sums that the model knows and retrieval spoils, and teams that it does not know.

    Args:
        n: Of each kind.
        seed: Of the order in which the scores are dealt out anew; None leaves them right.
    """
    made = [
        SelfKnowledge.of(f"What is {k} plus 1?", direct=(f"{k + 1}", 1), single=("Adam", 0))
        for k in range(n)
    ] + [
        SelfKnowledge.of(f"Who led team {k}?", direct=("7", 0), single=(f"Ada {k}", 1))
        for k in range(n)
    ]
    if seed is None:
        return made
    others = np.random.default_rng(seed).permutation(len(made))
    return [
        SelfKnowledge.of(
            each.question,
            direct=(each.direct.answer, made[other].direct.score),
            single=(each.retrieved.answer, made[other].retrieved.score),
        )
        for each, other in zip(made, others, strict=True)
    ]


def test_the_answer_that_is_likelier_right_is_served():
    arbiter, held_out = Arbiter.with_held_out(records())
    verdict = arbiter.judge("What is 41 plus 1?", SUM)
    assert verdict.served == "direct"
    assert verdict.chances["direct"] > verdict.chances["single"]
    assert "the direct answer" in verdict.reason
    assert asyncio.run(arbiter.ajudge("What is 41 plus 1?", SUM)) == verdict
    assert arbiter.judge("Who led team 77?", TEAM).served == "single"
    assert held_out.pays
    assert held_out.served.mean() > 0.95


def test_of_answers_that_agree_the_one_with_references_is_served():
    answers = {"direct": CandidateAnswer("The 42."), "single": CandidateAnswer("42", grounded=True)}
    verdict = Arbiter.fit(records()).judge("What is 41 plus 1?", answers)
    assert (verdict.served, verdict.reason) == ("single", "all answers agree")


def test_it_does_not_call_likeliest_what_it_serves_for_its_references():
    answers = {
        "direct": CandidateAnswer("Rome"),
        "single": CandidateAnswer("Paris [1]", grounded=True),
        "loop": CandidateAnswer("Paris [2]", grounded=True),
    }
    verdict = verdict_of(Seen("Where?", answers), np.array([0.1, 0.6, 0.5]))
    assert verdict.served == "loop"
    assert verdict.reason.startswith(
        "the answer of the loop rests on references and says the same as the answer after one "
        "round of retrieval, which is the likeliest to be right: "
    )


@pytest.mark.parametrize(
    "given",
    [
        records(seed=0),
        records(seed=1),
        records(10),
        [SelfKnowledge.of(f"Q{k}?", direct=("a", 1), single=("b", 1)) for k in range(80)],
        [SelfKnowledge.of(f"Q{k}?", direct=("a", 0), single=("b", 0)) for k in range(80)],
        [SelfKnowledge.of(f"Q{k}?", direct=("", 0), single=("b", 1)) for k in range(80)],
    ],
    ids=["shuffled", "shuffled again", "20 records", "all right", "all wrong", "retrieval wins"],
)
def test_records_that_teach_nothing_do_not_pay(given: Sequence[SelfKnowledge]):
    assert not Arbiter.with_held_out(given)[1].pays


def test_a_refusal_is_weighed_like_any_answer():
    refusals = [
        SelfKnowledge.of(f"What is {n} plus 1?", direct=(f"{n + 1}", 1), single=(f"{REFUSAL}.", 0))
        for n in range(60)
    ]
    held_out = Arbiter.with_held_out([*records(), *refusals])[1]
    assert held_out.served[-60:].mean() > 0.9  # by the direct answers, which are right


def test_it_comes_back_from_its_arrays_as_it_was():
    arbiter = Arbiter.fit(records())
    again = Arbiter.from_arrays(*arbiter.arrays(), HashingEmbedder())
    for question in ("What is 41 plus 1?", "Who led team 77?", "Why?"):
        assert again.judge(question, SUM) == arbiter.judge(question, SUM)


def test_a_question_unlike_all_on_record_gets_the_best_action_for_all():
    arbiter = Arbiter.fit([*records(40)[:40], *records(60)[60:]])  # more teams than sums
    strange = {"direct": CandidateAnswer("Ein Vertrag."), "single": CandidateAnswer("Ein Haus.")}
    verdict = arbiter.judge("Welches Wort steht in § 433 BGB, und warum so spät?", strange)
    assert verdict.served == "single"


def test_scores_and_right_answers_are_not_looked_at():
    given = records()
    arbiter = Arbiter.fit(given)
    changed = SelfKnowledge.of(given[0].question, ["1"], direct=("1", 0), single=("Adam", 1))
    assert (changed.direct.answer, given[0].direct.score) == (given[0].direct.answer, 1)
    seen = [Seen.in_record(each, arbiter.actions) for each in (given[0], changed)]
    first, second = arbiter.chances(seen)
    assert first.tolist() == second.tolist()


def test_what_is_missing_is_named():
    with pytest.raises(InputError, match="none were given"):
        Arbiter.fit([])
    with pytest.raises(InputError, match="missing: single"):
        Arbiter.fit(records()).judge("Who?", {"direct": CandidateAnswer("Ada")})


def test_of_equal_chances_the_dearest_answer_is_served():
    assert served_of(np.array([[0.5, 0.5], [0.6, 0.5]])).tolist() == [1, 0]
