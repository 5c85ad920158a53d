"""Choosing the price by which a router decides, or finding that a constant policy is better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_core.types import Action
from skr_learn.learning.outcomes import ActionTable
from skr_learn.learning.pricing import (
    LIMIT_PRICE,
    PricePath,
    best_actions,
    price_path,
    price_within,
    rate_price,
)
from skr_learn.learning.rows import Floats
from skr_learn.metrics import PARITY

CAUTION = 1.28
"""Standard errors by which an accuracy may be lower than it looks (one-sided 90 %)."""
GUARD = 1.64
"""Standard errors by which scores must order the questions at all (one-sided 95 %)."""
FEWEST = 10
"""Questions that a spread is estimated from; fewer may all be alike by chance."""
FINE = 200
"""Prices among which the one that separates the questions best is searched."""


@dataclass(frozen=True)
class Expected:
    """What a router expected of n records that it was not fitted on, and what was measured.

    Attributes:
        scores: Expected, shape (n, a).
        costs: Expected, shape (n, a).
        table: What the actions were worth and cost, the router's own cost included.
        constants: The same of the constant policies, which need no router.
    """

    scores: Floats
    costs: Floats
    table: ActionTable
    constants: ActionTable


@dataclass(frozen=True, slots=True)
class Rule:
    """How to decide: by a router at a price, or always for the same action.

    Attributes:
        price: Accuracy that a unit of cost is worth.
        constant: The only action; None where the router decides.
    """

    price: float
    constant: Action | None = None


@dataclass(frozen=True, slots=True)
class Aim:
    """What a price is chosen for: by default, as little cost as costs hardly any accuracy.

    Attributes:
        rate: Best accuracy at this share of questions retrieved for.
        price: Best accuracy less this much for each unit of cost.
        budget: Best accuracy at this mean cost a question.

    Raises:
        InputError: Two are given, or one is impossible.
    """

    rate: float | None = None
    price: float | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.rate, self.price, self.budget)) > 1:
            raise InputError("give one of a retrieval rate, a price and a budget")
        if self.rate is not None and not 0 <= self.rate <= 1:
            raise InputError(f"a retrieval rate is between 0 and 1, not {self.rate}")
        if self.price is not None and not 0 <= self.price < LIMIT_PRICE:
            raise InputError(f"a price is accuracy for a unit of cost, from 0, not {self.price}")
        if self.budget is not None and not self.budget >= 0:
            raise InputError(f"a budget is a mean cost between 0 and any, not {self.budget}")

    def rule(self, expected: Expected) -> Rule:
        """The rule that serves the aim on held-out expectations."""
        if self.rate is not None:
            return Rule(rate_price(expected.scores, expected.costs, self.rate))
        if self.budget is not None:
            spent = expected.table.costs
            return Rule(price_within(expected.scores, expected.costs, spent, self.budget))
        if self.price is not None:
            return price_rule(expected, self.price)
        return parity_rule(expected)


def parity_rule(expected: Expected, *, slack: float = PARITY) -> Rule:
    """Save as much cost as costs at most `slack` of accuracy, with caution.

    Begins at the better constant policy: the dearest action that is within one standard error of
    the best. Raises the price in steps of 5 % of the changes of action, as in a test of a fixed
    sequence of hypotheses, and ends before the step that, seen with caution, falls more than
    `slack` below the best so far. Then looks once at the price that separates the questions best:
    if no accuracy is lost even there, the steps were too timid. Where the best constant policy is
    already the cheapest one, the price is lowered in the same way, and each step has to pay.
    Expectations that do not order the questions keep a constant policy.

    Example:
        >>> direct = np.repeat([0.0, 1.0], 100)
        >>> outcomes = np.column_stack([direct, np.ones(200)])
        >>> costs = np.tile([0.0, 1.0], (200, 1))
        >>> table = ActionTable(("direct", "single"), outcomes, costs)
        >>> rule = parity_rule(Expected(outcomes, costs, table, table))
        >>> rule.constant is None, 0 < rule.price < 1
        (True, True)
        >>> parity_rule(Expected(0 * outcomes, costs, table, table)).constant
        'single'
    """
    table, constants, n = expected.table, expected.constants, len(expected.table)
    actions, rows = table.actions, np.arange(n)
    if n == 0:
        return Rule(-LIMIT_PRICE, actions[-1])
    cost = constants.costs.mean(axis=0)
    begin = _begin(constants.scores, cost)
    cheaper = np.flatnonzero(cost <= cost[begin])
    saving = len(cheaper) > 1
    kept = cheaper if saving else np.arange(len(cost))
    constant = _cheapest_constant(constants.scores, cost, begin, slack)
    scores, costs = expected.scores[:, kept], expected.costs[:, kept]
    path = price_path(scores, costs)
    if not orders(scores, costs, table.scores[:, kept], path):
        return Rule(LIMIT_PRICE, actions[constant])
    base = constants.scores[:, begin]
    others = table.scores[:, kept[kept != begin]]
    spread = max(float(np.mean((others - base[:, None]) ** 2)), 1 / n)
    reached: float | None = None
    best = 0.0
    for price in path.prices[1:] if saving else path.prices[-2::-1]:
        taken = kept[best_actions(scores, costs, float(price))]
        changes, changed = table.scores[rows, taken] - base, int((taken != begin).sum())
        # The observed spread of a few changes is too often zero: some of all records' is added.
        variance = (changes @ changes + FEWEST * spread) / (changed + FEWEST) * changed / n
        cautious = float(changes.mean() - CAUTION * np.sqrt(variance / n))
        if cautious < best - slack:
            break
        # Saving cost is worth the slack; more cost has to pay.
        if saving or cautious > best:
            reached = float(price)
        best = max(best, cautious)
    further = _separating(scores, costs, table.scores[:, kept], kept == begin)
    if further is not None and (reached is None or (further > reached) == saving):
        taken = kept[best_actions(scores, costs, further)]
        changes = table.scores[rows, taken] - base
        cautious = changes.mean() - CAUTION * changes.std() / np.sqrt(n)
        if cautious >= best - slack and (saving or cautious > best):
            reached = further
    if reached is None:
        return Rule(LIMIT_PRICE, actions[constant])
    taken = kept[best_actions(scores, costs, reached)]
    if (taken == taken[0]).all():
        return Rule(reached, actions[taken[0]])
    # A router that costs as much as the constant policy saves nothing.
    if saving and table.costs[rows, taken].mean() >= cost[constant]:
        return Rule(LIMIT_PRICE, actions[constant])
    return Rule(reached)


def price_rule(expected: Expected, price: float) -> Rule:
    """The best accuracy less a price for each unit of cost, or the constant that has it.

    The router is used where, seen with caution, it is worth more than the best constant policy.

    Example:
        >>> scores, costs = np.array([[0.0, 1.0], [1.0, 1.0]] * 50), np.tile([0.0, 1.0], (100, 1))
        >>> table = ActionTable(("direct", "single"), scores, costs)
        >>> price_rule(Expected(scores, costs, table, table), 0.1).constant is None
        True
        >>> price_rule(Expected(scores, costs, table, table), 2.0).constant
        'direct'
    """
    table, constants, n = expected.table, expected.constants, len(expected.table)
    net = constants.scores - price * constants.costs
    constant, rows = int(np.argmax(net.mean(axis=0))), np.arange(n)
    path = price_path(expected.scores, expected.costs)
    best, chosen = 0.0, None
    if orders(expected.scores, expected.costs, table.scores, path):
        for candidate in (price, *path.prices[1:-1].tolist()):
            taken = best_actions(expected.scores, expected.costs, candidate)
            gained = table.scores[rows, taken] - price * table.costs[rows, taken] - net[:, constant]
            cautious = float(gained.mean() - CAUTION * gained.std() / np.sqrt(n))
            if cautious > best:
                best, chosen = cautious, candidate
    return Rule(price, table.actions[constant]) if chosen is None else Rule(chosen)


def order_contributions(
    scores: Floats, costs: Floats, measured: Floats, path: PricePath | None = None
) -> Floats:
    """What each record adds to the gain over as many actions drawn at random, shape (n,).

    Their mean is the area gain: the mean over the prices of a path of the measured score of the
    chosen action, minus that of the same shares of actions drawn at random.

    Args:
        scores: Expected, shape (n, a).
        costs: Expected, shape (n, a).
        measured: Scores in fact, shape (n, a).
        path: Prices; those of `price_path` by default.
    """
    path = price_path(scores, costs) if path is None else path
    centred = measured - measured.mean(axis=0)
    rows, total = np.arange(len(scores)), np.zeros(len(scores))
    for price, weight in zip(path.prices, path.weights, strict=True):
        taken = best_actions(scores, costs, float(price))
        shares = np.bincount(taken, minlength=scores.shape[1]) / len(scores)
        total += weight * (centred[rows, taken] - centred @ shares)
    return total


def orders(scores: Floats, costs: Floats, measured: Floats, path: PricePath | None = None) -> bool:
    """Whether expectations order the questions by more than chance explains."""
    gained = order_contributions(scores, costs, measured, path)
    return bool(gained.mean() > 0 and gained.mean() >= GUARD * gained.std() / np.sqrt(len(gained)))


def _begin(scores: Floats, cost: Floats) -> int:
    """The dearest action whose accuracy is within a standard error of the best."""
    n = len(scores)
    best = int(np.argmax(scores.mean(axis=0)))
    lost = scores[:, [best]] - scores
    error = np.sqrt(np.maximum((lost**2).mean(axis=0), 1 / n) / n)
    near = np.flatnonzero((lost.mean(axis=0) <= error) | (np.arange(len(cost)) == best))
    return int(near[np.argmax(cost[near])])


def _cheapest_constant(scores: Floats, cost: Floats, begin: int, slack: float) -> int:
    """The cheapest action that, seen with caution, loses no more than the slack."""
    n = len(scores)
    change = scores - scores[:, [begin]]
    error = np.sqrt(np.maximum((change**2).mean(axis=0), 1 / n) / n)
    passing = np.flatnonzero(change.mean(axis=0) - CAUTION * error >= -slack)
    candidates = np.append(passing, begin)
    return int(candidates[np.argmin(cost[candidates])])


def _separating(
    scores: Floats, costs: Floats, measured: Floats, begins: NDArray[np.bool_]
) -> float | None:
    """The price at which accuracy is furthest above that of as many actions drawn at random."""
    centred, rows = measured - measured.mean(axis=0), np.arange(len(scores))
    best, found = 0.0, None
    for price in price_path(scores, costs, FINE).prices[1:-1]:
        taken = best_actions(scores, costs, float(price))
        changed = int((~begins[taken]).sum())
        above = float(centred[rows, taken].mean())
        if FEWEST <= changed <= len(rows) - FEWEST and above > best:
            best, found = above, float(price)
    return found
