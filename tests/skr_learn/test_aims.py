"""Aims: what is chosen keeps to them, and its weight of cost stands where little depends on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skr_core.errors import InputError
from skr_learn.aims import PARITY, Aim, Baseline, Served, cross_fitted, middle_of_plateau
from skr_learn.costs import ActionTable
from skr_learn.stages import Outlook

COSTS = np.array([0.0, 1.0, 3.0])


def outlook_of(seed: int, n: int = 80) -> Outlook:
    """What is expected of n questions, with noise."""
    draws = np.random.default_rng(seed)
    chances = np.sort(draws.random((n, 3)), axis=1)
    gains = chances[:, 1:] - chances[:, :1] + 0.3 * draws.normal(size=(n, 2))
    return Outlook([gains], [], COSTS, answers=0)


def world(seed: int, n: int = 80) -> tuple[ActionTable, np.ndarray, list[Served]]:
    """What three actions are worth, and what is served at ascending weights of cost."""
    outlook = outlook_of(seed, n)
    draws = np.random.default_rng(seed)
    chances = np.sort(draws.random((n, 3)), axis=1)  # as in the outlook
    scores = (draws.random((n, 3)) < chances).astype(float)
    table = ActionTable(
        ("direct", "single", "loop"), scores, np.tile(COSTS, (n, 1)), np.ones((n, 3))
    )
    weights = outlook.weights(200)
    return table, weights, [Served.of(table, outlook.ends(float(each))) for each in weights]


SEEDS = st.integers(0, 10_000)


@settings(max_examples=25)
@given(SEEDS, st.floats(0, 3.5))
def test_a_budget_is_never_exceeded(seed: int, budget: float):
    table, _, rules = world(seed)
    chosen = Aim(budget=budget).choose(rules, Baseline.of(table))
    if chosen is None:
        assert all(rule.costs.mean() > 0 for rule in rules)
    else:
        assert rules[chosen].costs.mean() <= budget + 1e-9


@settings(max_examples=25)
@given(SEEDS)
def test_a_larger_budget_is_worth_no_less(seed: int):
    table, _, rules = world(seed)
    best = Baseline.of(table)
    chosen = [Aim(budget=each).choose(rules, best) for each in (0.2, 0.8, 2.0, 9.0)]
    scores = [-1.0 if place is None else rules[place].scores.mean() for place in chosen]
    assert scores == sorted(scores)


@settings(max_examples=25)
@given(SEEDS, st.floats(0, 1))
def test_a_rate_is_kept_and_used(seed: int, rate: float):
    table, _, rules = world(seed)
    chosen = Aim(rate=rate).choose(rules, Baseline.of(table))
    shares = np.array([rule.retrieved.mean() for rule in rules])
    allowed = shares[shares <= rate + 0.5 / len(table)]
    if chosen is None:
        assert not len(allowed)
    else:
        assert shares[chosen] == allowed.max()


@settings(max_examples=25)
@given(SEEDS, st.floats(0, 2))
def test_a_weight_is_weighed(seed: int, weight: float):
    table, _, rules = world(seed)
    chosen = Aim(weight=weight).choose(rules, Baseline.of(table))
    assert chosen is not None
    worths = [rule.scores.mean() - weight * rule.costs.mean() for rule in rules]
    assert worths[chosen] == pytest.approx(max(worths))


@settings(max_examples=25)
@given(SEEDS)
def test_at_parity_nothing_is_lost_or_paid_for_nothing(seed: int):
    table, _, rules = world(seed)
    best = Baseline.of(table)
    chosen = Aim().choose(rules, best)
    if chosen is not None:
        gain = rules[chosen].scores.mean() - best.scores.mean()
        assert gain >= -PARITY
        if rules[chosen].costs.mean() > best.cost + 1e-9:
            assert gain > 0


@settings(max_examples=25)
@given(SEEDS)
def test_what_is_chosen_is_dominated_by_no_other_rule(seed: int):
    table, _, rules = world(seed)
    for aim in (Aim(), Aim(budget=1.0), Aim(weight=0.1)):
        chosen = aim.choose(rules, Baseline.of(table))
        if chosen is None:
            continue
        cost, score = rules[chosen].costs.mean(), rules[chosen].scores.mean()
        for other in rules:
            if np.isfinite(aim.worth(other, Baseline.of(table), caution=1.0)):
                better = other.scores.mean() >= score and other.costs.mean() < cost - 1e-9
                assert not (better and other.scores.mean() >= score)


@settings(max_examples=25)
@given(SEEDS)
def test_weights_ascend_from_zero_and_decide_everything_at_their_ends(seed: int):
    _, weights, rules = world(seed)
    assert weights[0] == 0
    assert (np.diff(weights) >= 0).all()
    assert (rules[-1].taken == 0).all()
    costs = [rule.costs.mean() for rule in rules]
    assert costs == sorted(costs, reverse=True)


@settings(max_examples=25)
@given(SEEDS, st.integers(0, 199))
def test_the_weight_stands_within_its_plateau_and_never_below_zero(seed: int, place: int):
    _, weights, rules = world(seed)
    outlook = outlook_of(seed)
    chosen = min(place, len(rules) - 1)
    middle = middle_of_plateau(weights, rules, chosen)
    assert middle >= 0
    # One of 80 is more than a hundredth: all are decided as at the rule that was chosen.
    assert (outlook.ends(middle) == rules[chosen].taken).all()


def test_the_middle_of_a_wide_plateau_is_taken():
    table = world(0, n=10)[0]
    never, always = (Served.of(table, np.full(10, column)) for column in (0, 1))
    weights = np.array([0.0, 0.1, 0.2, 0.9, 1.0])
    rules = [always, never, never, never, always]
    assert middle_of_plateau(weights, rules, 2) == pytest.approx(0.5)


class TestCrossFitting:
    def test_each_question_is_judged_by_a_rule_that_has_not_seen_its_group(self):
        """A rule for each group is right on that one alone: chosen elsewhere, none is right."""
        groups = np.repeat(np.arange(5), 10)
        table = world(0, n=50)[0]
        rules = []
        for group in range(5):
            served = Served.of(table, np.ones(50, dtype=int))
            served.scores[:] = groups == group
            rules.append(served)
        found = cross_fitted(Aim(weight=0.0), rules, Baseline.of(table), groups)
        assert found is not None
        assert found.scores.sum() == 0

    def test_where_no_rule_serves_the_aim_there_is_none(self):
        table = world(0)[0]
        dear = [Served.of(table, np.full(80, 2))]
        groups = np.arange(80)
        assert cross_fitted(Aim(budget=0.1), dear, Baseline.of(table), groups) is None
        forced = cross_fitted(Aim(budget=0.1), dear, Baseline.of(table), groups, anyway=True)
        assert forced is not None
        assert (forced.taken == 2).all()

    @pytest.mark.parametrize("seed", range(5))
    def test_a_budget_holds_on_questions_that_were_not_seen(self, seed: int):
        table, _, rules = world(seed, n=400)
        found = cross_fitted(Aim(budget=1.0), rules, Baseline.of(table), np.arange(400))
        assert found is not None
        assert found.costs.mean() <= 1.05


@pytest.mark.parametrize(
    "given",
    [
        {"budget": -1},
        {"budget": np.nan},
        {"budget": np.inf},
        {"weight": -0.1},
        {"weight": np.nan},
        {"rate": 1.5},
        {"rate": np.nan},
        {"rate": 0.5, "budget": 1},
    ],
    ids=str,
)
def test_an_aim_that_cannot_be_is_refused(given: dict[str, Any]):
    with pytest.raises(InputError):
        Aim(**given)
