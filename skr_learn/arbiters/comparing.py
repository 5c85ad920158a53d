"""What an answer shows by itself and beside another one, as numbers.

Nothing here is fitted, and nothing needs a model or looks at a right answer.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from skr_core.candidates import CandidateAnswer
from skr_core.texts import normalise, split_sentences
from skr_learn.arbiters.answers import agree, stated
from skr_learn.learning.answer_features import draft_features
from skr_learn.learning.question_features import YEAR
from skr_learn.learning.rows import Floats

LONGEST = 200
"""Words of an answer that are compared; a longer one is an essay."""

DIFFERENCE = 5
"""Place of the difference in length among the features of a pair."""

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


@dataclass(frozen=True)
class Reasoning:
    """The chain of thought before a direct answer, which every answer is compared with.

    Attributes:
        text: As it was said.
    """

    text: str

    @cached_property
    def normalised(self) -> str:
        """Between two spaces."""
        return f" {normalise(self.text)} "

    @cached_property
    def words(self) -> set[str]:
        """Normalised."""
        return {*self.normalised.split()}

    @cached_property
    def comparable(self) -> str:
        """With small numbers as digits."""
        return _comparable(self.text)

    @cached_property
    def parts(self) -> tuple[str, str]:
        """What comes before its last sentence, and that sentence, with small numbers as digits."""
        *before, last = [_comparable(each) for each in split_sentences(self.text)] or [""]
        return " ".join(before), last


def own_features(question: str, answer: CandidateAnswer, reasoning: Reasoning) -> list[float]:
    """What one answer shows, 54 numbers: its form, its kind, and where else it stands.

    It may stand in the question, in the reasoning before the direct answer and in the references.

    Args:
        question: What was asked.
        answer: To it.
        reasoning: Before the direct answer; what it says speaks for an answer.
    """
    said = normalise(answer.text)
    parts = set(said.split())
    standing = answer.standing
    return [
        *draft_features(question, answer.text, answer.reasoning),
        fits(question, answer.text),
        float(bool(said) and f" {said} " in reasoning.normalised),
        len(parts & reasoning.words) / max(1, len(parts)),
        stated(answer.grounded),
        stated(standing and standing.direct),
        stated(standing and standing.direct_cited),
        stated(standing and standing.own),
        stated(answer.confidence),
        float(answer.confidence is None),
        float(standing is None),
        *form_features(answer.text),
        *question_standing(question, answer.text),
        *reasoning_standing(reasoning, answer.text),
    ]


def _comparable(text: str) -> str:
    """Normalised, with small numbers as digits."""
    return " ".join(_SPELLED.get(word, word) for word in normalise(text).split())


def form_features(answer: str) -> list[float]:
    """Signs of an answer that lists, explains or breaks off, 6 numbers."""
    return [
        float("," in answer),
        float(" and " in answer.lower()),
        float("(" in answer),
        float(answer.rstrip().endswith((".", "!", "?"))),
        float(sum(map(str.isdigit, answer))),
        float(len(split_sentences(answer))),
    ]


def question_standing(question: str, answer: str) -> list[float]:
    """Where an answer stands in the question, 4 numbers: it may be one of two that are offered."""
    asked, said = _comparable(question), _comparable(answer)
    place = f" {asked} ".find(f" {said} ") if said else -1
    shared = len({*asked.split()} & {*said.split()})
    return [
        float(place >= 0),
        place / max(1, len(asked)),
        float(place >= 0 and " or " in asked),
        shared / max(1, len({*asked.split()})),
    ]


def reasoning_standing(reasoning: Reasoning, answer: str) -> list[float]:
    """Whether the conclusion says an answer, and what stands before it, 6 numbers."""
    said, thought = _comparable(answer), reasoning.comparable
    earlier, last = reasoning.parts
    parts = {*said.split()}
    times = f" {thought} ".count(f" {said} ") if said else 0
    return [
        float(bool(said) and f" {said} " in f" {last} "),
        float(bool(said) and f" {said} " in f" {earlier} "),
        float(times),
        f" {thought} ".find(f" {said} ") / len(thought) if times else -1.0,
        len(parts & {*last.split()}) / max(1, len(parts)),
        len(parts & {*earlier.split()}) / max(1, len(parts)),
    ]


def margin_features(answer: CandidateAnswer) -> list[float]:
    """How much likelier the model finds an answer than its own, 3 numbers; for those who ask."""
    margins = answer.margins
    known = margins is not None
    return [stated(margins and margins.prior), stated(margins and margins.binding), float(known)]


def pair_features(these: str, those: str) -> list[float]:
    """How two answers agree, 9 numbers; `turned` has those of the answers in the other order.

    Example:
        >>> pair_features("in 1815", "1815")[:4]
        [0.0, 0.0, 1.0, 0.6666666666666666]
    """
    first, second = (normalise(text).split()[:LONGEST] for text in (these, those))
    if not first or not second:
        return [0.0] * 9
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
    ]


def turned(pairs: Floats) -> Floats:
    """The features of many pairs of answers, shape (n, 9), as if they stood in the other order.

    Example:
        >>> import numpy as np
        >>> forth, back = pair_features("in 1815", "1815"), pair_features("1815", "in 1815")
        >>> turned(np.array([forth])).tolist() == [back]
        True
    """
    found = pairs[:, [0, 2, 1, *range(3, pairs.shape[1])]]
    found[:, DIFFERENCE] *= -1
    return found
