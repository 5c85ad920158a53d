"""What an answer shows by itself and beside its question, as numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from skr_core._compat import cached_property
from skr_learn.features.question import WORD, YEAR, any_of

_MONTH = any_of(
    "january|february|march|april|may|june|july|august|september|october|november|december"
)
_HEDGE = any_of(
    "however|but|although|unknown|unclear|uncertain|not sure|cannot|can't|could not|unable|"
    "no information|not (?:have|find|provided|mentioned|specified|known|possible|enough)|"
    r"assum\w*|likely|possibly|perhaps|may have|might|probably|i think|appears?|seems?|sorry"
)
_REFUSAL = re.compile(
    r"^(?:none|unknown|n/?a|no answer|not (?:known|available|applicable|specified|found)|"
    r"i (?:do not|don't|cannot|can't)|i'm sorry|sorry|unable|there is no|cannot)\b"
)
_SMALL_WORDS = frozenset(
    "the a an of in on at to for and or is are was were be been by with from as that this it its "
    "his her their he she they which who whom whose what when where why how did do does has have "
    "had not no s".split()
)
LONG = 12
"""Words of an answer that is more than a name, a date or a title."""


@dataclass(frozen=True)
class _Draft:
    question: str
    answer: str

    @cached_property
    def low(self) -> str:
        return self.answer.lower().strip()

    @cached_property
    def words(self) -> list[str]:
        return [word.lower() for word in WORD.findall(self.answer)]

    @cached_property
    def content(self) -> list[str]:
        return [word for word in self.words if word not in _SMALL_WORDS] or self.words

    @cached_property
    def asked(self) -> set[str]:
        return {word.lower() for word in WORD.findall(self.question)}

    def asked_share(self, words: list[str]) -> float:
        return sum(word in self.asked for word in words) / max(1, len(words))


DRAFT_FEATURES: dict[str, Callable[[_Draft], float]] = {
    "answer_words": lambda d: len(d.words),
    "answer_log_characters": lambda d: math.log1p(len(d.answer)),
    "answer_empty": lambda d: not d.low,
    "answer_yes": lambda d: d.low.startswith("yes"),
    "answer_no": lambda d: d.low in ("no", "no.") or d.low.startswith("no,"),
    "answer_refuses": lambda d: bool(_REFUSAL.match(d.low)),
    "answer_number": lambda d: any(each.isdigit() for each in d.answer),
    "answer_year": lambda d: bool(YEAR.search(d.answer)),
    "answer_month": lambda d: bool(_MONTH.search(d.low)),
    "answer_capitals": lambda d: (
        sum(each[:1].isupper() for each in WORD.findall(d.answer)) / max(1, len(d.words))
    ),
    "answer_in_question": lambda d: d.asked_share(d.content),
    "answer_new_words": lambda d: sum(word not in d.asked for word in d.content),
    "answer_not_ascii": lambda d: not d.answer.isascii(),
    "answer_one_word": lambda d: len(d.words) == 1,
    "answer_long": lambda d: len(d.words) > LONG,
    "hedges": lambda d: len(_HEDGE.findall(d.low)),
}
"""Name and measure of each feature; 16 of them."""


def draft_features(question: str, answer: str) -> list[float]:
    """Measure an answer, in the order of `DRAFT_FEATURES`.

    Args:
        question: The question, as it was asked.
        answer: The answer, without citation markers.

    Example:
        >>> features = draft_features("Who wrote Emma?", "I don't know.")
        >>> dict(zip(DRAFT_FEATURES, features))["answer_refuses"]
        1.0
    """
    parsed = _Draft(question, answer)
    return [float(measure(parsed)) for measure in DRAFT_FEATURES.values()]
