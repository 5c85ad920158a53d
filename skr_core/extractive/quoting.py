"""Choosing the sentences that carry the answer, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skr_core.extractive.evidence import (
    Sentence,
    covered,
    is_title,
    read_sentences,
    read_titles,
    standing,
    term_weights,
)
from skr_core.extractive.text import content_words, names
from skr_core.texts import words
from skr_core.types import Reference

# An answer, not a dump of the references.
MAX_QUOTES = 4
# A term that a quote speaks of still counts a little: two quotes may both be about it.
SPENT = 0.5
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
    known = set(words(question))
    chosen: list[Sentence] = []

    def value(sentence: Sentence) -> float:
        return covered(wanted, sentence.words) * standing(sentence, known)

    while len(chosen) < min(MAX_QUOTES, len(sentences)):
        best = max((each for each in sentences if each not in chosen), key=value)
        worth = covered(wanted, best.words)
        if worth <= 0:
            break
        chosen.append(best)
        known.update(words(best.text))
        for word in best.words & wanted.keys():
            wanted[word] *= SPENT
        bridges = [word for name in names(best.text) for word in content_words(name)]
        new = set(bridges) - wanted.keys()
        wanted.update({word: BRIDGE * worth / len(new) for word in new})
    return Quotes(tuple(chosen), covered(weights, {word for each in chosen for word in each.words}))


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
    asked = set(content_words(question))
    titles = read_titles(references)
    return quotes.coverage >= LEAST_COVERAGE and all(
        asked.issuperset(content_words(name)) or is_title(name, titles) for name in names(best.text)
    )


def speaks_of_all(question: str, sentence: Sentence) -> bool:
    """Whether a sentence, with its title, has every word of the question that means something."""
    return set(content_words(question)) <= sentence.words
