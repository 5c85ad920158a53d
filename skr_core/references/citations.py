"""From [n] markers in an answer to the references they name.

What is code stays as it is: spans and blocks between backticks, and array indices. So do years,
ranges in prose and links, see `skr_core.references.markers`.

Example:
    >>> references = [Reference.of("Paris is the capital of France.")]
    >>> cited = resolve_citations("Paris [1]. Lyon is large [7]. `x = arr[0]`", references)
    >>> cited.text, cited.citations[0].marker, cited.removed
    ('Paris [1]. Lyon is large. `x = arr[0]`', 1, 1)
    >>> cited.citations[0].quote
    'Paris is the capital of France.'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skr_core.references.quotes import Quoted
from skr_core.references.resolver import MarkerResolver as MarkerResolver
from skr_core.texts import sentence_spans
from skr_core.types import Citation, Reference

# No more references than a small number can name.
_ANY_NUMBER = 999


@dataclass(frozen=True, slots=True)
class CitedText:
    """A text whose markers all name a reference.

    Attributes:
        text: With each marker alone in its brackets, like ``[1][3]``.
        citations: One for each marker, in order.
        removed: Markers taken out because they named no supplied reference.
    """

    text: str
    citations: tuple[Citation, ...]
    removed: int


def resolve_citations(text: str, references: Sequence[Reference]) -> CitedText:
    """Map each [n] to the reference it names, from 1; take out what names none.

    Args:
        text: An answer as the model wrote it.
        references: In the order in which the prompt numbered them.
    """
    resolver = MarkerResolver(len(references))
    resolver.write(text)
    clean = resolver.finish()
    quoted = Quoted(references)
    citations = tuple(
        Citation(number, references[number - 1].id, sentence, span, *quoted.best(number, sentence))
        for number, span, sentence in _with_sentences(clean, resolver.markers)
    )
    return CitedText(clean, citations, resolver.removed)


def without_markers(text: str) -> str:
    """The text on one line without any citation, as entailment models want it.

    Example:
        >>> without_markers("Paris [1][2] is `arr[0]`.")
        'Paris is `arr[0]`.'
    """
    resolver = MarkerResolver(_ANY_NUMBER, shown=False)
    resolver.write(" ".join(text.split()))
    return " ".join(resolver.finish().split())


def _with_sentences(
    text: str, markers: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, tuple[int, int], str]]:
    """Each marker with its span and the sentence that it stands in."""
    sentences = sentence_spans(text)
    start, sentence = 0, ""
    for place, number in markers:
        while place >= start + len(sentence):
            start, sentence = next(sentences)
        yield number, (place, place + len(f"[{number}]")), sentence
