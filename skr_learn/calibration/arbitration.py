"""Whether an arbiter pays on a user's own records, and what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skr_core.types import Action
from skr_learn.arbiters.arbiter import Arbiter
from skr_learn.arbiters.serving import FEWEST, NAMES, HeldOut, surely_better
from skr_learn.calibration.intervals import interval
from skr_learn.metrics import Interval

if TYPE_CHECKING:
    from skr_core.ports import Embedder
    from skr_learn.arbiters.views import Measured
    from skr_learn.learning.signals import Training


@dataclass(frozen=True)
class Arbitration:
    """What an arbiter would have served of records that it was not fitted on.

    Attributes:
        constant: The action whose answers are best, were they all served.
        always: Accuracy of these answers.
        alone: Accuracy of what is served without an arbiter: the router's choice, or these.
        served: Accuracy of the likeliest of the answers that are then at hand.
        gain: The last minus the one before it.
        routed: Whether a router chooses.
        pays: Whether it is better by more than chance explains.
    """

    constant: Action
    always: Interval
    alone: Interval
    served: Interval
    gain: Interval
    routed: bool
    pays: bool

    @classmethod
    def of(
        cls, held_out: HeldOut, actions: Sequence[Action], taken: NDArray[np.int64]
    ) -> Arbitration:
        """Measure it.

        Args:
            held_out: What it would have served of n records, each without itself.
            actions: Whose answers it weighs.
            taken: Indices of the actions that are taken without it, shape (n,). The answers of
                cheaper ones are at hand too; where it is the direct answer, that is served.

        Example:
            >>> scores = np.array([[1.0, 0.0], [0.0, 1.0]] * 40)
            >>> held_out = HeldOut(scores, scores)
            >>> found = Arbitration.of(held_out, ("direct", "single"), np.ones(80, dtype=int))
            >>> found.alone.mean, found.served.mean, found.pays
            (0.5, 1.0, True)
        """
        scores = held_out.scores
        best = int(np.argmax(scores.mean(axis=0)))
        served, alone = held_out.served_after(taken), scores[np.arange(len(taken)), taken]
        return cls(
            actions[best],
            interval(scores[:, best]),
            interval(alone),
            interval(served),
            interval(served - alone),
            bool((taken != taken[0]).any()),
            surely_better(served - alone),
        )

    @property
    def sentence(self) -> str:
        """Whether an arbiter pays on these records, with its figures and its cost."""
        low, high = 100 * self.gain.low, 100 * self.gain.high
        figures = (
            f"serving the likeliest of the answers at hand reaches {self.served.mean:.3f} in place "
            f"of {self.alone.mean:.3f}, {100 * self.gain.mean:+.1f} points "
            f"({low:+.1f} to {high:+.1f})"
        )
        if self.routed:
            figures += (
                f", where the router decides, and always {NAMES[self.constant]} has "
                f"{self.always.mean:.3f}"
            )
        if self.pays:
            return (
                f"An arbiter pays on these {self.gain.n} records: {figures}; it costs one direct "
                "call for each question that is retrieved for."
            )
        return f"An arbiter does not pay on these {self.gain.n} records: {figures}."


def arbitrate(
    training: Training, shown: Measured, embedder: Embedder, taken: NDArray[np.int64]
) -> tuple[Arbiter, Arbitration, HeldOut] | None:
    """An arbiter, what it adds to the actions taken, and what it would have served of the records.

    None where the records are too few.

    Args:
        training: The records.
        shown: What their answers show.
        embedder: For questions and answers.
        taken: Indices of the actions, shape (n,).
    """
    if len(training) < FEWEST:
        return None
    arbiter, held_out = Arbiter.with_held_out(
        training.records.tolist(),
        actions=training.table.actions,
        embedder=embedder,
        measured=shown,
    )
    found = Arbitration.of(held_out, arbiter.actions, taken)
    return arbiter, found, held_out
