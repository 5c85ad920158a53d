"""The sentences of references that carry the answer, chosen one after the other."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from skr_app.extractive.text import (
    content_words,
    fits,
    kind_words,
    named_in,
    question_words,
    read_lines,
    stem,
    stems,
)
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
        number: The number of its reference, from 1.
        text: The sentence as written, on one line.
        own: The stems of its own words.
        words: The stems of its own words, of its reference's title and of the headings above it: a
            sentence "He was born in Bonn" speaks of the title.
        title: The stems of the title, without what distinguishes its namesakes: "Jaws (film)".
        prior: The worth of its place alone, 0 to 1.
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
    """The words spoken of so far: those of the question, and of what was quoted.

    Attributes:
        words: The stems of all its words.
        named: The stems of its names.
    """

    words: set[str]
    named: set[str]

    @classmethod
    def of(cls, text: str) -> Known:
        """The words and names of a text."""
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
    """The worth of a sentence before its words are looked at."""
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
    """The weight of each content word of the question: one rare among the sentences weighs more.

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


# An answer, not a dump of the references.
MAX_QUOTES = 4
# A term that a quote speaks of still counts a little: two quotes may both be about it.
SPENT = 0.3
# A sentence that has a number where one is asked for, or a name, is likelier to be the answer.
FIT = 1.6
# Quotes that speak of so much of the question, with an answer of its kind, say all of it.
COMPLETE = 0.9
# Where no passage is about what was named, a second quote has to speak of so much more.
MAX_UNCHAINED = 2
LEAST_NEWS = 0.2
# There a term counts more that stands in the sentence itself, not in a heading above it, and a
# sentence of so many words half.
OWN = 0.5
LONG = 50
# And the places of passages and sentences say less.
FLAT = 0.5
# And one that speaks of all of the question is worth more than two that speak of half.
WHOLE = 1.5
# A name in a quote becomes a term to look for, because it may lead to the next passage; all names
# of one quote together are worth this share of what the quote was worth.
BRIDGE = 0.75


@dataclass(frozen=True, slots=True)
class Quotes:
    """The sentences chosen, and how much of the question they speak of.

    Attributes:
        sentences: The sentences in the order in which they were chosen.
        coverage: Share of the question's terms, weighted by how telling they are, 0 to 1.
    """

    sentences: tuple[Sentence, ...]
    coverage: float


def choose_quotes(question: str, references: Sequence[Reference]) -> Quotes:
    """Choose up to four sentences that follow the question from passage to passage.

    Example:
        >>> film = Reference.of("Jaws is a film directed by Steven Spielberg.", "Jaws")
        >>> choose_quotes("Who directed the film Jaws?", [film]).coverage
        1.0
    """
    sentences = read_sentences(references)
    weights = term_weights(question, sentences)
    wanted = dict(weights)
    known = Known.of(question)
    is_fit = fits(question)
    fit = [is_fit(each.text) for each in sentences]
    left = list(range(len(sentences)))
    chosen: list[Sentence] = []
    titles = {each.title for each in sentences}

    def value(place: int) -> float:
        sentence = sentences[place]
        said = covered(wanted, sentence.words)
        if not is_chain:
            said = (said + OWN * covered(wanted, sentence.own)) ** WHOLE
            said *= sentence.prior ** (FLAT - 1) / (1 + len(sentence.own) / LONG)
        return said * standing(sentence, known) * (FIT if fit[place] else 1.0)

    is_chain = _follows(titles, known)
    while left and len(chosen) < MAX_QUOTES:
        place = max(left, key=value)
        best = sentences[place]
        said = covered(wanted, best.words)
        if said <= 0:
            break
        if chosen and not is_chain:
            news = _coverage(weights, [*chosen, best]) - _coverage(weights, chosen)
            if news < LEAST_NEWS or len(chosen) == MAX_UNCHAINED:
                break
        left.remove(place)
        chosen.append(best)
        known.add(best.text)
        is_chain = is_chain or _follows(titles, known)
        if fit[place] and _coverage(weights, chosen) >= COMPLETE:
            break
        for word in best.words & wanted.keys():
            wanted[word] *= SPENT
        bridges = [stem(word) for name in named_in(best.text) for word in content_words(name)]
        new = set(bridges) - wanted.keys()
        wanted.update({word: BRIDGE * said / len(new) for word in new})
    return Quotes(tuple(chosen), _coverage(weights, chosen))


def _follows(titles: Set[frozenset[str]], known: Known) -> bool:
    """Whether some reference is about what the question or a quote has named: a chain of passages.

    Where none is, as in documentation, further quotes are seldom to the point.
    """
    return any(map(known.holds, titles))


def _coverage(weights: Mapping[str, float], chosen: Sequence[Sentence]) -> float:
    return covered(weights, {word for each in chosen for word in each.words})


def choose_best(
    question: str, weights: Mapping[str, float], sentences: Sequence[Sentence]
) -> Sentence | None:
    """The one sentence that speaks most of the question; None where none speaks of it.

    Args:
        question: The question.
        weights: The weights of its words, see `term_weights`.
        sentences: The sentences to choose from; the first of equals is taken.
    """
    is_fit = fits(question)

    def value(sentence: Sentence) -> float:
        return covered(weights, sentence.words) * (FIT if is_fit(sentence.text) else 1.0)

    best = max(sentences, key=value, default=None)
    return best if best is not None and value(best) > 0 else None


# Quotes that speak of less than half of the question answer another question.
LEAST_COVERAGE = 0.5


def is_sufficient(question: str, references: Sequence[Reference], quotes: Quotes) -> bool:
    """Whether nothing is left to look up.

    Either the best quote alone speaks of all that the question does, or the quotes speak of half
    of it at least and every name in the best one is in the question or has a reference of its own:
    the chain is closed.

    Args:
        question: The user's question.
        references: The references that were found.
        quotes: The quotes that `choose_quotes` chose from them.
    """
    if not quotes.sentences:
        return False
    best = quotes.sentences[0]
    if speaks_of_all(question, best):
        return True
    asked = set(question_words(question))
    titles = read_titles(references)
    return quotes.coverage >= LEAST_COVERAGE and all(
        asked.issuperset(content_words(name)) or is_title(name, titles)
        for name in named_in(best.text)
    )


def speaks_of_all(question: str, sentence: Sentence) -> bool:
    """Whether a sentence, with its title, has every word of the question that means something."""
    return set(map(stem, question_words(question))) <= sentence.words
