"""What a question shows by itself, as numbers.

Nothing here is fitted, and nothing needs a model: counts of words, names and dates, and the
grammatical forms of questions. No list names a topic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from skr_core._compat import cached_property

WORD = re.compile(r"\w+(?:['’]\w+)?")
YEAR = re.compile(r"\b(1[0-9]{3}|20[0-9]{2})\b")
NAME = re.compile(
    r"(?:[A-Z][\w.'’-]*)(?:\s+(?:(?:of|the|and|de|von|van|for|in)\s*)?[A-Z][\w.'’-]*)*"
)


def any_of(words: str) -> re.Pattern[str]:
    """A pattern for any of some words or patterns, given with bars between them."""
    return re.compile(rf"\b(?:{words})\b")


_COMPARISON = any_of(
    "older|younger|elder|earlier|later|first|last|longer|shorter|taller|higher|lower|larger|"
    "smaller|bigger|more|less|most|fewer|before|after|same|both|different|common"
)
_SUPERLATIVE = re.compile(r"\b\w{3,}est\b")
_RECENT = any_of(
    "current|currently|latest|now|today|this (?:week|month|year)|recent|recently|"
    "last (?:week|month|year)|new|newest|20[2-9][0-9]"
)
_POSSESSIVE = re.compile(r"['’] ?s\b")
_NESTED = re.compile(r"\bthe \w+ of the (?:\w+ )?(?:of|that|who|which|in)\b")
_AUXILIARIES = frozenset(
    "is are was were do does did can could has have had will would should".split()
)
_ASKING = frozenset("who whom whose what when where which why how".split())
_RELATIVE = frozenset("that which who where whose".split())


@dataclass(frozen=True)
class _Question:
    text: str

    @cached_property
    def low(self) -> str:
        return self.text.lower()

    @cached_property
    def words(self) -> list[str]:
        return WORD.findall(self.text)

    @cached_property
    def low_words(self) -> list[str]:
        return [word.lower() for word in self.words]

    @cached_property
    def first(self) -> str:
        return self.low_words[0] if self.words else ""

    @cached_property
    def asking(self) -> str:
        return next((word for word in self.low_words if word in _ASKING), "")

    def names(self) -> int:
        found = NAME.findall(self.text)
        # A single word at the beginning is capitalised in any question.
        return sum(not (self.text.startswith(each) and " " not in each) for each in found)


def _offers_two(question: str) -> bool:
    """Return whether a comma is followed by an "or", and that by a question mark, on one line."""
    for line in question.split("\n"):
        comma = line.find(", ")
        choice = line.find(" or ", comma + 3) if comma >= 0 else -1
        if choice >= 0 and line.rfind("?") > choice + 4:
            return True
    return False


def _asks(*words: str) -> Callable[[_Question], float]:
    return lambda q: q.asking in words


def _count(pattern: re.Pattern[str]) -> Callable[[_Question], float]:
    return lambda q: len(pattern.findall(q.low))


QUESTION_FEATURES: dict[str, Callable[[_Question], float]] = {
    "words": lambda q: max(1, len(q.words)),
    "log_words": lambda q: math.log1p(max(1, len(q.words))),
    "word_length": lambda q: sum(map(len, q.words)) / max(1, len(q.words)),
    "longest_word": lambda q: max(map(len, q.words), default=0),
    "names": _Question.names,
    "capitals": lambda q: sum(w[:1].isupper() for w in q.words[1:]) / max(1, len(q.words)),
    "lower_case": lambda q: q.text == q.low,
    "not_ascii": lambda q: not q.text.isascii(),
    "numbers": lambda q: sum(word.isdigit() for word in q.low_words),
    "year": lambda q: bool(YEAR.search(q.text)),
    "quotations": lambda q: q.text.count('"') / 2 + q.text.count("''") / 2,
    "commas": lambda q: q.text.count(","),
    "question_mark": lambda q: q.text.rstrip().endswith("?"),
    "who": _asks("who", "whom", "whose"),
    "what": _asks("what"),
    "when": _asks("when"),
    "where": _asks("where"),
    "which": _asks("which"),
    "why": _asks("why"),
    "how": _asks("how"),
    "how_many": lambda q: any(f"how {each}" in q.low for each in ("many", "much", "long")),
    "yes_or_no": lambda q: q.first in _AUXILIARIES,
    "asks_late": lambda q: q.asking not in ("", q.first),
    "or": lambda q: " or " in q.low,
    "choice_of_two": lambda q: _offers_two(q.text),
    "comparison": _count(_COMPARISON),
    "superlative": _count(_SUPERLATIVE),
    "possessive": _count(_POSSESSIVE),
    "of": lambda q: q.low_words.count("of"),
    "relative_clauses": lambda q: sum(word in _RELATIVE for word in q.low_words[1:]),
    "nested": _count(_NESTED),
    "recent": _count(_RECENT),
}
"""Name and measure of each feature; 32 of them."""


def question_features(question: str) -> list[float]:
    """The features of a question, in the order of `QUESTION_FEATURES`.

    Example:
        >>> features = question_features("Who is the current mayor of Paris?")
        >>> dict(zip(QUESTION_FEATURES, features))["recent"]
        1.0
    """
    parsed = _Question(question)
    return [float(measure(parsed)) for measure in QUESTION_FEATURES.values()]
