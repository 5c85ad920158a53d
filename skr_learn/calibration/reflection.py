"""Whether a learned reflector pays on a user's own records, and what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skr_core.replies.refusals import is_refusal
from skr_learn.arbiters.serving import surely_better
from skr_learn.calibration.intervals import interval
from skr_learn.learned_reflector import LearnedReflector
from skr_learn.learning.rows import Floats
from skr_learn.metrics import Interval
from skr_learn.self_knowledge.order import in_fixed_order
from skr_learn.self_knowledge.records import Outcome, SelfKnowledge

if TYPE_CHECKING:
    from skr_core.ports import Embedder

RIGHT = 0.5
"""The score from which on an answer counts as right."""


@dataclass(frozen=True)
class ReflectorWorth:
    """How many answers with references are judged rightly: held to suffice where they are right.

    Attributes:
        right: Share of the answers that are right: what holding all of them to suffice reaches.
        said: Share judged rightly on record: by the model's own verdict, or whatever judged then.
        learned: Share judged rightly by the learned reflector, each without its record.
        gain: The last minus the one before it.
        pays: Whether it is above zero by more than chance explains.
    """

    right: Interval
    said: Interval
    learned: Interval
    gain: Interval
    pays: bool

    @classmethod
    def of(
        cls, records: Sequence[SelfKnowledge], chances: Floats, threshold: float
    ) -> ReflectorWorth:
        """Measure it.

        Args:
            records: What the reflector was fitted on, n of them.
            chances: Of their answers, each without its record, shape (n,).
            threshold: Of the reflector.

        Example:
            >>> records = [
            ...     SelfKnowledge.of("Who?", direct=("", 0), single=("Ada", n % 2))
            ...     for n in range(80)
            ... ]
            >>> chances = np.array([n % 2 for n in range(80)], dtype=float)
            >>> worth = ReflectorWorth.of(records, chances, 0.5)
            >>> worth.said.mean, worth.learned.mean, worth.pays
            (0.5, 1.0, True)
        """
        right = np.array([record.retrieved.score >= RIGHT for record in records])
        said = np.array([sufficed(record.retrieved) for record in records]) == right
        learned = (chances >= threshold) == right
        gain = learned.astype(float) - said
        return cls(
            interval(right.astype(float)),
            interval(said.astype(float)),
            interval(learned.astype(float)),
            interval(gain),
            surely_better(gain),
        )

    @property
    def sentence(self) -> str:
        """Whether a learned reflector pays on these records, with its figures."""
        pays = "pays" if self.pays else "does not pay"
        gain = self.gain
        return (
            f"A learned reflector {pays} on these {gain.n} records: of the answers with references "
            f"it judges {self.learned.mean:.3f} rightly in place of {self.said.mean:.3f}, "
            f"{100 * gain.mean:+.1f} points ({100 * gain.low:+.1f} to {100 * gain.high:+.1f}); "
            f"{self.right.mean:.3f} of them are right."
        )


def fit_reflector(
    records: Sequence[SelfKnowledge], embedder: Embedder | None = None
) -> tuple[LearnedReflector, ReflectorWorth]:
    """A reflector learnt from records, and what it is worth on them.

    Args:
        records: Of self-knowledge, in any order.
        embedder: For questions and drafts; a `HashingEmbedder` by default.

    Raises:
        InputError: There is no record.
    """
    records = in_fixed_order(records)
    reflector, chances = LearnedReflector.with_held_out(records, embedder=embedder)
    return reflector, ReflectorWorth.of(records, chances, reflector.threshold)


def sufficed(outcome: Outcome) -> bool:
    """Whether an answer was held to suffice when it was recorded."""
    if outcome.stop_reason:
        return outcome.stop_reason == "sufficient"
    return not is_refusal(outcome.answer)
