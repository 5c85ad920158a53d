"""The sentence of a reference that supports a claim best, found without a model.

Example:
    >>> text = "Paris is in France. It has two million inhabitants."
    >>> Quoted([Reference.of(text)]).best(1, "Two million people live there [1].")
    ('It has two million inhabitants.', (20, 51))
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from skr_core.cleaning import cleaned
from skr_core.patterns import lazy_pattern
from skr_core.texts import MARKER, sentence_spans, words
from skr_core.types import Reference

LONGEST_READ = 50_000
"""Characters of a reference; a longer one is read this far."""

LONGEST_QUOTE = 400
"""Characters; a longer sentence is quoted in part."""

# Words of grammar support nothing, however rare they are in a reference.
_GRAMMAR = frozenset(
    "a about after all also an and any are as at be been before both but by can could did do does "
    "during each for from had has have he her his how i if in into is it its may more most no not "
    "of on one only or other our out over s she so some such t than that the their them then there "
    "these they this those through to under until up was we were what when where which while who "
    "whom whose why will with would you your der die das und ist im den von le la les et est de "
    "des du el los las y en un una".split()
)
_MARKERS = lazy_pattern(MARKER)
_PIECE = lazy_pattern(rf"\S(?:.{{0,{LONGEST_QUOTE - 2}}}\S)?(?=\s|$)|\S{{{LONGEST_QUOTE}}}", re.S)

Quote = tuple[str, tuple[int, int]]
NO_QUOTE: Quote = ("", (0, 0))


class Quoted:
    """References that are read once, and only those that are cited.

    Args:
        references: In the order of their numbers.
    """

    def __init__(self, references: Sequence[Reference]) -> None:
        self._references = references
        self._read: dict[int, _Sentences] = {}
        self._found: dict[tuple[int, str], Quote] = {}  # a sentence may cite a thousand times

    def best(self, number: int, claim: str) -> Quote:
        """The sentence of a reference that shares the rarest words with a claim, and its span.

        Args:
            number: Of the reference, from 1.
            claim: A sentence of an answer; its markers say nothing.

        Returns:
            Of equals the shortest, then the first; an empty quote where no word is shared.
        """
        if (number, claim) not in self._found:
            telling = _telling(_MARKERS.sub(" ", claim))
            quote = self._sentences(number).best(telling) if telling else NO_QUOTE
            self._found[number, claim] = quote
        return self._found[number, claim]

    def _sentences(self, number: int) -> _Sentences:
        if number not in self._read:
            self._read[number] = _Sentences(self._references[number - 1].text[:LONGEST_READ])
        return self._read[number]


class _Sentences:
    """The sentences of one text, found by their words."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = list(_pieces(text))
        self._holding: dict[str, list[int]] = {}
        is_clean = cleaned(text) == text  # then so is each of its sentences
        for place, (start, end) in enumerate(self._spans):
            sentence = text[start:end]
            for word in _telling(sentence if is_clean else cleaned(sentence)):
                self._holding.setdefault(word, []).append(place)

    def best(self, claim: frozenset[str]) -> Quote:
        worth: Counter[int] = Counter()
        for word in sorted(claim & self._holding.keys()):
            places = self._holding[word]
            rarity = round(1000 * math.log(1 + (len(self._spans) + 1) / len(places)))
            for place in places:
                worth[place] += rarity
        if not worth:
            return NO_QUOTE

        def order(place: int) -> tuple[int, int, int]:
            start, end = self._spans[place]
            return -worth[place], end - start, start

        start, end = self._spans[min(worth, key=order)]
        return self._text[start:end], (start, end)


def _telling(text: str) -> frozenset[str]:
    return frozenset(words(text)) - _GRAMMAR


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """The span of each sentence, or of each part of one that is too long to quote."""
    for start, sentence in sentence_spans(text):
        if len(sentence) <= LONGEST_QUOTE:
            yield start, start + len(sentence)
        else:
            for piece in _PIECE.finditer(sentence):
                yield start + piece.start(), start + piece.end()
