"""Which of several estimated answers is served, and what that is worth on records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skr_core.types import Action, Verdict
from skr_learn.arbiters.answers import Seen, agree
from skr_learn.learning.rows import Floats

NAMES: dict[Action, str] = {
    "direct": "the direct answer",
    "single": "the answer after one round of retrieval",
    "loop": "the answer of the loop",
}
MARGIN = 1.64
"""Standard errors by which serving the likeliest answer has to be better than serving those of
always the same action (one-sided 95 %)."""
FEWEST = 50
"""Records on which an arbiter may rest at all."""


def served_of(chances: Floats) -> NDArray[np.int64]:
    """Index of the likeliest answer of each question; of equals the dearest, which cites.

    A refusal is an answer like any other: the records say how often refusing was right. So it is
    where figures are measured, and so it is served.
    """
    last = chances.shape[1] - 1
    found: NDArray[np.int64] = last - np.argmax(chances[:, ::-1], axis=1)
    return found


def verdict_of(seen: Seen, chances: Floats) -> Verdict:
    """Serve the likeliest of the answers at hand.

    Args:
        seen: The question with its answers.
        chances: Of each to be right, shape (a,).
    """
    actions = list(seen.answers)
    likeliest = actions[int(served_of(chances[None])[0])]
    said = seen.answers[likeliest].text
    agreeing = [each for each in actions if agree(seen.answers[each].text, said)]
    # Of answers that say the same, the one that rests on references.
    grounded = [each for each in agreeing if seen.answers[each].grounded]
    served = grounded[-1] if grounded else likeliest
    by_action = {action: float(chance) for action, chance in zip(actions, chances, strict=True)}
    return Verdict(served, by_action, _reason(served, likeliest, by_action, len(agreeing)))


def surely_better(gain: Floats) -> bool:
    """Whether gains are above zero by more than chance explains, on enough records.

    Example:
        >>> surely_better(np.ones(60)), surely_better(np.ones(9)), surely_better(np.zeros(60))
        (True, False, False)
    """
    error = gain.std() / np.sqrt(max(1, len(gain)))
    return len(gain) >= FEWEST and bool(gain.mean() > MARGIN * error)


@dataclass(frozen=True)
class HeldOut:
    """What an arbiter would have served of the records it was fitted on, each without itself.

    Attributes:
        chances: Of each answer, shape (n, a).
        scores: Measured, shape (n, a).
    """

    chances: Floats
    scores: Floats

    @property
    def served(self) -> Floats:
        """Scores of the answers that are served where all are at hand, shape (n,)."""
        return self.served_after(np.full(len(self.scores), self.scores.shape[1] - 1))

    def served_after(self, taken: NDArray[np.int64]) -> Floats:
        """The same where an action was taken and the answers of cheaper ones are at hand, (n,).

        Args:
            taken: Indices of the actions, shape (n,).
        """
        at_hand = np.arange(self.scores.shape[1]) <= taken[:, None]
        chosen = served_of(np.where(at_hand, self.chances, -1.0))
        found: Floats = self.scores[np.arange(len(taken)), chosen]
        return found

    @property
    def gain(self) -> Floats:
        """The same minus the scores of the best action for all, shape (n,)."""
        gain: Floats = self.served - self.scores[:, int(np.argmax(self.scores.mean(axis=0)))]
        return gain

    @property
    def pays(self) -> bool:
        """Whether serving the likeliest answer is better by more than chance explains."""
        return surely_better(self.gain)


def _reason(
    served: Action, likeliest: Action, chances: Mapping[Action, float], agreeing: int
) -> str:
    if len(chances) == 1:
        return "it is the only answer"
    if agreeing == len(chances):
        return "all answers agree"
    others = [f"{NAMES[action]} {chance:.0%}" for action, chance in chances.items()]
    why = "is the likeliest to be right"
    if served != likeliest:
        why = f"rests on references and says the same as {NAMES[likeliest]}, which {why}"
    return f"{NAMES[served]} {why}: {', '.join(others)}"
