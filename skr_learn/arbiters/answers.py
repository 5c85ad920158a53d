"""What an arbiter sees: a question, its answers, and how they stand in the references."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from skr_core.candidates import CandidateAnswer
from skr_core.references.citations import without_markers
from skr_core.rivals import plain_text
from skr_core.texts import normalise
from skr_core.types import Action
from skr_learn.self_knowledge.records import Outcome, SelfKnowledge

_JOINED = re.compile(r"[\W_]+")


def in_outcome(outcome: Outcome) -> CandidateAnswer:
    """What was known of an answer that is on record; its score is not looked at."""
    return CandidateAnswer(
        without_markers(plain_text(outcome.answer)),
        outcome.reasoning,
        outcome.confidence,
        outcome.grounded,
        outcome.standing,
        outcome.margins,
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """A question with the answers at hand.

    Attributes:
        question: What was asked.
        answers: By action, from the cheapest to the dearest.

    Example:
        >>> record = SelfKnowledge.of("Who?", direct=("Bob", 0), single=("Ada [1].", 1))
        >>> seen = Seen.in_record(record, ("direct", "single"))
        >>> seen.answers["single"].text
        'Ada.'
    """

    question: str
    answers: Mapping[Action, CandidateAnswer]

    @classmethod
    def in_record(cls, record: SelfKnowledge, actions: Sequence[Action]) -> Self:
        """What was known when these actions had been taken; of no score, and of no right answer."""
        answers = {action: in_outcome(record.outcomes[action]) for action in actions}
        return cls(record.question, answers)

    @property
    def first(self) -> CandidateAnswer:
        """The cheapest answer, whose reasoning and confidence are known where any are."""
        return next(iter(self.answers.values()))


def agree(these: str, those: str) -> bool:
    """Whether two answers say the same but for case, punctuation and articles.

    Example:
        >>> agree("The Eiffel Tower.", "eiffel tower"), agree("", "")
        (True, False)
    """
    first = _JOINED.sub(" ", normalise(these)).strip()
    return bool(first) and first == _JOINED.sub(" ", normalise(those)).strip()


def stated(value: Any) -> float:
    """A number that may not be known, NaN where it is not."""
    return math.nan if value is None else float(value)
