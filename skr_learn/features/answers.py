"""What an answer shows by itself and beside another one, as numbers.

Nothing here is fitted, and nothing needs a model or looks at a right answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_core.candidates import CandidateAnswer
from skr_core.texts import normalise, split_sentences
from skr_learn.features.draft import draft_features
from skr_learn.features.question import YEAR

Floats = NDArray[np.float64]

LONGEST = 200
"""Words of an answer that are compared; a longer one is an essay."""
LONGEST_TEXT = 1_000
"""Characters of a text whose pieces are compared."""
REMEMBERED = 64
"""Texts that are taken to pieces once."""
PAIR_FEATURES = 10
"""How many numbers `pair_features` returns."""

DIFFERENCE = 5
"""Place of the difference in length among the features of a pair."""

_JOINED = re.compile(r"[\W_]+")
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred"
    r"|thousand|million|billion)\b",
    re.IGNORECASE,
)
_SPELLED = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|long|old|far|tall|high|big|large)\b"
    r"|\bwhat (?:number|percent\w*|age)\b|\bpopulation\b"
)
_ASKS_TIME = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|decade|century)\b|\bin what year\b"
)
_ASKS_CHOICE = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should)\b"
)
_ASKS_NAME = re.compile(
    r"\bwho(?:m|se)?\b|\bwhere\b"
    r"|\b(?:what|which) (?:city|country|state|county|place|location|town)\b"
)


# An answer is compared with its question and with each of the others.
_normalised = lru_cache(REMEMBERED)(normalise)


def fits(question: str, answer: str) -> float:
    """Whether an answer is of the kind that is asked for: 1, -1, or 0 where that is open.

    Example:
        >>> fits("How many are there?", "Twelve"), fits("Who was it?", "In 1912")
        (1.0, -0.5)
    """
    asked, said = question.lower(), answer.lower().strip()
    if not said:
        return 0.0
    yes_or_no = said.startswith(("yes", "no"))
    if _ASKS_NUMBER.search(asked) or _ASKS_TIME.search(asked):
        return 1.0 if _NUMBER.search(answer) else -1.0
    if _ASKS_CHOICE.match(asked):
        return 1.0 if yes_or_no else (0.5 if " or " in asked else -0.5)
    if yes_or_no:
        return -1.0
    if _ASKS_NAME.search(asked):
        named = any(word[:1].isupper() for word in re.findall(r"\w+", answer))
        return 1.0 if named and not _NUMBER.search(answer) else -0.5
    return 0.0


def own_features(question: str, answer: CandidateAnswer) -> list[float]:
    """Measure one answer: its form, its kind, and where it stands, 35 numbers.

    Args:
        question: The question, as it was asked.
        answer: The answer to it; what is not known of it is NaN.
    """
    standing = answer.standing
    # What an answer cites is known where it is known whether it cites anything.
    cites = standing if answer.grounded is not None else None
    return [
        *draft_features(question, answer.text),
        fits(question, answer.text),
        _stated(answer.grounded),
        _stated(standing and standing.direct),
        _stated(cites and cites.direct_cited),
        _stated(standing and standing.own),
        _stated(answer.confidence),
        float(answer.confidence is None),
        float(standing is None),
        *form_features(answer.text),
        *question_standing(question, answer.text),
        trigram_cosine(question, answer.text),
    ]


def _stated(value: Any) -> float:
    """Return a number that may not be known, NaN where it is not."""
    return math.nan if value is None else float(value)


def agree(these: str, those: str) -> bool:
    """Return whether two answers say the same but for case, punctuation and articles.

    Example:
        >>> agree("The Eiffel Tower.", "eiffel tower"), agree("", "")
        (True, False)
    """
    first = _JOINED.sub(" ", _normalised(these)).strip()
    return bool(first) and first == _JOINED.sub(" ", _normalised(those)).strip()


def trigram_cosine(these: str, those: str) -> float:
    """Return the cosine of two texts by the three-letter pieces that they hold, 0 to 1.

    Example:
        >>> trigram_cosine("Ada", "ada"), trigram_cosine("Ada", "1815")
        (1.0, 0.0)
    """
    first, second = _trigrams(these), _trigrams(those)
    if not first or not second:
        return 0.0
    return len(first & second) / math.sqrt(len(first) * len(second))


@lru_cache(REMEMBERED)
def _trigrams(text: str) -> set[str]:
    padded = f" {text.lower()[:LONGEST_TEXT]} "
    return {padded[place : place + 3] for place in range(len(padded) - 2)}


def _comparable(text: str) -> str:
    """Normalised, with small numbers as digits."""
    return " ".join(_SPELLED.get(word, word) for word in _normalised(text).split())


def form_features(answer: str) -> list[float]:
    """Measure the signs of an answer that lists, explains or breaks off, 6 numbers."""
    return [
        float("," in answer),
        float(" and " in answer.lower()),
        float("(" in answer),
        float(answer.rstrip().endswith((".", "!", "?"))),
        float(sum(map(str.isdigit, answer))),
        float(len(split_sentences(answer))),
    ]


def question_standing(question: str, answer: str) -> list[float]:
    """Measure where an answer stands in the question, 4 numbers.

    It may be one of two that the question offers.
    """
    asked, said = _comparable(question), _comparable(answer)
    place = f" {asked} ".find(f" {said} ") if said else -1
    shared = len({*asked.split()} & {*said.split()})
    return [
        float(place >= 0),
        place / max(1, len(asked)),
        float(place >= 0 and " or " in asked),
        shared / max(1, len({*asked.split()})),
    ]


def pair_features(these: str, those: str) -> list[float]:
    """Measure how two answers agree, 10 numbers; `turned` has those of the other order.

    Example:
        >>> pair_features("in 1815", "1815")[:4]
        [0.0, 0.0, 1.0, 0.6666666666666666]
    """
    first, second = (_normalised(text).split()[:LONGEST] for text in (these, those))
    if not first or not second:
        return [0.0] * PAIR_FEATURES
    said, other = " ".join(first), " ".join(second)
    shared = sum((Counter(first) & Counter(second)).values())
    years = {*YEAR.findall(said)}, {*YEAR.findall(other)}
    numbers = [{word for word in each if word.isdigit()} for each in (first, second)]
    return [
        float(agree(these, those)),
        float(f" {said} " in f" {other} "),
        float(f" {other} " in f" {said} "),
        2 * shared / (len(first) + len(second)),
        float(bool(numbers[0] & numbers[1])),
        float(len(first) - len(second)),
        float(first[0] == second[0]),
        float(first[-1] == second[-1]),
        float(bool(years[0] & years[1])),
        trigram_cosine(these, those),
    ]


def turned(pairs: Floats) -> Floats:
    """The features of many pairs of answers, shape (n, 10), as if they stood in the other order.

    Example:
        >>> forth, back = pair_features("in 1815", "1815"), pair_features("1815", "in 1815")
        >>> turned(np.array([forth])).tolist() == [back]
        True
    """
    found = pairs[:, [0, 2, 1, *range(3, pairs.shape[1])]]
    found[:, DIFFERENCE] *= -1
    return found
