"""Naming what is missing: names in the best sentences that no reference is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
from skr_app.extractive.text import (
    content_words,
    named_in,
    names,
    question_words,
    stem,
    stems,
)
from skr_core.texts import words
from skr_core.types import Reference

# A long question lends its most telling words only: more would drown the name.
MAX_QUESTION_WORDS = 16
# A name in a sentence that speaks much less of the question than another's is there by chance.
LEAST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Lead:
    """A name worth searching.

    Attributes:
        name: The name as written.
        score: The score, the higher the more promising; names of the question itself have 1.
        context: The words of the sentence that it stands in.
    """

    name: str
    score: float
    context: frozenset[str] = field(default_factory=frozenset)


def follow_up_queries(
    question: str, references: Sequence[Reference], asked: Sequence[str] = (), limit: int = 4
) -> list[str]:
    """The queries to search next, the most promising first.

    The bridge between two passages is a name in a sentence that matches the question, while no
    reference has that name as its title. It is asked for together with those words of the
    question that its sentence leaves open. Where no name is left, the words of the question that
    no reference holds are asked for.

    Args:
        question: The user's question.
        references: The references that were found.
        asked: Queries that were searched already.
        limit: The number of queries at most.

    Example:
        >>> film = Reference.of("Jaws is a film directed by Steven Spielberg.", "Jaws")
        >>> follow_up_queries("When was the director of Jaws born?", [film])
        ['Steven Spielberg born']
    """
    sentences = read_sentences(references)
    weights = term_weights(question, sentences)
    titles = read_titles(references)
    past = [words(query) for query in asked if query != question]
    chosen: list[Lead] = []
    for lead in _leads(question, sentences, weights):
        if len(chosen) == limit:
            break
        if not (
            is_title(lead.name, titles)
            or _was_asked(lead.name, past)
            or any(_overlap(lead.name, each.name) for each in chosen)
        ):
            chosen.append(lead)
    queries = [_query(lead.name, lead.context, question, weights) for lead in chosen]
    if not queries:
        found = frozenset[str]().union(*(sentence.words for sentence in sentences))
        queries = [_query("", found, question, weights)]
    repeated = {query.casefold() for query in asked}
    return [query for query in queries if query and query.casefold() not in repeated]


def _leads(
    question: str, sentences: Sequence[Sentence], weights: Mapping[str, float]
) -> list[Lead]:
    """Every name, by its best sentence; best first."""
    known = Known.of(question)
    best = {name: Lead(name, 1.0) for name in names(question)}
    for sentence in sentences:
        score = covered(weights, sentence.words) * standing(sentence, known)
        if score <= 0:
            continue
        for name in named_in(sentence.text):
            is_news = not weights.keys() >= set(map(stem, content_words(name)))
            if is_news and (name not in best or score > best[name].score):
                best[name] = Lead(name, score, sentence.words)
    leads = sorted(best.values(), key=lambda lead: -lead.score)
    strongest = max((lead.score for lead in leads if lead.context), default=0.0)
    return [lead for lead in leads if lead.score >= LEAST_SHARE * strongest]


def _was_asked(name: str, past: Sequence[list[str]]) -> bool:
    """Whether an earlier query began with the name, as ours do."""
    name_words = words(name)
    return any(query[: len(name_words)] == name_words for query in past)


def _overlap(name: str, other: str) -> bool:
    """Whether one name is a shorter form of the other."""
    one, two = set(words(name)), set(words(other))
    return one <= two or two <= one


def _query(name: str, context: frozenset[str], question: str, weights: Mapping[str, float]) -> str:
    """The name and the words of the question that its sentence leaves open."""
    closed = context | stems(name)
    telling = sorted(weights, key=lambda each: -weights[each])[:MAX_QUESTION_WORDS]
    open_words = [
        word
        for word in question_words(question)
        if stem(word) in telling and stem(word) not in closed
    ]
    return " ".join([name, *open_words]).strip()
