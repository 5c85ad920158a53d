"""The curve that is drawn: nothing lies above the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_learn import calibrate
from skr_learn.costs import ActionTable
from skr_learn.curve import oracle_frontier
from tests.skr_learn.made import WORLDS, made

pytestmark = pytest.mark.usefixtures("few_trees")


@st.composite
def tables(draw: st.DrawFn) -> ActionTable:
    n, a = draw(st.integers(1, 12)), draw(st.integers(2, 3))
    numbers = np.random.default_rng(draw(st.integers(0, 10**6)))
    scores = numbers.choice([0.0, 0.25, 0.5, 1.0], (n, a))
    costs = numbers.choice([0.0, 0.5, 1.0, 2.0, 3.5], (n, a))
    return ActionTable(("direct", "single", "loop")[:a], scores, costs, costs)


@given(table=tables(), seed=st.integers(0, 10**6))
def test_no_choice_of_actions_lies_above_the_oracle(table: ActionTable, seed: int):
    at, best = oracle_frontier(table)
    numbers = np.random.default_rng(seed)
    for _ in range(20):  # each question may be served at random too
        shares = numbers.dirichlet(np.full(len(table.actions), 0.3), len(table))
        cost = (shares * table.costs).sum(axis=1).mean()
        assert (shares * table.scores).sum(axis=1).mean() <= np.interp(cost, at, best) + 1e-9
    assert best[-1] == pytest.approx(table.scores.max(axis=1).mean())
    assert at[0] == pytest.approx(table.costs.min(axis=1).mean())
    slopes = np.diff(best) / np.diff(at)
    assert (np.diff(slopes) <= 1e-9).all()


@pytest.mark.parametrize(
    ("router", "cost"),
    [("ladder", "calls"), ("question", "retrievals"), ("arbiter", "calls"), ("paper", None)],
)
def test_no_router_and_no_constant_is_drawn_above_it(router: str, cost):
    records = made(WORLDS["words"], 100, actions=3)
    curve = calibrate(records, routers=[router], cost=cost, anyway=True).curve
    below = [*zip(curve.costs, curve.accuracy, strict=True), (curve.chosen_cost, curve.chosen.mean)]
    below += [(curve.constant_costs[name], each.mean) for name, each in curve.constants.items()]
    for at, accuracy in below:
        assert accuracy <= np.interp(at, curve.oracle_costs, curve.oracle) + 1e-9
        assert at in curve.oracle_costs
