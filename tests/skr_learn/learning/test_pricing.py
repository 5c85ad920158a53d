"""Prices: the dearest actions at one end, the cheapest at the other, equal questions together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_learn.learning.pricing import best_actions, price_path, price_within, rate_price

tables = st.tuples(st.integers(2, 40), st.integers(2, 3), st.integers(0, 10_000)).map(
    lambda drawn: (
        np.random.default_rng(drawn[2]).integers(-3, 4, drawn[:2]) / 3,
        np.tile(np.arange(drawn[1]) ** 1.5, (drawn[0], 1)),
    )
)


@given(tables)
def test_a_path_leads_from_the_dearest_to_the_cheapest_action(table):
    scores, costs = table
    path = price_path(scores, costs)
    spent = [
        float(costs[np.arange(len(costs)), best_actions(scores, costs, price)].mean())
        for price in path.prices
    ]
    assert spent[0] == pytest.approx(costs.max())
    assert spent[-1] == costs.min()
    assert spent == sorted(spent, reverse=True)
    assert path.weights.sum() == pytest.approx(1.0)


@given(tables)
def test_equal_questions_get_equal_actions(table):
    scores, costs = table
    for price in price_path(scores, costs).prices:
        actions: dict[tuple[float, ...], int] = {}
        for row, action in zip(scores, best_actions(scores, costs, price), strict=True):
            assert actions.setdefault(tuple(row), int(action)) == action


@given(st.floats(0, 1), st.integers(0, 1000))
def test_a_wanted_rate_is_met(rate: float, seed: int):
    n = 200
    scores = np.column_stack([np.zeros(n), np.random.default_rng(seed).random(n)])
    costs = np.tile([0.0, 1.0], (n, 1))
    retrieved = best_actions(scores, costs, rate_price(scores, costs, rate)) > 0
    assert retrieved.mean() == pytest.approx(rate, abs=0.005)


@pytest.mark.parametrize("budget", [0.0, 0.5, 1.0, 2.0, 5.0])
def test_a_budget_keeps_a_standard_error_free(budget: float):
    rng = np.random.default_rng(0)
    scores, costs = rng.random((400, 3)), np.tile([0.0, 1.0, 3.0], (400, 1))
    actions = best_actions(scores, costs, price_within(scores, costs, costs, budget))
    spent = costs[np.arange(400), actions]
    assert spent.mean() + spent.std() / 20 <= budget + 1e-9
    if 0 < budget < 2.0:  # and no more than that and one question is left over
        assert spent.mean() + spent.std() / 20 >= budget - 0.02


def test_no_price_below_nought_is_taken_for_a_budget():
    scores, costs = np.array([[1.0, 0.0]] * 10), np.array([[0.0, 1.0]] * 10)
    assert price_within(scores, costs, costs, 10.0) == 0.0
