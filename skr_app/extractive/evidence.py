"""What the references say about a question, sentence by sentence."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from skr_app.extractive.reading import read_lines
from skr_app.extractive.text import named_in, question_words, stem, stems
from skr_app.extractive.wanted import kind_words
from skr_core.types import Reference

# A passage of a page or two; a longer one is read this far, so that a hostile one costs no time.
MAX_CHARACTERS = 20_000
MAX_SENTENCES = 300
# What a later sentence of a passage, or a lower rank, is worth against the one before it: a
# passage says first what it is about, and the retriever's order is information too.
LATER_SENTENCE = 0.9
LEAST_PRIOR = 0.5
LOWER_RANK = 0.9
# A line of code answers only where nothing said in words does.
CODE = 0.4
# An answer seldom repeats the word for its kind: "which town" is answered by a town's name.
KIND = 0.5
# A passage titled by something that the question or an earlier quote names is the one to read on
# in; any other passage has its words by chance, more often than not.
ABOUT = 3.0
_ROUND_BRACKETS = str.maketrans("[]【】", "()()")
_EXTRA = re.compile(r"\[[a-z][a-z-]{1,30}(?:,[a-z][a-z-]{1,30}){0,9}\]")
_EXTRA_APART = re.compile(rf"({_EXTRA.pattern})")
_DISTINCTION = re.compile(r"\s*\(.*\)\s*$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a reference.

    Attributes:
        number: Of its reference, from 1.
        text: As written, on one line.
        own: The stems of its own words.
        words: These, and the stems of its reference's title and of the headings above it: a
            sentence "He was born in Bonn" speaks of the title.
        title: The stems of the title, without what distinguishes its namesakes: "Jaws (film)".
        prior: What its place alone is worth, 0 to 1.
    """

    number: int
    text: str
    own: frozenset[str]
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
        sentence
        for number, reference in enumerate(references, start=1)
        for sentence in _sentences_of(reference, number)
    ]


def _sentences_of(reference: Reference, number: int) -> Iterator[Sentence]:
    title = without_brackets(reference.title)
    whole, subject = stems(title), stems(_DISTINCTION.sub("", title))
    rank = LOWER_RANK ** (number - 1)
    lines = read_lines(reference.text[:MAX_CHARACTERS])
    for place, line in enumerate(lines[:MAX_SENTENCES]):
        text = " ".join(without_brackets(line.text).split())
        prior = rank * max(LEAST_PRIOR, LATER_SENTENCE**place) * (CODE if line.is_code else 1.0)
        own = stems(text)
        yield Sentence(number, text, own, whole | stems(line.under) | own, subject, prior)


@dataclass(slots=True)
class Known:
    """What has been spoken of so far: the question, and what was quoted.

    Attributes:
        words: The stems of all its words.
        named: The stems of its names.
    """

    words: set[str]
    named: set[str]

    @classmethod
    def of(cls, text: str) -> Known:
        """What a text speaks of."""
        known = cls(set(), set())
        known.add(text)
        return known

    def add(self, text: str) -> None:
        """Speak of more."""
        self.words |= stems(text)
        self.named.update(*map(stems, named_in(text)))

    def holds(self, title: Set[str]) -> bool:
        """Whether a title has been named: its words may stand in a text by chance.

        Example:
            >>> known = Known.of("Who directed Jaws while installing a net?")
            >>> known.holds({"jaw"}), known.holds({"install"})
            (True, False)
        """
        return title <= self.words and not self.named.isdisjoint(title)


def standing(sentence: Sentence, known: Known) -> float:
    """What a sentence is worth before its words are looked at."""
    return sentence.prior * (ABOUT if known.holds(sentence.title) else 1.0)


def read_titles(references: Sequence[Reference]) -> list[frozenset[str]]:
    """The words of each reference's title."""
    return [stems(without_brackets(reference.title)) for reference in references]


def is_title(name: str, titles: Sequence[frozenset[str]]) -> bool:
    """Whether some title holds all words of a name: there is a reference about it already.

    Example:
        >>> is_title("Spielberg", [frozenset({"steven", "spielberg"})])
        True
    """
    name_stems = stems(name)
    return any(name_stems <= title for title in titles)


def without_brackets(text: str) -> str:
    """The text cut at `MAX_CHARACTERS`, without HTML entities and markers.

    Square brackets become round ones, but for those around a word, such as an extra's: the only
    [n] in an answer are the model's own.

    Example:
        >>> without_brackets("Rock &amp; roll [7]: pip install thing[all]")
        'Rock & roll (7): pip install thing[all]'
    """
    plain = html.unescape(text[:MAX_CHARACTERS])
    if "[" not in plain and "【" not in plain and "]" not in plain and "】" not in plain:
        return plain
    return "".join(
        part if _EXTRA.fullmatch(part) else part.translate(_ROUND_BRACKETS)
        for part in _EXTRA_APART.split(plain)
    )


def term_weights(question: str, sentences: Sequence[Sentence]) -> dict[str, float]:
    """How telling each content word of the question is: rare among the sentences weighs more.

    Returns:
        Weights that add up to 1; empty for a question without content words.
    """
    counts = Counter(word for sentence in sentences for word in sentence.words)
    kinds = kind_words(question)
    rarity = {
        word: math.log(1 + (len(sentences) + 1) / (counts[word] + 0.5))
        * (KIND if word in kinds else 1.0)
        for word in map(stem, question_words(question))
    }
    total = sum(rarity.values())
    return {word: weight / total for word, weight in rarity.items()}


def covered(weights: Mapping[str, float], found: Iterable[str]) -> float:
    """The weight of the terms that are among the found words."""
    present = frozenset(found)
    return sum(weight for word, weight in weights.items() if word in present)
