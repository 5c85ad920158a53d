"""The one sentence that answers a question, found along two passages, or none.

For a model that stands in for a real one: it says one thing, or that it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from skr_app.extractive.evidence import (
    FIT,
    Known,
    Sentence,
    covered,
    is_title,
    read_sentences,
    read_titles,
    standing,
    term_weights,
)
from skr_app.extractive.text import content_words, fits, kind_words, named_in, stem
from skr_core.types import Reference

# A sentence has to speak of so much of the question; of less where it says what the passage before
# it left open, for a question seldom puts that in the passage's own words.
LEAST_SAID = 0.65
LEAST_SAID_AT_THE_END = 0.42
# A word of the sentence itself says more than one of its title.
OWN = 0.5
# Words that ask for what is so today; a passage says it without them.
_TODAY = frozenset(map(stem, "currently days moment name now nowadays present today".split()))


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence that answers.

    Attributes:
        sentence: The sentence.
        led_by: The sentence of another passage that led to it; None where none had to.
    """

    sentence: Sentence
    led_by: Sentence | None = None


def find_sentence(question: str, references: Sequence[Reference]) -> Found | None:
    """The sentence that answers a question; None where the references do not say enough.

    It is the one that speaks most of the question, or what a passage about somebody named there
    says of the part of the question that is left open.

    Example:
        >>> film = Reference.of("Jaws is a film directed by Steven Spielberg.", "Jaws")
        >>> asked = "When was the director of Jaws born?"
        >>> find_sentence(asked, [film])
        >>> person = Reference.of("Steven Spielberg was born in 1946.", "Steven Spielberg")
        >>> find_sentence(asked, [film, person]).sentence.text
        'Steven Spielberg was born in 1946.'
    """
    sentences = read_sentences(references)
    weights = _weights(question, sentences)
    asked, is_fit = Known.of(question), fits(question)

    def value(sentence: Sentence) -> float:
        own = covered(weights, sentence.own - sentence.title)
        said = covered(weights, sentence.words) + OWN * own
        return said * sqrt(standing(sentence, asked)) * (FIT if is_fit(sentence.text) else 1.0)

    first = max(sentences, key=value, default=None)
    if first is None or value(first) <= 0:
        return None
    passage = [each for each in sentences if each.number == first.number]
    said = frozenset[str]().union(*(each.words for each in passage))
    left = {word: weights[word] for word in weights.keys() - said - kind_words(question)}
    named = Known.of(" ".join(each.text for each in passage))
    further = [
        each
        for each in sentences
        if named.holds(each.title)
        and not asked.holds(each.title)
        and each.number != first.number
        and covered(left, each.own) > 0
        and is_fit(each.text)
    ]
    if further:
        last = max(
            further, key=lambda each: (covered(left, each.own), covered(weights, each.words))
        )
        speaks = covered(weights, said | last.words)
        return Found(last, _leading(passage, last)) if speaks >= LEAST_SAID_AT_THE_END else None
    titles = read_titles(references)
    leads = (name for each in passage for name in named_in(each.text))
    if left and any(_is_news(name, weights) and not is_title(name, titles) for name in leads):
        return None  # what is open may stand in a passage that was not searched yet
    speaks = covered(weights, first.words)
    return Found(first) if speaks >= LEAST_SAID and is_fit(first.text) else None


def _is_news(name: str, weights: Mapping[str, float]) -> bool:
    return not weights.keys() >= set(map(stem, content_words(name)))


def _weights(question: str, sentences: Sequence[Sentence]) -> dict[str, float]:
    """The weights of the question's words, without those that only say that it is asked today."""
    weights = term_weights(question, sentences)
    telling = {word: weight for word, weight in weights.items() if word not in _TODAY} or weights
    total = sum(telling.values())
    return {word: weight / total for word, weight in telling.items()}


def _leading(passage: Sequence[Sentence], last: Sentence) -> Sentence:
    """The first sentence of a passage that names what another passage is about."""
    return next((each for each in passage if last.title <= each.words), passage[0])
