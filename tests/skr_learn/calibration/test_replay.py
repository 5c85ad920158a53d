"""Replay: exact output, signals, groups, and what was measured on recorded answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skr_core.errors import InputError
from skr_learn import SelfKnowledge, read_self_knowledge, replay
from skr_learn.calibration.replaying import ROUTERS, THREE
from skr_learn.self_knowledge.records import Outcome
from tests.skr_learn.routers.facts import KNOWN, UNKNOWN, known, records, unknown

KEYS = {
    "accuracy",
    "retrieval_rate",
    "random_line",
    "gain",
    "gain_ci",
    "accuracy_ci",
    "regret",
    "regret_ci",
    "area_gain",
    "area_gain_ci",
    "saved_at_parity",
    "beneficial_guidance",
    "beneficial_guidance_ci",
    "beneficial_guidance_n",
    "accuracy_when_known",
    "accuracy_when_known_ci",
    "accuracy_when_known_n",
}


def labelled(n: int = 20) -> list[SelfKnowledge]:
    rivers = [known(each, dataset="rivers", unsure="False", p=0.9) for each in KNOWN[:n]]
    return rivers + [
        unknown(each, dataset="firms", unsure="True", p=None if each == "Acme" else 0.1)
        for each in UNKNOWN[:n]
    ]


def test_the_output_has_these_keys_and_no_others():
    row = replay(labelled(), routers=ROUTERS, by="extra.dataset").row()
    assert set(row) == {"overall", "groups"}
    assert set(row["groups"]) == {"rivers", "firms"}
    for group in (row["overall"], *row["groups"].values()):
        assert set(group) == {"n", "never", "always", "oracle", "routers"}
        assert list(group["routers"]) == list(ROUTERS)
        assert all(set(result) == KEYS for result in group["routers"].values())
    overall = row["overall"]
    assert (overall["n"], overall["never"], overall["always"], overall["oracle"]) == (
        40,
        0.5,
        0.5,
        1.0,
    )


def test_constants_lie_on_the_line():
    routers = replay(labelled(), routers=["always", "never"]).overall.routers
    for name, rate in (("always", 1.0), ("never", 0.0)):
        result = routers[name]
        assert (result.retrieval_rate, result.accuracy, result.gain.mean) == (rate, 0.5, 0.0)


def test_a_truth_value_decides_by_itself():
    result = replay(labelled(), routers=["signal:extra.unsure"]).overall.routers
    found = result["signal:extra.unsure"]
    assert (found.accuracy, found.retrieval_rate) == (1.0, 0.5)


def test_a_number_is_calibrated_and_may_be_missing():
    found = replay(labelled(), routers=["signal:-extra.p"]).overall.routers["signal:-extra.p"]
    assert found.accuracy > 0.9
    assert found.area_gain.mean > 0


@pytest.mark.parametrize(
    "field", ["extra.em_direct", "extra.correct_multistep", "f1_direct", "answer_origin_rule"]
)
def test_a_signal_from_gold_is_refused(field: str):
    with pytest.raises(InputError, match="right answer"):
        replay(labelled(), routers=[f"signal:{field}"])


def test_fitting_on_some_and_judging_on_others():
    some = labelled()
    result = replay(some[::2], some[1::2], routers=["paper", "classifier"]).overall
    assert result.n == 20
    assert all(each.accuracy == 1.0 for each in result.routers.values())


def test_a_truth_value_need_not_be_in_the_records_fitted_on():
    result = replay(records(10), labelled(), routers=["signal:unsure"]).overall.routers
    assert result["signal:unsure"].accuracy == 1.0


def test_names_and_fields_are_checked():
    with pytest.raises(InputError, match="no router 'best'"):
        replay(labelled(), routers=["best"])
    with pytest.raises(InputError, match=r"extra\.topic"):
        replay(labelled(), routers=["always"], by="extra.topic")
    with pytest.raises(InputError, match="number or a truth"):
        replay(labelled(), routers=["signal:extra.topic"])


def multistep(n: int = 20, retrievals: float | None = None) -> list[SelfKnowledge]:
    """Records that one round never helps, and several rounds where the model knows nothing."""
    return [
        replace(
            each,
            outcomes={
                "direct": each.direct,
                "single": Outcome("", 0.0, retrievals=1.0),
                "loop": Outcome("", 1 - each.direct.score, retrievals=retrievals),
            },
        )
        for each in records(n)
    ]


def test_three_actions_within_the_budget():
    routers = ["combined", "multistep", "never"]
    row = replay(multistep(), routers=routers, actions=THREE, budget=2.2).row()
    assert row["assumed_multistep_steps"] == 3.35
    found = row["overall"]["routers"]
    assert set(found["combined"]) == KEYS | {"retrievals", "model_calls", "shares"}
    assert list(found["combined"]["shares"]) == ["direct", "single", "multistep"]
    assert found["combined"]["accuracy"] > 0.9
    assert found["combined"]["retrievals"] <= 2.2
    assert found["multistep"]["retrievals"] == pytest.approx(3.35)
    assert found["never"]["model_calls"] == 1.0
    assert set(row["overall"]) == {"n", "never", "always", "multistep", "oracle", "routers"}


def test_recorded_steps_are_counted():
    row = replay(multistep(retrievals=4.0), routers=["multistep"], actions=THREE, budget=2.0).row()
    assert "assumed_multistep_steps" not in row
    assert row["overall"]["routers"]["multistep"]["retrievals"] == 4.0


def test_three_actions_need_their_answers():
    with pytest.raises(InputError, match="'loop'"):
        replay(records(10), actions=THREE, budget=2.0)
    with pytest.raises(InputError, match="two actions, not three"):
        replay(multistep(), routers=["signal:unsure"], actions=THREE, budget=2.0)
    with pytest.raises(InputError, match="multistep"):
        replay(records(10), routers=["multistep"])


def test_a_budget_holds_on_the_questions_judged():
    rng = np.random.default_rng(0)
    noisy = [
        SelfKnowledge.of(
            f"Who {word} {n}?",
            direct=("", float(rng.random() < 0.3)),
            single=("", float(rng.random() < 0.3 + 0.3 * (word == "sang"))),
            loop=("", float(rng.random() < 0.5 + 0.3 * (word == "sang"))),
        )
        for n, word in enumerate(["sang", "wrote", "built"] * 100)
    ]
    row = replay(noisy, routers=["combined-question"], actions=THREE, budget=1.5).overall
    assert row.routers["combined-question"].retrievals <= 1.55


@pytest.mark.data
def test_on_six_data_sets_it_saves_retrievals(data_dir):
    """Measured 0.019 to 0.020 and 0.55; the margins are twice the spread over folds."""
    recorded = read_self_knowledge(data_dir / "adarague_llama31_8b_dev.jsonl.gz")
    result = replay(recorded, routers=["combined", "paper"], by="extra.dataset").overall
    combined = result.routers["combined"]
    assert combined.area_gain.mean >= 0.0155
    assert combined.saved_at_parity >= 0.5
    assert combined.regret.low <= 0  # no worse than always, within its interval
    assert combined.area_gain.mean > result.routers["paper"].area_gain.mean + 0.005


@pytest.mark.data
def test_three_actions_on_six_data_sets(data_dir):
    recorded = read_self_knowledge(data_dir / "adarague_llama31_8b_dev.jsonl.gz")
    found = replay(recorded, routers=["combined"], actions=THREE, budget=1.85).overall
    assert found.multistep == pytest.approx(0.423, abs=0.001)
    assert found.routers["combined"].accuracy >= 0.4133
    assert found.routers["combined"].retrievals <= 1.85


@pytest.mark.data
def test_a_stated_uncertainty_gives_the_published_figure(data_dir):
    recorded = read_self_knowledge(data_dir / "whentoretrieve_nq_chatgpt.jsonl.gz")
    result = replay(recorded, routers=["signal:extra.giveup"]).overall
    found = result.routers["signal:extra.giveup"]
    assert found.accuracy == pytest.approx(0.5, abs=1e-3)
    assert found.retrieval_rate == pytest.approx(0.2461, abs=1e-3)
