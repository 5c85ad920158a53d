"""What calibration says: actions, costs, the kind of question that loses, honest constants."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skr_core import HashingEmbedder, Price, Usage, load_router
from skr_core.errors import InputError
from skr_core.routers import AlwaysRetrieve, NeverRetrieve
from skr_core.testing import ScriptedModel
from skr_core.types import Stamp
from skr_learn import SelfKnowledge, calibrate
from skr_learn.calibration.kinds import typical_words, weakest_kind
from skr_learn.learning import Training
from skr_learn.self_knowledge.records import Outcome
from tests.skr_learn.routers.facts import KNOWN, UNKNOWN, answered, firm, river

pytestmark = pytest.mark.usefixtures("few_trees")

STAMP = Stamp(model="m", retriever="r", metric="contains")
KINDS = {
    "Into which sea does the river {} flow?": (1.0, 1.0, 1.0),
    "Who keeps the books of the {} company?": (0.0, 1.0, 1.0),
    "When did the father of the painter {} die?": (0.0, 0.0, 1.0),
}
TOKENS = {"direct": 100, "single": 1000, "loop": 3000}


def three(n: int = 30, *, usage: bool = True) -> list[SelfKnowledge]:
    """As many questions of each kind: known, helped by one round, helped by several."""
    return [
        SelfKnowledge(
            text.format(name),
            (name,),
            {
                action: Outcome(
                    "" if action != "direct" else f"{name}.",
                    score,
                    Usage(TOKENS[action], 0, 1) if usage else None,
                    retrievals=None if action == "loop" else float(action == "single"),
                )
                for action, score in zip(TOKENS, scores, strict=True)
            },
            STAMP,
        )
        for name in (KNOWN + UNKNOWN)[:n]
        for text, scores in KINDS.items()
    ]


@pytest.fixture(scope="module")
def calibration():
    return calibrate(three(60), routers=["combined-question"])


def test_three_actions_go_their_ways(calibration, tmp_path: Path):
    calibration.save(tmp_path)
    router = load_router(tmp_path, model=ScriptedModel(name="m"))
    actions = [router.decide(text.format("Omega")).action for text in KINDS]
    assert actions == ["direct", "single", "loop"]
    rounds = [router.decide(text.format("Omega")).max_rounds for text in KINDS]
    assert rounds == [None, 1, None]


def test_the_sentence_speaks_of_actions_and_cost(calibration):
    curve = calibration.curve
    assert curve.unit == "tokens"
    shares, saved = curve.shares, curve.saved
    assert curve.sentence.startswith(
        f"Routing pays on these 180 records: combined-question answers {shares['direct']:.0%} of "
        f"the questions without retrieval and {shares['single']:.0%} in one round: {saved:.0%} "
        "fewer tokens at ".replace("%", " %")
    )
    assert saved == pytest.approx(0.55, abs=0.02)
    assert "(loop)" in curve.sentence
    assert curve.chosen_cost == pytest.approx((0.1 + 1.0 + 3.0) / 3, abs=0.1)
    assert sum(curve.shares.values()) == pytest.approx(1.0)


def test_cost_is_counted_as_asked():
    some = three(20)
    assert calibrate(some, routers=["benefit"], cost="calls").curve.constant_costs["loop"] == 1.0
    priced = calibrate(some, routers=["benefit"], cost="usd", prices={"m": Price(1.0, 1.0)}).curve
    assert priced.constant_costs["single"] == pytest.approx(0.001)
    with pytest.raises(InputError, match="prices"):
        calibrate(some, cost="usd")
    with pytest.raises(InputError, match="usage"):
        calibrate(three(20, usage=False), cost="tokens")


def test_unknown_retrievals_are_assumed_and_it_says_so():
    curve = calibrate(three(20, usage=False), routers=["benefit"], assumed_steps=4.0).curve
    assert (curve.unit, curve.constant_costs["loop"]) == ("retrievals", 4.0)
    assert "taken to retrieve 4 times" in curve.sentence
    known = calibrate(three(20), routers=["benefit"])
    assert "taken to retrieve" not in known.curve.sentence


def test_the_calls_of_combined_are_counted():
    curve = calibrate(three(60), routers=["combined"]).curve
    assert curve.own_calls
    assert "its own calls included" in curve.sentence
    # Where it retrieves it has paid for the direct answer before.
    spent = 0.1 + (1.0 + 0.1) * curve.shares["single"] / curve.shares["single"] - 0.1
    assert spent < curve.costs[-1]
    assert curve.costs[-1] == pytest.approx(3.1)


def test_actions_can_be_restricted():
    curve = calibrate(three(30), routers=["benefit"], actions=["direct", "single"]).curve
    assert set(curve.constants) == {"direct", "single"}
    with pytest.raises(InputError, match="no action 'twice'"):
        calibrate(three(20), actions=["direct", "twice"])
    with pytest.raises(InputError, match="'loop'"):
        calibrate([answered(f"{n}?", 0, 1) for n in range(20)], actions=["direct", "loop"])


def test_a_budget_and_a_price():
    some = three(60)
    cheap = calibrate(some, routers=["combined-question"], budget=1.0).curve
    assert cheap.chosen_cost <= 1.05
    dear = calibrate(some, routers=["combined-question"], price=5.0)
    assert isinstance(dear.router, NeverRetrieve)
    # The loop adds 1.0 to a third of the questions for 2,000 tokens more, one round for 900.
    middle = calibrate(some, routers=["combined-question"], price=0.7).curve
    assert middle.shares["loop"] < 0.1 < middle.shares["single"]


def test_the_best_constant_is_saved_as_its_action(tmp_path: Path):
    once = [answered(f"Is {n} lucky?", 0.0, 1.0) for n in range(40)]
    calibrate(once).save(tmp_path / "once")
    assert load_router(tmp_path / "once").decide("Who?").action == "single"
    loops = [SelfKnowledge.of(f"{n}?", direct=("", 0), loop=("", 1)) for n in range(40)]
    calibrate(loops).save(tmp_path / "loop")
    assert load_router(tmp_path / "loop").decide("Who?").action == "loop"


@pytest.mark.parametrize("n", [20, 200])
def test_shuffled_labels_end_with_a_constant(n: int):
    rng = np.random.default_rng(n)
    some = three(60)[:n]
    order = rng.permutation(len(some))
    mixed = [
        replace(each, outcomes=some[index].outcomes)
        for each, index in zip(some, order, strict=True)
    ]
    assert calibrate(mixed).curve.recommended != "router"


def test_the_kind_that_loses_is_named():
    rivers = [river(f"{name} {n}") for name in KNOWN for n in range(4)]
    firms = [firm(f"{name} {n}") for name in UNKNOWN for n in range(4)]
    some = [answered(each, 1, 1) for each in rivers + firms]
    training = Training.of(some, HashingEmbedder(), drafts=False)
    change = np.array([0.0] * len(rivers) + [-0.5, 0.0] * (len(firms) // 2))
    kind = weakest_kind(training, change)
    assert "company" in kind.words
    assert "company" in kind.example
    assert kind.change.mean == pytest.approx(-0.25, abs=0.02)
    assert kind.change.n == pytest.approx(120, abs=2)
    assert weakest_kind(training, np.zeros(len(some))) is None
    assert weakest_kind(training[:50], change[:50]) is None


def test_typical_words_are_of_the_kind_and_not_of_the_others():
    asked = ["the red boat", "the red car", "the blue boat", "the blue car"]
    assert typical_words(asked, np.array([True, True, False, False]))[0] == "red"


def test_a_constant_says_what_to_do():
    sentence = calibrate([answered(f"Is {n} odd?", 1.0, 0.0) for n in range(30)]).curve.sentence
    assert "does not pay" in sentence
    assert "answer every question directly" in sentence
    assert isinstance(
        calibrate([answered(f"Is {n} odd?", 0, 1) for n in range(30)]).router, AlwaysRetrieve
    )
