"""Choosing a router and its rule on records that it was not fitted on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_core.routers.constant import constant_router
from skr_learn.calibration.candidates import Candidate
from skr_learn.learning.pricing import best_actions, price_path
from skr_learn.learning.rows import Floats
from skr_learn.learning.rule import Aim, Expected, Rule
from skr_learn.learning.signals import Training
from skr_learn.learning.threads import side_by_side

if TYPE_CHECKING:
    from skr_core.ports import Embedder

CLEARLY = 1.64
"""Standard errors by which another router must be better than the preferred one (one-sided 95 %):
the best of five noisy figures is better than it deserves to be."""

DEFAULT_AIM = Aim()

OnStep = Callable[[], None]


@dataclass(frozen=True)
class Choice:
    """A router that was chosen, fitted on all records it was chosen on.

    Attributes:
        candidate: Which.
        fitted: The router, at the price of its rule.
        rule: How to decide.
        worth: Contributions of every candidate on held-out records, by name, shape (n,) each.
        retrieved: What every candidate decided on held-out records by its own rule, or by the one
            that serves the aim where it has none, by name, shape (n,) each.
    """

    candidate: Candidate
    fitted: Any
    rule: Rule
    worth: dict[str, Floats]
    retrieved: dict[str, NDArray[np.bool_]]

    @property
    def router(self) -> Any:
        """The router, or the constant policy where that is better."""
        return self.fitted if self.rule.constant is None else constant_router(self.rule.constant)


def choose(
    training: Training,
    embedder: Embedder,
    candidates: Sequence[Candidate],
    *,
    aim: Aim = DEFAULT_AIM,
    on_step: OnStep = lambda: None,
) -> Choice:
    """Fit every candidate and choose among them.

    The first is taken, unless another is better by more than chance explains.

    Args:
        training: The records.
        embedder: The one they were embedded with.
        candidates: The preferred one first.
        aim: What for.
        on_step: Called after each candidate.

    Raises:
        InputError: No candidate can be fitted on the records.
    """
    fitted: dict[str, tuple[Candidate, Any, Expected]] = {}
    problem = ""

    def fit(candidate: Candidate) -> tuple[Any, Expected] | InputError:
        try:
            router = candidate.fit(training, embedder)
            return router, candidate.held_out(training, embedder, router)
        except InputError as error:  # too few records that tell known from unknown
            return error

    found_by = side_by_side([partial(fit, candidate) for candidate in candidates])
    for candidate, found in zip(candidates, found_by, strict=True):
        if isinstance(found, InputError):
            problem = str(found)
        else:
            fitted[candidate.name] = candidate, *found
        on_step()
    if not fitted:
        raise InputError(f"no router can be fitted on these records: {problem}")
    worth = {
        name: worth_of(expected, training, price=aim.price)
        for name, (_, _, expected) in fitted.items()
    }
    best = first = next(iter(worth))
    for name, each in worth.items():
        ahead = each - worth[first]
        sure = ahead.mean() > CLEARLY * ahead.std() / np.sqrt(len(ahead))
        if sure and each.mean() > worth[best].mean():
            best = name
    candidate, router, expected = fitted[best]
    rule = aim.rule(expected)
    candidate.price(router, rule.price)
    retrieved = {
        name: retrieves(held_out, Rule(its.own_price) if its.own_rule else aim.rule(held_out))
        for name, (its, _, held_out) in fitted.items()
    }
    return Choice(candidate, router, rule, worth, retrieved)


def retrieves(expected: Expected, rule: Rule) -> NDArray[np.bool_]:
    """Which questions a rule retrieves for, shape (n,)."""
    if rule.constant is not None:
        return np.full(len(expected.scores), rule.constant != "direct")
    taken = best_actions(expected.scores, expected.costs, rule.price)
    retrieving = np.array([each != "direct" for each in expected.table.actions])
    found: NDArray[np.bool_] = retrieving[taken]
    return found


def worth_of(expected: Expected, training: Training, *, price: float | None = None) -> Floats:
    """What each record adds to the worth of a router over mixing constant policies, shape (n,).

    Averaged over all prices of its path: the accuracy it reaches less price times what it costs,
    its own calls included, minus the same of drawing its actions at random without it. The price
    is the one at which the cheapest and the best constant policy are worth the same.
    """
    constants, table = expected.constants, expected.table
    if price is None:
        accuracy, cost = constants.scores.mean(axis=0), constants.costs.mean(axis=0)
        best, cheapest = int(np.argmax(accuracy)), int(np.argmin(cost))
        dearer = cost[best] - cost[cheapest]
        price = (accuracy[best] - accuracy[cheapest]) / dearer if dearer > 0 else 0.0
    net = table.scores - price * table.costs
    random = constants.scores - price * constants.costs
    rows, total = np.arange(len(net)), np.zeros(len(net))
    # Centring changes the mean of no difference, but narrows its interval.
    centre = random.mean(axis=0)
    path = price_path(expected.scores, expected.costs)
    for each, weight in zip(path.prices, path.weights, strict=True):
        taken = best_actions(expected.scores, expected.costs, float(each))
        shares = np.bincount(taken, minlength=net.shape[1]) / len(net)
        total += weight * (net[rows, taken] - centre[taken] - (random - centre) @ shares)
    return total
