"""Whether a question leans on what was said before it; decided without a model.

A question stands on its own where it has what is asked about in it, a name or enough words that say
something, and nothing that points back. In doubt it leans: to have a model rewrite it costs one
short call, to search for "And its river?" costs the answer. Questions in English, German, French,
Spanish, Chinese and Japanese are read; those of other languages lean more often.
"""

from __future__ import annotations

from collections.abc import Sequence

from skr_core.conversation.languages import (
    GERMAN_DETERMINERS,
    LANGUAGES,
    NO_NAMES,
    UNSPACED_BEGINS,
    UNSPACED_ENDS,
    UNSPACED_NAMES,
    UNSPACED_POINTS,
    Language,
)
from skr_core.patterns import lazy_pattern
from skr_core.texts import straight_quotes, words

LONGEST_READ = 2_000
"""Characters; a longer question brings with it what it speaks of."""

FEWEST_WORDS = 3
"""Words of a question that can stand on its own."""

FEWEST_SAYING = 5
"""Words beside those of grammar with which a question without a name stands on its own."""

FEWEST_CHARACTERS, ENOUGH_CHARACTERS = 6, 16
"""The same in Chinese and Japanese, which leave out a subject that is known."""

_UNSPACED = lazy_pattern(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_QUOTED = lazy_pattern(r'"[^"]{2,}"|«[^»]{2,}»|„[^"]{2,}|`[^`]+`')
_TOKEN = lazy_pattern(r"[^\s,;()\"«»„]+")
# GPT-4, numpy.array, max_tokens: no word of prose.
_CODE = lazy_pattern(r"[^\W\d_]+[-_.]?\d|\w[._]\w|_\w")
_ENDS = ".!?:"


def leans_on_history(question: str) -> bool:
    """Whether a question may need the conversation before it to be understood.

    Args:
        question: As the user asked it.

    Example:
        >>> leans_on_history("And when was she born?"), leans_on_history("Und in Wien?")
        (True, True)
        >>> leans_on_history("When was Marie Curie born?")
        False
    """
    text = " ".join(straight_quotes(question).split())
    if len(text) > LONGEST_READ:
        return False
    if _UNSPACED.search(text):
        return _leans_unspaced(text)
    said = words(text)
    if len(said) < FEWEST_WORDS:
        return True
    return any(_leans(text, said, language) for language in _languages_of(said))


def _languages_of(said: Sequence[str]) -> Sequence[Language]:
    """Those that have the most of the words for their grammar; all where none has any."""
    known = [sum(word in language.grammar for word in said) for language in LANGUAGES]
    most = max(known)
    return [each for each, count in zip(LANGUAGES, known, strict=True) if count == most]


def _leans(text: str, said: Sequence[str], language: Language) -> bool:
    if language.points.search(text) or language.begins.match(text):
        return True
    if said[0] in language.linking and language.asking.isdisjoint(said):
        return True  # "In the United States?" has lost what was asked
    if _has_name(text):
        return False
    return sum(word not in language.grammar for word in said) < FEWEST_SAYING


def _leans_unspaced(text: str) -> bool:
    if UNSPACED_POINTS.search(text) or UNSPACED_BEGINS.match(text) or UNSPACED_ENDS.search(text):
        return True
    if len(text) < FEWEST_CHARACTERS:
        return True
    return not (UNSPACED_NAMES.search(text) or len(text) >= ENOUGH_CHARACTERS)


def _has_name(text: str) -> bool:
    """Whether something in it is quoted, is code, or begins with a capital as names do."""
    if _QUOTED.search(text):
        return True
    before = "."
    for token in _TOKEN.findall(text):
        bare = token.strip("'-?!.:¿¡")
        begins = before[-1] in _ENDS  # a sentence, which gives any word a capital
        if _CODE.search(bare):
            return True
        is_name = bare[:1].isupper() and bare.lower() not in NO_NAMES
        # German gives every noun a capital; behind an article it is hardly a name.
        if is_name and not begins and before.lower() not in GERMAN_DETERMINERS:
            return True
        before = token
    return False
