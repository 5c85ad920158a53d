"""Choosing the sentences that carry the answer, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from skr_app.extractive.evidence import (
    Known,
    Sentence,
    covered,
    is_title,
    read_sentences,
    read_titles,
    standing,
    term_weights,
)
from skr_app.extractive.text import content_words, named_in, question_words, stem
from skr_app.extractive.wanted import fits
from skr_core.types import Reference

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
        sentences: In the order in which they were chosen.
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
        question: What is asked.
        weights: How telling its words are.
        sentences: To choose from; the first of equals is taken.
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
        references: What has been found.
        quotes: What `choose_quotes` chose from them.
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
