"""What an arbiter sees: a question, its answers, and how they stand in the references."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from skr_core.references.citations import without_markers
from skr_core.texts import normalise
from skr_core.types import Action, Answer, Generation
from skr_learn.self_knowledge.margins import Margins
from skr_learn.self_knowledge.records import Outcome, SelfKnowledge
from skr_learn.self_knowledge.rows import plain_text
from skr_learn.self_knowledge.standing import Standing, standing_of

_JOINED = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class SeenAnswer:
    """One answer to a question.

    Attributes:
        text: Without citation markers.
        reasoning: The chain of thought before it, where there is one.
        confidence: In it, on any scale; None where nothing states it.
        grounded: Whether it rests on references; None where that is not known.
        standing: How the direct answer and this one stand in its references; None as above.
        margins: How much likelier the model finds it than the direct answer; None as above.
    """

    text: str
    reasoning: str = ""
    confidence: float | None = None
    grounded: bool | None = None
    standing: Standing | None = None
    margins: Margins | None = None

    @classmethod
    def in_outcome(cls, outcome: Outcome) -> Self:
        """What was known of an answer that is on record; its score is not looked at."""
        return cls(
            without_markers(plain_text(outcome.answer)),
            outcome.reasoning,
            outcome.confidence,
            outcome.grounded,
            outcome.standing,
            outcome.margins,
        )

    @classmethod
    def in_generation(cls, direct: Generation) -> Self:
        """What is known of the direct answer that a model has just given."""
        return cls(without_markers(plain_text(direct.text)), confidence=direct.mean_logprob)

    @classmethod
    def in_answer(cls, answer: Answer, direct: str = "") -> Self:
        """What is known of an answer that was just given.

        Args:
            answer: Of a system.
            direct: Text of the direct answer beside it, empty where there is none.
        """
        retrieved = answer.decision.retrieve
        return cls(
            without_markers(plain_text(answer.text)),
            confidence=answer.logprob,
            grounded=answer.grounded if retrieved else None,
            standing=standing_of(answer, direct) if retrieved else None,
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
    answers: Mapping[Action, SeenAnswer]

    @classmethod
    def in_record(cls, record: SelfKnowledge, actions: Sequence[Action]) -> Self:
        """What was known when these actions had been taken; of no score, and of no right answer."""
        answers = {action: SeenAnswer.in_outcome(record.outcomes[action]) for action in actions}
        return cls(record.question, answers)

    @property
    def first(self) -> SeenAnswer:
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
