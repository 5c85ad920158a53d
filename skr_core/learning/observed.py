"""What is known of a question before anything is retrieved, and nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skr_core.self_knowledge.records import SelfKnowledge
from skr_core.types import Generation

# Only what stands here is ever read from a record's extra fields: others may have been computed
# from the right answer, and a router that has seen it is worth nothing on the next question.
REASONING_FIELDS = ("direct_chain_of_thought", "chain_of_thought_direct", "generation_direct")
CONFIDENCE_FIELDS = ("direct_logprob", "generation_score_direct")
UNCERTAIN_FIELD = "giveup"

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_KNOWN_FROM_GOLD = re.compile(
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

        Example:
            >>> record = SelfKnowledge("Who?", ("Ada",), "Bob", "Ada", 0.0, 1.0,
            ...                        extra={"direct_logprob": -0.5, "em_direct": False})
            >>> Observed.in_record(record)
            Observed(question='Who?', draft='Bob', reasoning='', confidence=-0.5)
        """
        reasoning = next((record.extra[f] for f in REASONING_FIELDS if record.extra.get(f)), "")
        return cls(
            record.question,
            plain_text(record.direct_answer),
            plain_text(reasoning),
            _confidence(record.extra),
        )

    @classmethod
    def in_answer(cls, question: str, direct: Generation) -> Observed:
        """What is known when a question has just been answered directly.

        Example:
            >>> Observed.in_answer("Who?", Generation("Bob", logprobs=(-1.0, -2.0))).confidence
            -1.5
        """
        logprobs = direct.logprobs
        mean = math.fsum(logprobs) / len(logprobs) if logprobs else None
        return cls(question, plain_text(direct.text), "", _finite(mean))


def number_of(value: Any) -> float | None:
    """A recorded value as a number: booleans count 0 and 1, also where they are texts.

    Example:
        >>> number_of("True"), number_of(0.5), number_of(float("nan")), number_of("Paris")
        (1.0, 0.5, None, None)
    """
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower(), value)
        try:
            value = float(value)
        except ValueError:
            return None
    return _finite(value)


def is_known_from_gold(field: str) -> bool:
    """Whether a field's name says that it was computed from the right answer.

    Example:
        >>> is_known_from_gold("f1_direct"), is_known_from_gold("giveup")
        (True, False)
    """
    return bool(_KNOWN_FROM_GOLD.search(field.rpartition(".")[2]))


def plain_text(text: Any) -> str:
    r"""A recorded answer as it was said: logs often keep it quoted, with escapes.

    Example:
        >>> plain_text(r'"Beyonc\u00e9 sang \"Halo\"."')
        'Beyoncé sang "Halo".'
    """
    if not isinstance(text, str):
        return ""
    said = _ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), text)
    return said.strip().strip('"').replace('\\"', '"')


def _confidence(extra: Mapping[str, Any]) -> float | None:
    found = (number_of(extra[each]) for each in CONFIDENCE_FIELDS if each in extra)
    stated = next((each for each in found if each is not None), None)
    if stated is None and (gave_up := number_of(extra.get(UNCERTAIN_FIELD))) is not None:
        return 1 - gave_up
    return stated


def _finite(value: Any) -> float | None:
    if not isinstance(value, bool | int | float) or not math.isfinite(value):
        return None
    return float(value)
