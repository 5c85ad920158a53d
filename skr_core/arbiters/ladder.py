"""Ladder: which answer to ask for next, after each that is there, and when to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.arbiters.answers import Seen
from skr_core.arbiters.arbiter import served_of
from skr_core.arbiters.estimate import Estimate
from skr_core.arbiters.views import Views, texts_seen
from skr_core.errors import InputError
from skr_core.learning.likelihood import learn_kernel
from skr_core.learning.outcomes import ActionTable
from skr_core.learning.regression import Ridge, fit_ridge, held_out
from skr_core.learning.rows import Floats, embed_texts
from skr_core.learning.signals import groups_of
from skr_core.models.embedders import HashingEmbedder
from skr_core.self_knowledge.records import SelfKnowledge
from skr_core.types import Action

if TYPE_CHECKING:
    from skr_core.ports import Embedder

STEPS = 60
"""Halvings of the interval that the price is searched in."""
DEAREST = 10.0
"""Beyond any price at which a rung is still worth taking: accuracy for a unit of cost."""


@dataclass(frozen=True)
class Rung:
    """What is estimated once the answers up to an action are there.

    Attributes:
        estimate: How likely each of them is right; None of the first, where there is no choice.
        worth: Expects the score that is served when the ladder ends here, and at each later rung.
    """

    estimate: Estimate | None
    worth: Ridge

    def expected(self, views: Views) -> Floats:
        """The score served at this rung and at each later one, shape (n, rungs left)."""
        return self.worth.predict(views.signals)

    def served(self, views: Views) -> NDArray[np.int64]:
        """Index of the answer that is served where the ladder ends here, shape (n,)."""
        if self.estimate is None:
            return np.zeros(len(views), dtype=np.int64)
        return served_of(self.estimate.chances(views))


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

    def ends(self, price: float) -> NDArray[np.int64]:
        """Index of the rung at which each question ends, shape (n,).

        A rung is left where ending at some later one is expected to be worth more, its cost
        included.
        """
        n, rungs = len(self.expected[0]), len(self.costs)
        found = np.full(n, rungs - 1, dtype=np.int64)
        climbing = np.ones(n, dtype=bool)
        for rung in range(rungs - 1):
            net = self.expected[rung] - price * self.costs[rung:]
            stays = net[:, 0] >= net[:, 1:].max(axis=1)
            found[climbing & stays] = rung
            climbing &= ~stays
        return found

    def answers(self, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Index of the answer that each question is served, shape (n,)."""
        return np.array(self.served)[ends, np.arange(len(ends))]

    def price_within(self, budget: float) -> float:
        """The lowest price from 0 at which the mean cost keeps within a budget, with caution.

        The mean is known to a standard error, which is kept free: on new questions it may be as
        much higher.
        """

        def exceeded(price: float) -> bool:
            paid = self.costs[self.ends(price)]
            return bool(paid.mean() + paid.std() / np.sqrt(len(paid)) > budget)

        if not exceeded(0.0):
            return 0.0
        low, high = 0.0, DEAREST
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if exceeded(middle) else (low, middle)
        return high


class Ladder:
    """Asks for the direct answer, then for one round of retrieval, then for the loop.

    The estimate is the same at every rung, "is this answer right?", with more to see each time: the
    question and its direct answer before retrieval, where it decides as a router does; what the
    answers say together after it, where it is an arbiter. What the next rung is worth is the score
    that an arbiter was able to serve there on the records.

    Attributes:
        actions: The rungs, from the cheapest to the dearest.
        costs: Of ending at each, on average, shape (rungs,).
        price: Accuracy that a unit of cost is worth.
        embedder: For questions and answers.
    """

    def __init__(
        self,
        rungs: Sequence[Rung],
        actions: Sequence[Action],
        costs: Floats,
        embedder: Embedder,
        *,
        price: float = 0.0,
    ) -> None:
        self._rungs, self.actions, self.costs = tuple(rungs), tuple(actions), costs
        self.embedder, self.price = embedder, price

    @classmethod
    def of_views(
        cls,
        views: Sequence[Views],
        table: ActionTable,
        groups: NDArray[np.int64],
        embedder: Embedder,
    ) -> tuple[Self, Climb]:
        """Learn from records, and from what each was worth without itself.

        Args:
            views: At each rung, of n records.
            table: What the actions were worth and cost.
            groups: Records of equal numbers are left out together, shape (n,).
            embedder: The one they were embedded with.

        Returns:
            The ladder, and what it would have done with each record without having seen it.
        """
        scores, rows = table.scores, np.arange(len(table))
        estimates: list[Estimate | None] = [None]
        served = [np.zeros(len(table), dtype=np.int64)]
        for count in range(2, scores.shape[1] + 1):
            known = scores[:, :count]
            estimate = Estimate.fit(views[count - 1], known)
            estimates.append(estimate)
            served.append(served_of(estimate.held_out(views[count - 1], known, groups)))
        worth = np.column_stack([scores[rows, chosen] for chosen in served])
        rungs, expected = [], []
        for place, fitted in enumerate(estimates):
            signals, targets = views[place].signals, worth[:, place:]
            ridge, _ = fit_ridge(signals, targets, learn_kernel(signals, targets))
            rungs.append(Rung(fitted, ridge))
            expected.append(held_out(ridge, signals, targets, groups))
        costs = table.costs.mean(axis=0)
        return cls(rungs, table.actions, costs, embedder), Climb(expected, served, costs)

    @classmethod
    def fit(
        cls,
        records: Sequence[SelfKnowledge],
        *,
        embedder: Embedder | None = None,
        actions: Sequence[Action] | None = None,
        budget: float | None = None,
    ) -> Self:
        """Learn from records.

        Args:
            records: Of self-knowledge.
            embedder: For questions and answers; a `HashingEmbedder` by default.
            actions: The rungs; by default those that every record holds.
            budget: Mean cost a question that its price keeps within; by default cost is free.

        Raises:
            InputError: There is no record, or one lacks an action.
        """
        if not records:
            raise InputError("a ladder is fitted on records of self-knowledge; none were given")
        embedder = embedder or HashingEmbedder()
        table = ActionTable.of(records, actions=actions)
        views = views_of_rungs(records, table.actions, embedder)
        ladder, climb = cls.of_views(views, table, groups_of(records), embedder)
        if budget is not None:
            ladder.price = climb.price_within(budget)
        return ladder

    def climb(self, views: Sequence[Views]) -> Climb:
        """What it would do with questions whose answers are all there."""
        pairs = list(zip(self._rungs, views, strict=True))
        return Climb(
            [rung.expected(seen) for rung, seen in pairs],
            [rung.served(seen) for rung, seen in pairs],
            self.costs,
        )


def views_of_rungs(
    records: Sequence[SelfKnowledge], actions: Sequence[Action], embedder: Embedder
) -> list[Views]:
    """What is seen of records at each rung; every text is embedded once."""
    seen, n = [Seen.in_record(each, actions) for each in records], len(records)
    vectors = embed_texts(embedder, texts_seen(seen, actions))
    return [
        Views.of_vectors(seen, actions[:count], vectors[: (1 + count) * n])
        for count in range(1, len(actions) + 1)
    ]
