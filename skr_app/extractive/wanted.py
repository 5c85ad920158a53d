"""What kind of answer a question asks for: a number, a name, or anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Set

from skr_app.extractive.text import CODE_SPAN, content_words, names, question_words, stem
from skr_core.texts import words

_AMOUNT = re.compile(
    r"\b(?:when|how (?:many|much|old|long|high|tall|deep|far|fast|wide|large|big|heavy|often"
    r"|strong)"
    r"|(?:what|which) (?:year|date|day|number|share)|in what year|year of)\b"
)
_NAME = re.compile(r"\b(?:who|whom|whose|where)\b")
_KIND = re.compile(
    r"\b(?:which|what|how many)\s(?:\w{1,40}\s)??(\w{1,40})\s"
    r"(?:is|are|was|were|did|does|do|has|have|in|on)\b"
)
_NUMBER_WORDS = frozenset(
    (
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
        "hundred thousand million billion once twice half free never"
    ).split()
)


def kind_words(question: str) -> frozenset[str]:
    """The stems of the words that name the kind of answer: "which town", "what year".

    Example:
        >>> sorted(kind_words("In which mining town was the engineer born?"))
        ['town']
    """
    found = _KIND.findall(question.lower())
    return frozenset(stem(word) for word in found)


def fits(question: str) -> Callable[[str], bool]:
    """Whether a sentence has what the question asks for: a number, or a name that it lacks.

    Example:
        >>> is_fit = fits("When did the railway open?")
        >>> is_fit("It was opened in 1843."), is_fit("It was opened by a queen.")
        (True, False)
        >>> fits("Who opened the railway?")("It was opened by Queen Mathilda.")
        True
    """
    asked = question.lower()
    if _AMOUNT.search(asked):
        return _has_number
    if _NAME.search(asked):
        known = frozenset(map(stem, question_words(question)))
        return lambda sentence: _has_new_name(sentence, known)
    return lambda sentence: True


def _has_number(sentence: str) -> bool:
    return any(map(str.isdigit, sentence)) or not _NUMBER_WORDS.isdisjoint(words(sentence))


def _has_new_name(sentence: str, known: Set[str]) -> bool:
    if CODE_SPAN.search(sentence):
        return True
    return any(not known >= set(map(stem, content_words(each))) for each in names(sentence))
