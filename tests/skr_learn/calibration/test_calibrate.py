"""From collecting to routing, with a model of which it is known what it knows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skr_core import HashingEmbedder, load_router
from skr_core.errors import InputError, StampMismatch
from skr_core.routers import AlwaysRetrieve, NeverRetrieve
from skr_core.types import Stamp
from skr_learn import RoutingCurve, SelfKnowledge, calibrate
from skr_learn.learning.folds import folds
from skr_learn.routers import KNNRouter
from tests.skr_learn.routers.facts import (
    KNOWN,
    UNKNOWN,
    HalfKnowingModel,
    answered,
    firm,
    known,
    records,
    river,
    unknown,
)

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture(scope="module")
def collected() -> list[SelfKnowledge]:
    """The first 20 rivers and firms, answered by a model that knows the rivers."""
    stamp = Stamp(model="half-knowing", retriever="mapping", metric="contains")
    rivers = [
        SelfKnowledge.of(river(each), direct=(f"The {each} sea.", 1), single=(f"{each} sea.", 1),
                         stamp=stamp)
        for each in KNOWN[:20]
    ]  # fmt: skip
    return rivers + [
        SelfKnowledge.of(firm(each), direct=("I don't know.", 0), single=(f"Mr {each} [1].", 1),
                         stamp=stamp)
        for each in UNKNOWN[:20]
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["paper", "benefit", "classifier", "combined-question"])
def test_nine_of_ten_unseen_questions_go_the_right_way(collected, name: str):
    router = calibrate(collected, routers=[name]).router
    rivers = [router.decide(river(each)).retrieve for each in KNOWN[20:]]
    firms = [router.decide(firm(each)).retrieve for each in UNKNOWN[20:]]
    right = [not each for each in rivers] + firms
    assert np.mean(right) >= 0.9


def test_the_chosen_router_uses_the_models_own_answer(collected, tmp_path: Path):
    model = HalfKnowingModel()
    calibration = calibrate(collected, model=model)
    assert calibration.curve.recommended == "router"
    calibration.save(tmp_path)
    router = load_router(tmp_path, model=model)
    assert router.decide(firm("Omega")).retrieve
    assert not router.decide(river("Omega")).retrieve


def test_the_curve_says_what_is_gained(collected):
    curve = calibrate(collected, routers=["benefit"]).curve
    assert isinstance(curve, RoutingCurve)
    assert (curve.constants["direct"].mean, curve.constants["single"].mean) == (0.5, 1.0)
    assert curve.chosen.mean >= 0.95
    assert curve.chosen_rate == pytest.approx(0.5, abs=0.1)
    assert curve.random_line[1] == pytest.approx(0.5 + 0.5 * curve.costs[1])
    assert all(low <= high for low, high in zip(curve.low, curve.high, strict=True))
    assert max(curve.oracle) == 1.0
    assert "Routing pays" in curve.sentence


def test_where_routing_does_not_pay_a_constant_is_saved(tmp_path: Path):
    draws = np.random.default_rng(0).random((200, 2))
    noise = [
        answered(f"Is {n} lucky?", float(one < 0.4), float(two < 0.6))
        for n, (one, two) in enumerate(draws)
    ]
    calibration = calibrate(noise)
    assert calibration.curve.recommended == "single"
    assert "does not pay" in calibration.curve.sentence
    calibration.save(tmp_path)
    assert isinstance(load_router(tmp_path), AlwaysRetrieve)
    turned = [answered(each.question, each.retrieved.score, each.direct.score) for each in noise]
    assert isinstance(calibrate(turned).router, NeverRetrieve)


def test_a_wanted_rate_is_met():
    calibration = calibrate(records(30), routers=["combined-question"], retrieval_rate=0.25)
    assert calibration.curve.chosen_rate == pytest.approx(0.25, abs=0.1)


def test_a_price_no_benefit_pays_stops_retrieval():
    some = [known(each) for each in KNOWN[:15]]
    some += [answered(firm(n), 0.0, 0.5, stamp=some[0].stamp) for n in UNKNOWN[:15]]
    assert isinstance(calibrate(some, price=0.9).router, NeverRetrieve)
    assert calibrate(some, price=0.1).curve.recommended == "router"


def test_one_class_alone(tmp_path: Path):
    assert isinstance(calibrate([unknown(each) for each in UNKNOWN]).router, AlwaysRetrieve)
    assert isinstance(calibrate([known(each) for each in KNOWN]).router, NeverRetrieve)


def test_no_question_is_judged_by_a_router_that_has_seen_it():
    groups = np.array([0, 1, 2, 0, 3, 4, 5, 0, 5, 6])
    judged = []
    for fit_on, judge_on in folds(groups):
        assert not set(groups[fit_on]) & set(groups[judge_on])
        judged += judge_on.tolist()
    assert sorted(judged) == list(range(len(groups)))


def test_duplicates_do_not_make_it_look_better():
    rng = np.random.default_rng(0)
    once = [answered(f"Is {n} lucky?", *map(float, rng.random(2) < 0.5)) for n in range(60)]
    curve = calibrate(once * 3, routers=["paper", "benefit"]).curve
    assert all(each.mean < 0.05 for each in curve.compared.values())


@pytest.mark.parametrize("name", ["benefit", "paper", "classifier"])
def test_routers_of_two_actions_retrieve_alike_in_every_fold(name: str):
    # Which retrieving action is the best depends on the questions that a fold leaves out.
    made = [
        SelfKnowledge.of(
            f"Who leads {n}?", direct=("", 0), single=("A", n % 2), loop=("B", not n % 2)
        )
        for n in range(41)
    ]
    curve = calibrate(made, routers=[name], arbiter=False).curve
    assert (tuple(curve.shares), curve.recommended) == (("direct", "loop"), "loop")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"routers": ["oracle"]}, "no router"),
        ({"retrieval_rate": 0.5, "price": 0.1}, "give one of"),
        ({"retrieval_rate": 1.5}, "between"),
        ({"price": -0.1}, "from 0"),
    ],
)
def test_options_are_checked(options: dict, word: str):
    with pytest.raises(InputError, match=word):
        calibrate(records(10), **options)


@pytest.mark.parametrize("wrong", ["records.jsonl", Path("records.jsonl"), [{"question": "?"}]])
def test_what_is_no_records_is_told(wrong: object):
    with pytest.raises(InputError, match=r"read_self_knowledge\(path\) reads one"):
        calibrate(wrong)


def test_too_few_records_are_an_error():
    with pytest.raises(InputError, match="too few"):
        calibrate(records(3))


def test_records_of_two_models_are_an_error():
    strange = answered("Who?", 0.0, 1.0)
    with pytest.raises(StampMismatch, match="model"):
        calibrate([*records(10), strange])


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_curve_is_drawn(collected, tmp_path: Path, ending: str):
    curve = calibrate(collected, routers=["paper"]).curve
    curve.plot(tmp_path / f"curve.{ending}")
    assert (tmp_path / f"curve.{ending}").stat().st_size > 1000
    with pytest.raises(InputError, match="ends in"):
        curve.plot(tmp_path / "curve.txt")


def test_progress_ends_at_the_end():
    told: list[tuple[int, int]] = []
    calibrate(records(10), routers=["paper"], on_progress=lambda *done: told.append(done))
    assert told[-1][0] == told[-1][1] == len(told)


def test_the_default_embedder_keeps_small_words():
    sparse = HashingEmbedder().embed_sparse
    assert sparse(["who is it"]).nnz > sparse(["it"]).nnz
    assert KNNRouter.fit(records(5)).embedder.name == HashingEmbedder.name
