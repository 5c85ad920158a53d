"""Weighing several recorded answers of a question: what an arbiter and a ladder would serve."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_learn.arbiters.answers import Seen
from skr_learn.arbiters.estimate import Estimate
from skr_learn.arbiters.ladder import Ladder
from skr_learn.arbiters.margins import MarginArbiter
from skr_learn.arbiters.rungs import views_of_rungs
from skr_learn.arbiters.serving import served_of
from skr_learn.arbiters.views import Views
from skr_learn.learning.rows import Floats
from skr_learn.learning.signals import Training

if TYPE_CHECKING:
    from skr_core.ports import Embedder
    from skr_learn.self_knowledge.records import SelfKnowledge

WEIGHING = ("arbiter", "ladder", "margins")
"""Names that replay knows them by."""


@dataclass(frozen=True)
class Known:
    """Records as arrays: what routers see of them, and what those see that weigh answers.

    Attributes:
        training: What was known before retrieval, and what was measured.
        views: What is seen with the answers of the first action, of the first two, and so on;
            empty where no answers are weighed.
        likelihoods: What an arbiter sees that looks at the answers' likelihoods too; None without.
    """

    training: Training
    views: tuple[Views, ...] = ()
    likelihoods: Views | None = None

    @classmethod
    def of(cls, training: Training, embedder: Embedder, *, likelihoods: bool = False) -> Self:
        """Embed and measure what the answers show.

        Args:
            training: The records.
            embedder: For questions and answers.
            likelihoods: Look at these too.
        """
        records, actions = training.records.tolist(), training.table.actions
        rungs = views_of_rungs(records, actions, embedder)
        if not likelihoods:
            return cls(training, tuple(rungs))
        seen = [Seen.in_record(each, actions) for each in records]
        return cls(training, tuple(rungs), Views.of(seen, actions, embedder, margins=True))

    @property
    def answers(self) -> Views:
        """What an arbiter sees that has every action taken."""
        return self.views[-1] if self.likelihoods is None else self.likelihoods

    def __len__(self) -> int:
        return len(self.training)

    def __getitem__(self, chosen: Any) -> Known:
        likelihoods = None if self.likelihoods is None else self.likelihoods[chosen]
        return Known(self.training[chosen], tuple(each[chosen] for each in self.views), likelihoods)


def have_likelihoods(records: Iterable[SelfKnowledge]) -> bool:
    """Whether any answer on record has its likelihoods."""
    return any(each.margins for record in records for each in record.outcomes.values())


@dataclass(frozen=True)
class Decided:
    """What was decided of n questions.

    Attributes:
        benefit: Expected of one round of retrieval, shape (n,).
        served: Indices of the actions whose answers are served, shape (n,).
        paid: Indices of the dearest actions that are taken, shape (n,).
    """

    benefit: Floats
    served: NDArray[np.int64]
    paid: NDArray[np.int64]

    @classmethod
    def by_router(cls, benefit: Floats, taken: NDArray[np.int64]) -> Self:
        """Of a router, which serves the answer of the action that it takes."""
        return cls(benefit, taken, taken)


def arbitrated(fitted_on: Known, judged: Known) -> Decided:
    """What an arbiter serves that has every action taken."""
    estimate = Estimate.fit(fitted_on.answers, fitted_on.training.table.scores)
    chances = estimate.chances(judged.answers)
    dearest = np.full(len(judged), chances.shape[1] - 1)
    return Decided(np.zeros(len(judged)), served_of(chances), dearest)


def by_margins(_: Known, judged: Known) -> Decided:
    """What the rule on likelihoods serves, which learns nothing from other records."""
    arbiter, actions = MarginArbiter(), judged.training.table.actions
    dearest = np.full(len(judged), len(actions) - 1)
    kept = np.zeros(len(judged), dtype=bool)
    for row, record in enumerate(judged.training.records.tolist()):
        seen = Seen.in_record(record, actions).answers
        verdict = arbiter.judge(record.question, {**seen, "loop": seen[actions[-1]]})
        kept[row] = verdict.served == "direct"
    return Decided(np.zeros(len(judged)), np.where(kept, 0, dearest), dearest)


def climbed(
    fitted_on: Known, judged: Known, *, embedder: Embedder, budget: float | None
) -> Decided:
    """What a ladder serves within a budget, whose price the records it is fitted on set."""
    training = fitted_on.training
    ladder, held_out = Ladder.of_views(fitted_on.views, training.table, training.groups, embedder)
    climb = ladder.climb(judged.views)
    ends = climb.ends(0.0 if budget is None else held_out.price_within(budget))
    benefit = climb.expected[0][:, 1] - climb.expected[0][:, 0]
    return Decided(benefit, climb.answers(ends), ends)
