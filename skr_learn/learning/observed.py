"""What is known of a question before anything is retrieved, and nothing else."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from skr_core.rivals import plain_text
from skr_core.types import Generation
from skr_learn.self_knowledge.records import SelfKnowledge

_COMPUTED_FROM_GOLD = re.compile(
    r"^(?:em|f1|contains|correct|has_answer)(?:_|$)|_origin_rule$|^gold$|^answerable$"
)


@dataclass(frozen=True, slots=True)
class Observed:
    """What a router may look at.

    Attributes:
        question: What is asked.
        draft: The direct answer; None where the model was not asked.
        reasoning: The chain of thought before the direct answer, where there is one.
        confidence: In the direct answer, on any scale; None where nothing states it.
    """

    question: str
    draft: str | None = None
    reasoning: str = ""
    confidence: float | None = None

    @classmethod
    def in_record(cls, record: SelfKnowledge) -> Observed:
        """What was known when the record's question had been answered directly.

        Of the record only the question and what came with the direct answer are read: a score, or
        a field that was computed from the right answer, would be worth nothing on other questions.

        Example:
            >>> record = SelfKnowledge.of("Who?", ["Ada"], direct=("Bob", 0), single=("Ada", 1))
            >>> Observed.in_record(record)
            Observed(question='Who?', draft='Bob', reasoning='', confidence=None)
        """
        direct = record.direct
        draft = plain_text(direct.answer)
        return cls(record.question, draft, direct.reasoning, direct.confidence)

    @classmethod
    def in_answer(cls, question: str, direct: Generation) -> Observed:
        """What is known when a question has just been answered directly.

        Example:
            >>> Observed.in_answer("Who?", Generation("Bob", logprobs=(-1.0, -2.0))).confidence
            -1.5
        """
        logprobs = direct.logprobs
        mean = math.fsum(logprobs) / len(logprobs) if logprobs else None
        confidence = mean if mean is not None and math.isfinite(mean) else None
        return cls(question, plain_text(direct.text), "", confidence)


def is_computed_from_gold(field: str) -> bool:
    """Whether a field's name says that it was computed from the right answer.

    Example:
        >>> is_computed_from_gold("f1_direct"), is_computed_from_gold("giveup")
        (True, False)
    """
    return bool(_COMPUTED_FROM_GOLD.search(field.rpartition(".")[2]))
