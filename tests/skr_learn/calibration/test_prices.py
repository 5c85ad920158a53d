"""What a router does at each price, and the curve that is kept beside a router."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skr_app.report import read_curve
from skr_learn import RoutingCurve, SelfKnowledge, calibrate
from skr_learn.calibration.prices import AtPrice
from skr_learn.learning import ActionTable
from skr_learn.learning.pricing import LIMIT_PRICE
from skr_learn.learning.rule import Expected
from skr_learn.metrics import Interval

SURE = Interval(1.0, 1.0, 1.0, 40)


@pytest.fixture(scope="module")
def curve() -> RoutingCurve:
    """Of expectations that are right, but for noise, of three actions."""
    rng = np.random.default_rng(0)
    scores = (rng.random((300, 3)) < [0.4, 0.6, 0.7]).astype(float)
    costs = np.tile([0.0, 1.0, 3.0], (300, 1))
    table = ActionTable(("direct", "single", "loop"), scores, costs)
    expected = scores + rng.normal(0, 0.5, scores.shape)
    taken = np.argmax(expected - 0.1 * costs, axis=1)
    return RoutingCurve.of(
        Expected(expected, costs, table, table), taken, table, router="mine", recommended="router"
    )


def test_prices_are_those_of_the_curve(curve: RoutingCurve):
    assert [each.cost for each in curve.at_prices] == list(curve.costs)
    assert [each.accuracy.mean for each in curve.at_prices] == pytest.approx(list(curve.accuracy))
    prices = [each.price for each in curve.at_prices]
    assert prices == sorted(prices, reverse=True)
    for each in curve.at_prices:
        assert sum(each.shares.values()) == pytest.approx(1)


def test_the_ends_answer_everything_directly_or_by_the_loop(curve: RoutingCurve):
    cheapest, dearest = curve.at_prices[0], curve.at_prices[-1]
    assert cheapest.shares["direct"] == 1
    assert dearest.shares["loop"] == 1
    assert dearest.change.mean == pytest.approx(0)


def test_a_sentence_follows_from_each_price(curve: RoutingCurve):
    first, last = curve.sentence_at(0), curve.sentence_at(-1)
    assert first.startswith("Where only cost counts, mine answers 100 % of the questions")
    assert "100 % fewer retrievals" in first
    assert last.startswith("Where no cost is too high, mine answers 0 % of the questions")
    assert "0 % fewer retrievals at +0.0 points" in last
    assert "and 0 % in one round" in last
    between = curve.sentence_at(len(curve.at_prices) // 2)
    assert between.startswith("Where a retrieval has to be worth")


@pytest.mark.parametrize(
    ("price", "words"),
    [
        (LIMIT_PRICE, "Where only cost counts"),
        (-LIMIT_PRICE, "Where no cost is too high"),
        (0.015, "Where a thousand tokens has to be worth 1.5 points of accuracy"),
        (-0.2, "Where a thousand tokens may lose 20.0 points of accuracy"),
    ],
)
def test_a_price_in_words(price: float, words: str):
    assert AtPrice(price, {"direct": 1.0}, 0.0, SURE, SURE).named("tokens") == words


def test_the_curve_is_kept_beside_the_router(tmp_path: Path):
    records = [
        SelfKnowledge.of(f"What is {n} plus 1?", direct=("", 1), single=("", 0)) for n in range(20)
    ] + [SelfKnowledge.of(f"Who leads {n}?", direct=("", 0), single=("", 1)) for n in range(20)]
    found = calibrate(records, routers=["benefit"], arbiter=False)
    found.save(tmp_path)
    kept = read_curve(tmp_path)
    assert kept == found.curve
    assert kept is not None
    assert kept.sentence_at(0) == found.curve.sentence_at(0)
