"""Metrics of an answer against its gold answers, as text or as a choice.

Texts are compared as SQuAD does: lower case, no punctuation, no articles, single spaces.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from skr_core.questions import Question
from skr_core.replies.judgements import choice_match
from skr_core.replies.refusals import is_refusal
from skr_core.texts import MARKER, normalise, straight_quotes

_SPACES = str.maketrans(dict.fromkeys(string.punctuation, " "))
_MARKERS = re.compile(MARKER)


def _split_at_punctuation(text: str) -> str:
    """As `normalise`, but punctuation parts words instead of vanishing."""
    return normalise(_MARKERS.sub(" ", straight_quotes(text)).translate(_SPACES))


def is_right(question: Question, answer: str) -> bool:
    """Whether an answer is right: the right option, or a gold answer within it (W2R §3).

    Of a question that is known to be unanswerable a refusal is right.

    Args:
        question: The question, with its gold answers and its options where it has any.
        answer: The answer, as it was given.

    Example:
        >>> is_right(Question("1", "Is it?", ("no",), choices=("yes", "no")), "Yes, with no doubt.")
        False
        >>> is_right(Question("1", "Who?", ("Ada Lovelace",)), "It was Ada Lovelace [1].")
        True
    """
    if question.is_unanswerable:
        return is_refusal(answer)
    if question.choices:
        return choice_match(answer, question.gold, question.choices)
    return contains_gold(answer, question.gold)


def exact_match(answer: str, gold: Sequence[str]) -> bool:
    """Whether the answer equals any gold answer (SKR §3.1, metric E).

    Example:
        >>> exact_match("the Seine.", ["Seine"])
        True
    """
    return normalise(answer) in {normalise(each) for each in gold}


def contains_gold(answer: str, gold: Sequence[str]) -> bool:
    """Whether the answer contains any gold answer, as whole words (W2R §3, accuracy).

    Punctuation inside a name may be there or not: "B. R. Ambedkar" is in "Dr. B.R. Ambedkar".

    Example:
        >>> contains_gold("It was Ada Lovelace [1].", ["Ada Lovelace"])
        True
        >>> contains_gold("nothing", [""])
        False
    """
    return any(
        wanted and f" {wanted} " in f" {said} "
        for read in (normalise, _split_at_punctuation)
        for said in (read(answer),)
        for wanted in map(read, gold)
    )


def token_f1(answer: str, gold: Sequence[str]) -> float:
    """The best harmonic mean of word precision and recall against any gold answer, 0 to 1.

    Example:
        >>> token_f1("in Paris", ["Paris"]) == 2 / 3
        True
    """
    return max(
        (_f1(normalise(answer).split(), normalise(each).split()) for each in gold), default=0.0
    )


def _f1(said: list[str], wanted: list[str]) -> float:
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted)) if shared else 0.0
