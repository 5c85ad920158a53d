"""Arbiters and ladders in replay: what is served, what is paid for, and what was measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skr_learn import SelfKnowledge, read_self_knowledge, replay
from skr_learn.calibration.judging import Replayed, judge_group
from skr_learn.calibration.replaying import THREE
from skr_learn.learning import ActionTable, boosting
from skr_learn.self_knowledge.records import Outcome


def asked(n: int = 60, *, steps: float | None = 4.0) -> list[SelfKnowledge]:
    """Sums are known; leaders stand in what one round finds, and captains in what the loop does."""
    return [
        SelfKnowledge(
            question,
            (),
            {
                "direct": Outcome(direct, float(right == "direct"), retrievals=0.0),
                "single": Outcome(single, float(right == "single"), retrievals=1.0),
                "loop": Outcome(loop, float(right == "loop"), retrievals=steps),
            },
        )
        for number in range(n)
        for question, direct, single, loop, right in (
            (f"What is {number} plus 1?", f"{number + 1}", "Adam", "Eve", "direct"),
            (f"Who led team {number}?", "7", f"Ada {number}", "None of them", "single"),
            (f"Whose captain came from {number}?", "12", "Not said", f"Bo {number}", "loop"),
        )
    ]


def test_what_is_served_is_scored_and_what_is_taken_is_paid():
    scores = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    table = ActionTable(THREE, scores, np.tile([0.0, 1.0, 4.0], (2, 1)))
    arbiter = Replayed(
        np.zeros((1, 2)),
        served=np.array([[0, 1]]),
        paid=np.array([[2, 2]]),
        drafts=True,
        weighs=True,
    )
    found = judge_group(table, {"arbiter": arbiter}).routers["arbiter"]
    assert (found.accuracy, found.retrieval_rate, found.retrievals) == (1.0, 1.0, 4.0)
    assert found.model_calls == 5.0  # the loop's four answers and the direct one
    assert found.shares == {"direct": 0.5, "single": 0.5, "multistep": 0.0}
    assert found.gain_over_always.mean == 0.5
    assert found.regret.mean == -0.5
    assert (found.corruption, found.corruption_of_always) == (0.0, 0.5)


def test_an_arbiter_serves_the_likeliest_answer():
    row = replay(asked(), routers=["always", "arbiter"]).row()["overall"]["routers"]
    found = row["arbiter"]
    assert found["accuracy"] == pytest.approx(2 / 3, abs=0.03)
    assert found["gain_over_always"] == pytest.approx(1 / 3, abs=0.03)
    assert found["gain_over_always_ci"][0] > 0
    # The line at as many retrievals is always itself, compared question by question.
    assert found["gain"] == pytest.approx(found["gain_over_always"])
    assert found["gain_ci"] == pytest.approx(found["gain_over_always_ci"])
    assert (found["retrieval_rate"], found["retrievals"], found["model_calls"]) == (1.0, 1.0, 2.0)
    assert set(found) - set(row["always"]) == {
        "retrievals",
        "model_calls",
        "shares",
        "gain_over_always",
        "gain_over_always_ci",
        "corruption",
        "corruption_of_always",
    }


def test_an_arbiter_of_three_answers_pays_for_the_loop():
    found = replay(asked(), routers=["arbiter"], actions=THREE, budget=2.0).overall
    arbiter = found.routers["arbiter"]
    assert arbiter.accuracy >= 0.97
    assert (arbiter.retrievals, arbiter.model_calls) == (4.0, 5.0)


def test_a_ladder_pays_only_for_what_it_climbs():
    some = asked(80)
    found = replay(some[:180], some[180:], routers=["ladder"], actions=THREE, budget=2.0).overall
    ladder = found.routers["ladder"]
    assert ladder.accuracy >= 0.97
    # None for a third of the questions, one round for another, and the loop's four.
    assert ladder.retrievals == pytest.approx(5 / 3, abs=0.1)
    assert ladder.model_calls == pytest.approx(5 / 3 + 1, abs=0.1)
    assert ladder.area_gain.mean > 0  # it orders the questions before it retrieves


def test_a_ladder_keeps_to_its_budget():
    rng = np.random.default_rng(0)
    noisy = [
        SelfKnowledge.of(
            f"Who {word} {n}?",
            direct=("Ada", float(rng.random() < 0.3)),
            single=("Bo", float(rng.random() < 0.3 + 0.3 * (word == "sang"))),
            loop=("Cy", float(rng.random() < 0.5 + 0.3 * (word == "sang"))),
        )
        for n, word in enumerate(["sang", "wrote", "built"] * 100)
    ]
    found = replay(noisy[:200], noisy[200:], routers=["ladder"], actions=THREE, budget=1.5)
    ladder = found.overall.routers["ladder"]
    assert 1.0 < ladder.retrievals <= 1.5
    assert ladder.accuracy > found.overall.never


def test_they_are_judged_on_other_records_too():
    some = asked()
    found = replay(some[:90], some[90:], routers=["arbiter", "ladder"], budget=None).overall
    assert found.n == 90
    assert all(each.accuracy >= 0.6 for each in found.routers.values())


def test_no_score_of_a_judged_record_is_looked_at():
    some = asked(30)
    turned = [
        replace(
            each,
            outcomes={
                name: replace(outcome, score=1 - outcome.score)
                for name, outcome in each.outcomes.items()
            },
        )
        for each in some[45:]
    ]
    found = replay(some[:45], some[45:], routers=["arbiter"]).overall.routers["arbiter"]
    other = replay(some[:45], turned, routers=["arbiter"]).overall.routers["arbiter"]
    assert found.shares == other.shares


@pytest.fixture
def fewer_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the boosted trees, in steps twice as long, which gain almost as much."""
    monkeypatch.setattr(boosting, "TREES", boosting.TREES // 2)
    monkeypatch.setattr(boosting, "RATE", boosting.RATE * 2)


@pytest.mark.data
def test_on_six_data_sets_the_likelier_answer_is_served(data_dir, fewer_trees):
    """Measured 0.018 above always; the margin is that of another draw of the folds."""
    recorded = read_self_knowledge(data_dir / "adarague_llama31_8b_dev.jsonl.gz")
    found = replay(recorded, routers=["arbiter"]).overall.routers["arbiter"]
    assert found.gain_over_always.mean >= 0.014
    assert found.gain_over_always.low > 0


@pytest.mark.data
@pytest.mark.timeout(300)
def test_on_another_source_no_answer_is_lost_to_what_was_learnt_from_six_sets(
    data_dir, fewer_trees
):
    """Without drawing what is novel towards the averages, 2.5 points are lost."""
    known, other = (
        read_self_knowledge(data_dir / f"{name}.jsonl.gz", mixed_stamps=True)
        for name in ("adarague_llama31_8b_dev", "realtimeqa_gpt3_2022_2023")
    )
    found = replay(known, other, routers=["arbiter"]).overall.routers["arbiter"]
    assert found.gain_over_always.mean >= -0.002
