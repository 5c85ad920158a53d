"""What the references say about a question, sentence by sentence."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from skr_core.extractive.text import content_words
from skr_core.texts import split_sentences, words
from skr_core.types import Reference

# A passage of a page or two; a longer one is read this far, so that a hostile one costs no time.
MAX_CHARACTERS = 20_000
# What a later sentence of a passage, or a lower rank, is worth against the one before it: a
# passage says first what it is about, and the retriever's order is information too.
LATER_SENTENCE = 0.9
LOWER_RANK = 0.9
# A passage titled by something that the question or an earlier quote names is the one to read on
# in; any other passage has its words by chance, more often than not.
ABOUT = 3.0
_ROUND_BRACKETS = str.maketrans("[]【】", "()()")
_DISTINCTION = re.compile(r"\s*\(.*\)\s*$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a reference.

    Attributes:
        number: Of its reference, from 1.
        text: As written, on one line.
        words: Its own and those of its reference's title: a sentence "He was born in Bonn" speaks
            of the title.
        title: The words of the title, without what distinguishes its namesakes: "Jaws (film)".
        prior: What its place alone is worth, 0 to 1.
    """

    number: int
    text: str
    words: frozenset[str]
    title: frozenset[str]
    prior: float


def read_sentences(references: Sequence[Reference]) -> list[Sentence]:
    """Split references into sentences.

    Example:
        >>> [each.text for each in read_sentences([Reference.of("It sank. It was new.", "Ship")])]
        ['It sank.', 'It was new.']
    """
    return [
        Sentence(
            number,
            " ".join(text.split()),
            frozenset(words(text)) | title,
            subject,
            LATER_SENTENCE**place * LOWER_RANK ** (number - 1),
        )
        for number, reference in enumerate(references, start=1)
        for title in (frozenset(words(without_brackets(reference.title))),)
        for subject in (frozenset(words(_DISTINCTION.sub("", without_brackets(reference.title)))),)
        for place, text in enumerate(split_sentences(without_brackets(reference.text)))
    ]


def standing(sentence: Sentence, known: Set[str]) -> float:
    """What a sentence is worth before its words are looked at.

    Args:
        sentence: The sentence.
        known: All words of what has been named so far: the question, and what was quoted.
    """
    about = bool(sentence.title) and sentence.title <= known
    return sentence.prior * (ABOUT if about else 1.0)


def read_titles(references: Sequence[Reference]) -> list[frozenset[str]]:
    """The words of each reference's title."""
    return [frozenset(words(without_brackets(reference.title))) for reference in references]


def is_title(name: str, titles: Sequence[frozenset[str]]) -> bool:
    """Whether some title holds all words of a name: there is a reference about it already.

    Example:
        >>> is_title("Spielberg", [frozenset({"steven", "spielberg"})])
        True
    """
    name_words = frozenset(words(name))
    return any(name_words <= title for title in titles)


def without_brackets(text: str) -> str:
    """The text cut at `MAX_CHARACTERS`, without HTML entities and square brackets.

    Brackets become round ones: the only [n] in an answer are the model's own.

    Example:
        >>> without_brackets("Rock &amp; roll [7]")
        'Rock & roll (7)'
    """
    return html.unescape(text[:MAX_CHARACTERS]).translate(_ROUND_BRACKETS)


def term_weights(question: str, sentences: Sequence[Sentence]) -> dict[str, float]:
    """How telling each content word of the question is: rare among the sentences weighs more.

    Returns:
        Weights that add up to 1; empty for a question without content words.
    """
    counts = Counter(word for sentence in sentences for word in sentence.words)
    rarity = {
        word: math.log(1 + (len(sentences) + 1) / (counts[word] + 0.5))
        for word in content_words(question)
    }
    total = sum(rarity.values())
    return {word: weight / total for word, weight in rarity.items()}


def covered(weights: Mapping[str, float], found: Iterable[str]) -> float:
    """The weight of the terms that are among the found words."""
    present = frozenset(found)
    return sum(weight for word, weight in weights.items() if word in present)
