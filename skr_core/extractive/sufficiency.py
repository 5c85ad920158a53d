"""Whether the references answer the question: the refusal of RaLLM's loop, without a model."""

from __future__ import annotations

from collections.abc import Sequence

from skr_core.extractive.evidence import Sentence, is_title, read_titles
from skr_core.extractive.quoting import Quotes
from skr_core.extractive.text import content_words, names
from skr_core.types import Reference

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
