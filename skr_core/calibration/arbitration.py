"""Whether an arbiter pays on a user's own records, and what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skr_core.arbiters.arbiter import FEWEST, NAMES, Arbiter, HeldOut
from skr_core.calibration.intervals import interval
from skr_core.metrics.statistics import Interval
from skr_core.types import Action

if TYPE_CHECKING:
    from skr_core.ports import Embedder
    from skr_core.self_knowledge.records import SelfKnowledge


@dataclass(frozen=True)
class Arbitration:
    """What an arbiter would have served of records that it was not fitted on.

    Attributes:
        constant: The action whose answers are best, were they all served.
        always: Accuracy of these answers.
        served: Accuracy of the answers that are likeliest to be right.
        gain: The second minus the first.
        pays: Whether it is better by more than chance explains.
    """

    constant: Action
    always: Interval
    served: Interval
    gain: Interval
    pays: bool

    @classmethod
    def of(cls, held_out: HeldOut, actions: Sequence[Action]) -> Arbitration:
        """Measure it.

        Example:
            >>> scores = np.array([[1.0, 0.0], [0.0, 1.0]] * 40)
            >>> found = Arbitration.of(HeldOut(scores, scores), ("direct", "single"))
            >>> found.always.mean, found.served.mean, found.pays
            (0.5, 1.0, True)
        """
        best = int(np.argmax(held_out.scores.mean(axis=0)))
        return cls(
            actions[best],
            interval(held_out.scores[:, best]),
            interval(held_out.served),
            interval(held_out.gain),
            held_out.pays,
        )

    @property
    def sentence(self) -> str:
        """Whether an arbiter pays on these records, with its figures and its cost."""
        low, high = 100 * self.gain.low, 100 * self.gain.high
        figures = (
            f"serving the answer that is likeliest to be right reaches {self.served.mean:.3f} in "
            f"place of {self.always.mean:.3f}, {100 * self.gain.mean:+.1f} points "
            f"({low:+.1f} to {high:+.1f}), against always {NAMES[self.constant]}"
        )
        if self.pays:
            return (
                f"An arbiter pays on these {self.gain.n} records: {figures}; it costs one direct "
                "call for each question that is retrieved for."
            )
        return f"An arbiter does not pay on these {self.gain.n} records: {figures}."


def arbitrate(
    records: Sequence[SelfKnowledge], embedder: Embedder, actions: Sequence[Action]
) -> tuple[Arbiter, Arbitration] | None:
    """An arbiter and what it is worth; None where the records are too few to tell."""
    if len(records) < FEWEST:
        return None
    arbiter, held_out = Arbiter.with_held_out(records, actions=actions, embedder=embedder)
    return arbiter, Arbitration.of(held_out, arbiter.actions)
