"""What is decided of a question, and why: to retrieve, to go on, which answer to serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from skr_core.types.calls import NO_USAGE, Usage

Action = Literal["direct", "single", "loop"]
"""Answer without retrieval, after one round of it, or after as many rounds as it takes."""

ACTIONS: tuple[Action, ...] = ("direct", "single", "loop")
"""From the cheapest to the dearest."""

Effect = Literal["helps", "hurts", "same"]
"""What retrieval did to the score of an answer."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A recorded question near the one asked, as evidence for a decision.

    Attributes:
        question: The recorded question.
        similarity: Cosine, -1 to 1.
        effect: What retrieval did to its answer.
        benefit: Augmented minus direct score, -1 to 1.
    """

    question: str
    similarity: float
    effect: Effect
    benefit: float


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to retrieve, and why.

    Attributes:
        retrieve: True when the question is judged unknown to the model.
        max_rounds: Rounds of retrieval allowed: 1 is single shot, None is what the budget says.
        score: Expected benefit of retrieval; None where the router has no score.
        threshold: Retrieval happens above it; None where there is no score.
        reason: One sentence for people.
        neighbours: The evidence of nearest-neighbour routers.
        usage: What the decision itself cost.
        draft: The direct answer the decision was made on; served when the question is known.
    """

    retrieve: bool
    max_rounds: int | None = None
    score: float | None = None
    threshold: float | None = None
    reason: str = ""
    neighbours: tuple[Neighbour, ...] = ()
    usage: Usage = NO_USAGE
    draft: str = ""

    @property
    def action(self) -> Action:
        """The action that follows from it.

        Example:
            >>> Decision(True, max_rounds=1).action
            'single'
        """
        if not self.retrieve:
            return "direct"
        return "single" if self.max_rounds == 1 else "loop"


@dataclass(frozen=True, slots=True)
class Reflection:
    """A judgement of a draft against its references (RaLLM §5.1).

    Attributes:
        sufficient: True when the references suffice and the draft stands.
        reason: One sentence for people.
        missing: What is missing, in words, for the next queries; may be empty.
        usage: What the judgement cost; nothing when it was read from the draft.
    """

    sufficient: bool
    reason: str = ""
    missing: str = ""
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which of the answers at hand is served, and why.

    Attributes:
        served: The action whose answer it is.
        chances: The estimated chance of each answer to be right, by action.
        reason: One sentence.
        answers: The texts that were weighed, by action; filled in by the graph.
    """

    served: Action
    chances: Mapping[Action, float]
    reason: str
    answers: Mapping[Action, str] = field(default_factory=dict, hash=False)
