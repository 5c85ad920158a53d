"""Rungs: what is estimated of a question with each answer that is there, and how far to climb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.types import Action
from skr_learn.arbiters.estimate import Estimate
from skr_learn.arbiters.serving import served_of
from skr_learn.arbiters.views import Measured, Views
from skr_learn.arbiters.worth import Worth
from skr_learn.learning.pricing import HALVINGS, LIMIT_PRICE, POINTS
from skr_learn.learning.rows import Floats
from skr_learn.learning.rule import Aim
from skr_learn.learning.threads import side_by_side
from skr_learn.self_knowledge.records import SelfKnowledge

if TYPE_CHECKING:
    from skr_core.ports import Embedder

KEPT_FREE = 1.64
"""Standard errors by which the mean cost may be higher on new questions (one-sided 95 %)."""


@dataclass(frozen=True)
class Rung:
    """What is estimated once the answers up to an action are there.

    Attributes:
        estimate: How likely each of them is right; None of the first, where there is no choice.
        worth: Expects the score that is served when the ladder ends here, and at each later rung.
    """

    estimate: Estimate | None
    worth: Worth

    def expected(self, views: Views) -> Floats:
        """The score served at this rung and at each later one, shape (n, rungs left)."""
        return self.worth.expected(views.signals)

    def served(self, views: Views) -> NDArray[np.int64]:
        """Index of the answer that is served where the ladder ends here, shape (n,)."""
        if self.estimate is None:
            return np.zeros(len(views), dtype=np.int64)
        return served_of(self.estimate.chances(views))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The rung as plain arrays, for a file."""
        estimated = {} if self.estimate is None else self.estimate.arrays()
        parts = {"estimate": estimated, "worth": self.worth.arrays()}
        return {f"{part}.{name}": each for part in parts for name, each in parts[part].items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], *, exact: bool) -> Self:
        """A rung from what `arrays` returned."""
        estimated, worth = part_of(arrays, "estimate"), part_of(arrays, "worth")
        estimate = Estimate.from_arrays(estimated, exact=exact) if estimated else None
        return cls(estimate, Worth.from_arrays(worth, exact=exact))


@dataclass(frozen=True)
class Outlook:
    """What going on from a rung is expected to bring to n questions, and what that is worth.

    Attributes:
        gain: The score served at the best later rung minus the one served here, shape (n,).
        toll: What has to be paid on the way there, in accuracy, shape (n,).

    Example:
        >>> seen = Outlook.of(np.array([[0.3, 0.5], [0.5, 0.5]]), np.array([0.0, 1.0]), 0.1)
        >>> seen.goes_on.tolist()
        [True, False]
    """

    gain: Floats
    toll: Floats

    @classmethod
    def of(cls, expected: Floats, costs: Floats, price: float) -> Self:
        """Of what is expected at a rung and at the later ones.

        Args:
            expected: Scores, shape (n, rungs left).
            costs: Of ending there, shape (rungs left,).
            price: Accuracy that a unit of cost is worth.
        """
        later = 1 + np.argmax(expected[:, 1:] - price * costs[1:], axis=1)
        gain = expected[np.arange(len(expected)), later] - expected[:, 0]
        return cls(gain, price * (costs[later] - costs[0]))

    @property
    def goes_on(self) -> NDArray[np.bool_]:
        """Whether that is worth it, shape (n,)."""
        return self.gain > self.toll


@dataclass(frozen=True)
class Climb:
    """What a ladder would do with n questions, at any price.

    Attributes:
        expected: At each rung, the score served there and at the later ones, (n, rungs left) each.
        served: At each rung, the index of the answer served there, shape (n,) each.
        costs: Of ending at each rung, on average, shape (rungs,).
    """

    expected: Sequence[Floats]
    served: Sequence[NDArray[np.int64]]
    costs: Floats

    @classmethod
    def of(cls, rungs: Sequence[Rung], views: Sequence[Views], costs: Floats) -> Self:
        """Of questions whose answers are all there, by what is seen at each rung."""
        pairs = list(zip(rungs, views, strict=True))
        expected = [rung.expected(seen) for rung, seen in pairs]
        return cls(expected, [rung.served(seen) for rung, seen in pairs], costs)

    def ends(self, price: float) -> NDArray[np.int64]:
        """Index of the rung at which each question ends, shape (n,).

        A rung is left where ending at some later one is expected to be worth more, its cost
        included.
        """
        n, rungs = len(self.expected[0]), len(self.costs)
        found = np.full(n, rungs - 1, dtype=np.int64)
        climbing = np.ones(n, dtype=bool)
        for rung in range(rungs - 1):
            goes_on = Outlook.of(self.expected[rung], self.costs[rung:], price).goes_on
            found[climbing & ~goes_on] = rung
            climbing &= goes_on
        return found

    def price_for(self, aim: Aim) -> float:
        """The price that an aim asks for; without one cost is free."""
        if aim.budget is not None:
            return self.price_within(aim.budget)
        return aim.price or 0.0

    def prices(self, points: int = POINTS) -> list[float]:
        """Ascending prices, from each to the next of which as many decisions change.

        Below 0 the ladder goes on even where it expects a little less: expectations are noisy, and
        the last of them is asked where there is most to see.
        """
        leaving = [
            (expected[:, later] - expected[:, 0]) / gap
            for rung, expected in enumerate(self.expected)
            for later, gap in enumerate(self.costs[rung:] - self.costs[rung])
            if gap > 0
        ]
        changes = np.concatenate([*leaving, np.zeros(1)])
        inner = np.quantile(changes, np.arange(1, points) / points)
        return [-LIMIT_PRICE, *map(float, inner), LIMIT_PRICE]

    def answers(self, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Index of the answer that each question is served, shape (n,)."""
        return np.array(self.served)[ends, np.arange(len(ends))]

    def price_within(self, budget: float) -> float:
        """The lowest price from 0 at which the mean cost keeps within a budget, with caution.

        The caution is `KEPT_FREE` standard errors of that mean.
        """

        def exceeded(price: float) -> bool:
            paid = self.costs[self.ends(price)]
            return bool(paid.mean() + KEPT_FREE * paid.std() / np.sqrt(len(paid)) > budget)

        if not exceeded(0.0):
            return 0.0
        low, high = 0.0, 1.0
        while exceeded(high) and high < LIMIT_PRICE:
            high *= 2
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if exceeded(middle) else (low, middle)
        return high


def part_of(arrays: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    """The arrays whose names begin with a part's, without it.

    Example:
        >>> list(part_of({"a.x": np.zeros(1), "b.x": np.zeros(1)}, "a"))
        ['x']
    """
    start = f"{part}."
    return {name.removeprefix(start): arrays[name] for name in arrays if name.startswith(start)}


def arrays_of_rungs(rungs: Sequence[Rung], actions: Sequence[Action]) -> dict[str, NDArray[Any]]:
    """The rungs of a ladder as plain arrays, for a file."""
    return {
        f"{action}.{name}": each
        for action, rung in zip(actions, rungs, strict=True)
        for name, each in rung.arrays().items()
    }


def rungs_of_arrays(
    arrays: Mapping[str, NDArray[Any]], actions: Sequence[Action], *, exact: bool
) -> list[Rung]:
    """The rungs of a ladder from what `arrays_of_rungs` returned."""
    return [Rung.from_arrays(part_of(arrays, action), exact=exact) for action in actions]


def fit_rungs(
    views: Sequence[Views],
    scores: Floats,
    costs: Floats,
    groups: NDArray[np.int64],
    *,
    top: tuple[Estimate, Floats] | None = None,
) -> tuple[list[Rung], Climb]:
    """Learn from records, and from what each was worth without itself.

    Args:
        views: At each rung, of n records.
        scores: Of their answers, shape (n, rungs).
        costs: Of ending at each rung, on average, shape (rungs,).
        groups: Records of equal numbers are left out together, shape (n,).
        top: The estimate of all answers and its held-out chances, shape (n, rungs), where an
            arbiter has learnt them already.

    Returns:
        The rungs, and what they would have done with each record without having seen it.
    """
    n, count = scores.shape

    def learnt(seen: int) -> tuple[Estimate, Floats]:
        if seen == count and top is not None:
            return top
        estimate = Estimate.fit(views[seen - 1], scores[:, :seen])
        return estimate, estimate.held_out(views[seen - 1], scores[:, :seen], groups)

    estimates: list[Estimate | None] = [None]
    served = [np.zeros(n, dtype=np.int64)]
    for estimate, chances in side_by_side([partial(learnt, seen) for seen in range(2, count + 1)]):
        estimates.append(estimate)
        served.append(served_of(chances))
    worth = np.column_stack([scores[np.arange(n), chosen] for chosen in served])
    works = [
        partial(Worth.with_held_out, views[place].signals, worth[:, place:], groups)
        for place in range(count)
    ]
    rungs, expected = [], []
    for estimated, (expects, unseen) in zip(estimates, side_by_side(works), strict=True):
        rungs.append(Rung(estimated, expects))
        expected.append(unseen)
    return rungs, Climb(expected, served, costs)


def views_of_rungs(
    records: Sequence[SelfKnowledge], actions: Sequence[Action], embedder: Embedder
) -> list[Views]:
    """What is seen of records at each rung."""
    return Measured.of(records, actions, embedder).rungs
