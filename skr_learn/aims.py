"""What a rule is chosen for, and choosing it: score and threshold are two things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_learn.costs import ActionTable
from skr_learn.estimator import folds
from skr_learn.metrics import Reliability

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

PARITY = 0.005
"""Accuracy that may be lost where cost is saved: half a point."""
CAUTION = 1.28
"""Standard errors by which accuracy and mean cost may be worse than they look (one-sided 90 %)."""
POINTS_FOR_ALL = 10.0
"""What accuracy is worth beside cost: a point of it as much as a tenth of the cost."""
PLATEAU = 0.01
"""Share of the questions that may be decided differently within a plateau of weights."""
NOT_ALLOWED = -np.inf


@dataclass(frozen=True)
class Served:
    """What was served of n questions, and what that cost.

    Attributes:
        scores: The scores of the answers served, shape (n,).
        costs: What each question cost, shape (n,).
        calls: The calls of the model that each took, shape (n,).
        taken: The index of the dearest action that was taken, shape (n,).
        answers: The index of the action whose answer was served, shape (n,).
        chances: The chance of that answer to be right; NaN where none is estimated, shape (n,).
    """

    scores: Floats
    costs: Floats
    calls: Floats
    taken: Indices
    answers: Indices
    chances: Floats

    @classmethod
    def of(
        cls,
        table: ActionTable,
        taken: Indices,
        answers: Indices | None = None,
        chances: Floats | None = None,
    ) -> Served:
        """Read off what was served where these actions were taken.

        Args:
            table: What each action is worth and costs; after a draft, with that of the draft.
            taken: The index of the dearest action taken of each question, shape (n,).
            answers: The index of the action whose answer was served; by default the same.
            chances: The chances of these answers; by default none is known.
        """
        rows, answers = np.arange(len(taken)), taken if answers is None else answers
        return cls(
            table.scores[rows, answers],
            table.costs[rows, taken],
            table.calls[rows, taken],
            taken,
            answers,
            np.full(len(taken), np.nan) if chances is None else chances,
        )

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, rows: NDArray[Any]) -> Served:
        return Served(*(getattr(self, name)[rows] for name in Served.__annotations__))

    @property
    def reliability(self) -> Reliability | None:
        """How true the chances are, of those answers that have one; None where none has."""
        known = ~np.isnan(self.chances)
        if not known.any():
            return None
        return Reliability.of(self.chances[known], self.scores[known])

    @property
    def retrieved(self) -> NDArray[np.bool_]:
        """Which questions were retrieved for, shape (n,)."""
        found: NDArray[np.bool_] = self.taken > 0
        return found

    def put(self, rows: Indices, other: Served) -> None:
        """Replace some of the questions by what another rule serves of just these."""
        for name in Served.__annotations__:
            getattr(self, name)[rows] = getattr(other, name)


@dataclass(frozen=True)
class Baseline:
    """The constant policy that a rule is compared with.

    Attributes:
        action: The index of its action.
        scores: The scores of its answers, shape (n,).
        cost: Its mean cost.
        dearest: The mean cost of the dearest constant policy.
    """

    action: int
    scores: Floats
    cost: float
    dearest: float

    @classmethod
    def of(cls, table: ActionTable) -> Baseline:
        """Take the constant policy of highest mean score, of equal ones the cheapest."""
        best, costs = table.best, table.costs.mean(axis=0)
        return cls(best, table.scores[:, best], float(costs[best]), float(costs.max()))

    def __getitem__(self, rows: NDArray[Any]) -> Baseline:
        return Baseline(self.action, self.scores[rows], self.cost, self.dearest)


@dataclass(frozen=True)
class Aim:
    """What a rule is chosen for: by default parity, as little cost as costs hardly any accuracy.

    Attributes:
        budget: The best accuracy at this mean cost a question.
        weight: The best accuracy less this much for each unit of cost.
        rate: The best accuracy at this share of questions retrieved for.
        stream: Whether the answer served is always the last one asked for, so that it streams.

    Raises:
        InputError: Two are given, or one is impossible.
    """

    budget: float | None = None
    weight: float | None = None
    rate: float | None = None
    stream: bool = False

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.budget, self.weight, self.rate)) > 1:
            raise InputError("give one of a budget, a weight of cost and a retrieval rate")
        if self.rate is not None and not 0 <= self.rate <= 1:
            raise InputError(f"a retrieval rate is between 0 and 1, not {self.rate}")
        if self.weight is not None and not 0 <= self.weight < np.inf:
            raise InputError(f"a weight of cost is accuracy for a unit, from 0, not {self.weight}")
        if self.budget is not None and not 0 <= self.budget < np.inf:
            raise InputError(f"a budget is a mean cost a question, from 0, not {self.budget}")

    def worth(self, served: Served, baseline: Baseline, caution: float = 0.0) -> float:
        """Return how well a rule serves the aim; -inf where it does not.

        Args:
            served: What it served.
            baseline: The best constant policy on the same questions.
            caution: Standard errors by which accuracy and cost may be worse than they look: 1 is
                the aim's own full caution, for choosing a rule; 0 is for what was served of
                questions on which it was not chosen, where a limit is kept within chance.
        """
        root, cost = np.sqrt(len(served)), float(served.costs.mean())
        accuracy = float(served.scores.mean())
        if self.budget is not None:
            free = CAUTION * float(served.costs.std()) / root
            surely = cost + free if caution else cost - free
            return accuracy if surely <= self.budget + 1e-9 else NOT_ALLOWED
        if self.rate is not None:
            share = float(served.retrieved.mean())
            return accuracy if share <= self.rate + 1 / root else NOT_ALLOWED
        if self.weight is not None:
            return accuracy - self.weight * cost
        gain = served.scores - baseline.scores
        surely = float(gain.mean() - caution * CAUTION * gain.std() / root)
        # Saving cost is worth the slack; more cost has to pay.
        if surely < (-PARITY if cost <= baseline.cost + 1e-9 else 1e-9) and gain.any():
            return NOT_ALLOWED
        saved = (baseline.cost - cost) / baseline.dearest if baseline.dearest else 0.0
        return saved + POINTS_FOR_ALL * float(gain.mean())

    def choose(
        self, rules: Sequence[Served], baseline: Baseline, *, anyway: bool = False
    ) -> int | None:
        """Return the index of the rule that serves the aim best; None where none does.

        Of equally good ones it is the cheapest.

        Args:
            rules: What each rule served of the same questions.
            baseline: The best constant policy on them.
            anyway: Whether the most accurate rule is taken where none serves the aim.
        """
        if self.rate is not None:
            # The largest share that is allowed: a threshold at the rate, as it was asked for.
            shares = [float(rule.retrieved.mean()) for rule in rules]
            allowed = [place for place, share in enumerate(shares)
                       if share <= self.rate + 0.5 / len(rules[place])]  # fmt: skip
            if allowed or anyway:
                return max(allowed or [int(np.argmin(shares))], key=shares.__getitem__)
            return None
        worths = [self.worth(rule, baseline, caution=1.0) for rule in rules]
        costs = [float(rule.costs.mean()) for rule in rules]
        best = max(range(len(rules)), key=lambda place: (worths[place], -costs[place]))
        if np.isfinite(worths[best]):
            return best
        return int(np.argmax([rule.scores.mean() for rule in rules])) if anyway else None


def cross_fitted(
    aim: Aim, rules: Sequence[Served], baseline: Baseline, groups: Indices, *, anyway: bool = False
) -> Served | None:
    """Return what is served where the rule of each question is chosen without its group.

    Args:
        aim: What the rule is chosen for.
        rules: What each rule serves of n questions, none of which it was fitted on.
        baseline: The best constant policy on them.
        groups: Questions of equal numbers are left out together, shape (n,).
        anyway: Whether a rule is taken where none serves the aim.

    Returns:
        None where no rule serves the aim on some of the folds.
    """
    found: Served | None = None
    for fit, judge in folds(groups):
        if not len(fit):
            fit = judge
        chosen = aim.choose([rule[fit] for rule in rules], baseline[fit], anyway=anyway)
        if chosen is None:
            return None
        if found is None:
            found = rules[chosen][np.arange(len(groups))]
        found.put(judge, rules[chosen][judge])
    return found


def middle_of_plateau(weights: Floats, rules: Sequence[Served], chosen: int) -> float:
    """Return the middle of the weights at which nearly all questions are decided as at one.

    Args:
        weights: Ascending weights, shape (w,).
        rules: What is served at each.
        chosen: The index of the one.
    """

    def alike(place: int) -> bool:
        other, one = rules[place], rules[chosen]
        differs = (other.taken != one.taken) | (other.answers != one.answers)
        return bool(differs.mean() <= PLATEAU)

    low = high = chosen
    while low > 0 and alike(low - 1):
        low -= 1
    while high < len(weights) - 1 and alike(high + 1):
        high += 1
    return float((weights[low] + weights[high]) / 2)
