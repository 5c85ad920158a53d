"""From the markers of an answer to the references they name: resolved, quoted, and numbered anew.

Code stays as it is: spans and blocks between backticks, and array indices. So do years, ranges in
prose and links, see `skr_core.references.markers`, and a text that is JSON as a whole.

Example:
    >>> references = [Reference.of("Paris is the capital of France.")]
    >>> cited = resolve_citations("Paris [1]. Lyon is large [7]. `x = arr[0]`", references)
    >>> cited.text, cited.citations[0].marker, cited.removed
    ('Paris [1]. Lyon is large. `x = arr[0]`', 1, 1)
    >>> cited.citations[0].quote
    'Paris is the capital of France.'
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from skr_core.cleaning import cleaned
from skr_core.references.passages import LONGEST_LABEL, one_line
from skr_core.references.resolver import MarkerResolver
from skr_core.texts import MARKER, is_json, sentence_spans, words
from skr_core.types import Answer, Citation, Reference

LONGEST_READ = 50_000
"""Characters of a reference that are read for quotes."""

LONGEST_QUOTE = 400
"""Characters of a quote; a longer sentence is quoted in part."""

LONGEST_EXCERPT = 120
"""Characters that stand for a source without a title."""

LONGEST_SHOWN_QUOTE = 240
"""Characters of a quote that stand behind its source."""

DOCUMENT_KEYS = ("source", "url", "file_path", "path", "file_name")
"""The metadata in which loaders keep the document that a passage is of."""

SHOWN_METADATA = ("source", "url", "file_name", "page_label", "page", "heading")
"""The metadata of a source that stand beside its title."""

HEADING = "Sources:"
"""The line before the sources."""

UNSUPPORTED = "(Not supported by the references.)"
"""Follows an answer that was retrieved for and rests on no reference."""

UNCITED = "(Answered from the sources below; it was not said which of them supports what.)"
"""Follows an answer that was found sufficient, and was not asked to cite."""

_SOURCE_NUMBER = re.compile(r"^\[(\d{1,4})\] ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CitedText:
    """A text whose markers all name a reference.

    Attributes:
        text: The text, with each marker alone in its brackets, like ``[1][3]``.
        citations: The citations, one for each marker, in order.
        removed: The number of markers taken out because they named no supplied reference.
    """

    text: str
    citations: tuple[Citation, ...]
    removed: int


def resolve_citations(text: str, references: Sequence[Reference]) -> CitedText:
    """Map each [n] to the reference it names, from 1; take out those that name none.

    Args:
        text: An answer as the model wrote it.
        references: The references, in the order in which the prompt numbered them.
    """
    resolver = MarkerResolver(len(references))
    resolver.write(text)
    clean = resolver.finish()
    quotes = QuoteFinder(references)
    citations = tuple(
        Citation(number, references[number - 1].id, sentence, span, *quotes.best(number, sentence))
        for number, span, sentence in _with_sentences(clean, resolver.markers)
    )
    return CitedText(clean, citations, resolver.removed)


def cite_beside(text: str, numbers: Sequence[int], references: Sequence[Reference]) -> CitedText:
    """An object's text with the references that its envelope names; the text stays as it is.

    Args:
        text: The object as JSON.
        numbers: The numbers of the references that support it.
        references: The references, in the order in which the prompt numbered them.
    """
    quotes = QuoteFinder(references)
    valid = [number for number in numbers if 1 <= number <= len(references)]
    citations = tuple(
        Citation(number, references[number - 1].id, text, (0, 0), *quotes.best(number, text))
        for number in valid
    )
    return CitedText(text, citations, len(numbers) - len(valid))


def strip_markers(text: str) -> str:
    """The text without any citation and without the space around it.

    Example:
        >>> strip_markers("Paris [1][2] is `arr[0]`.")
        'Paris is `arr[0]`.'
    """
    resolver = MarkerResolver(_ANY_NUMBER, shown=False)
    resolver.write(text)
    return resolver.finish()


def without_markers(text: str) -> str:
    """The text on one line without any citation, as entailment models want it.

    Example:
        >>> without_markers("Paris [1][2]\\n is `arr[0]`.")
        'Paris is `arr[0]`.'
    """
    return " ".join(strip_markers(" ".join(text.split())).split())


def _with_sentences(
    text: str, markers: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, tuple[int, int], str]]:
    """Each marker with its span and the sentence that it stands in."""
    sentences = sentence_spans(text)
    start, sentence = 0, ""
    for place, number in markers:
        while place >= start + len(sentence):
            start, sentence = next(sentences)
        yield number, (place, text.index("]", place) + 1), sentence


# Words of grammar support nothing, however rare they are in a reference.
_GRAMMAR = frozenset(
    "a about after all also an and any are as at be been before both but by can could did do does "
    "during each for from had has have he her his how i if in into is it its may more most no not "
    "of on one only or other our out over s she so some such t than that the their them then there "
    "these they this those through to under until up was we were what when where which while who "
    "whom whose why will with would you your der die das und ist im den von le la les et est de "
    "des du el los las y en un una".split()
)
_ANY_NUMBER = 999
_MARKERS = re.compile(MARKER)
_PIECE = re.compile(rf"\S(?:.{{0,{LONGEST_QUOTE - 2}}}\S)?(?=\s|$)|\S{{{LONGEST_QUOTE}}}", re.S)

_WRAPPED = re.compile(r"(?<=[^\n]{50})\n(?=[a-zß-öø-ÿа-я])")
"""The break of a line that goes on in the next, as in Markdown that is written to a width."""

Quote = tuple[str, tuple[int, int]]
"""A sentence of a reference, and its span in the reference's text."""

NO_QUOTE: Quote = ("", (0, 0))


class QuoteFinder:
    """Finds the sentences of references that support claims best, without a model.

    Each reference is read once, and only when it is cited.

    Args:
        references: The references, in the order of their numbers.

    Example:
        >>> text = "Paris is in France. It has two million inhabitants."
        >>> QuoteFinder([Reference.of(text)]).best(1, "Two million people live there [1].")
        ('It has two million inhabitants.', (20, 51))
    """

    def __init__(self, references: Sequence[Reference]) -> None:
        self._references = references
        self._read: dict[int, _Sentences] = {}
        self._found: dict[tuple[int, str], Quote] = {}  # a sentence may cite a thousand times

    def best(self, number: int, claim: str) -> Quote:
        """The sentence of a reference that shares the rarest words with a claim, and its span.

        Args:
            number: The number of the reference, from 1.
            claim: A sentence of an answer; its markers do not count.

        Returns:
            The shortest of equal sentences, then the first; `NO_QUOTE` where no word is shared.
        """
        if (number, claim) not in self._found:
            if number not in self._read:
                self._read[number] = _Sentences(self._references[number - 1].text[:LONGEST_READ])
            telling = _telling_words(_MARKERS.sub(" ", claim))
            self._found[number, claim] = self._read[number].best(telling)
        return self._found[number, claim]


class _Sentences:
    """The sentences of one text, found by their words."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = list(_pieces(text))
        self._places: dict[str, list[int]] = {}  # the sentences that have each word
        is_clean = cleaned(text) == text  # then so is each of its sentences
        for place, (start, end) in enumerate(self._spans):
            sentence = text[start:end]
            for word in _telling_words(sentence if is_clean else cleaned(sentence)):
                self._places.setdefault(word, []).append(place)

    def best(self, claim: frozenset[str]) -> Quote:
        worth: Counter[int] = Counter()
        for word in sorted(claim & self._places.keys()):
            places = self._places[word]
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


def _telling_words(text: str) -> frozenset[str]:
    return frozenset(words(text)) - _GRAMMAR


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """The span of each sentence, or of each part of one that is too long to quote."""
    for start, sentence in sentence_spans(_WRAPPED.sub(" ", text)):  # no place changes
        if len(sentence) <= LONGEST_QUOTE:
            yield start, start + len(sentence)
        else:
            for piece in _PIECE.finditer(sentence):
                yield start + piece.start(), start + piece.end()


def shown_sources(answer: Answer) -> Sequence[Reference]:
    """The sources that a text names: those it cites, or all where it was not asked to cite.

    Data names all of them: its numbers stay its own.
    """
    if not is_json(answer.text) and (answer.citations or answer.stop_reason != "sufficient"):
        return answer.cited_references
    return answer.references


def free_numbers(*, after: int, place: int = 0, of: int = 1) -> Iterator[int]:
    """Numbers that are not taken; calls that run side by side each have numbers of their own.

    Args:
        after: The highest number that was taken before.
        place: The place of this call among those that run side by side, from 0.
        of: The number of calls that run side by side.

    Example:
        >>> numbers = free_numbers(after=3, place=1, of=2)
        >>> next(numbers), next(numbers)
        (4, 6)
    """
    return (number for number in count(after + 1) if (number - 1 - place) % of == 0)


def number_sources(answer: Answer, known: Mapping[str, int], free: Iterator[int]) -> dict[str, int]:
    """The number of each source that a text names, by id: the one it has, or the next free one."""
    return {
        source.id: known[source.id] if source.id in known else next(free)
        for source in shown_sources(answer)
    }


def document_of(source: Reference) -> str:
    """The document that a source is a passage of: its file or address, or else its title.

    Example:
        >>> document_of(Reference.of("It sails at noon.", "Ferry", metadata={"source": "f.pdf"}))
        'f.pdf'
    """
    return next(
        (str(source.metadata[key]) for key in DOCUMENT_KEYS if source.metadata.get(key)),
        source.title,
    )


def place_of(source: Reference) -> str:
    """The place of a source in its document, as far as it is known: its heading and its page.

    Example:
        >>> place_of(Reference.of("It sails at noon.", "Ferry", metadata={"page": 3}))
        'Ferry, page 3'
    """
    page = source.metadata.get("page_label") or source.metadata.get("page")
    heading = str(source.metadata.get("heading") or source.title)
    return ", ".join(filter(None, [heading, f"page {page}" if page else ""]))


def quotes_of(answer: Answer) -> dict[str, tuple[str, ...]]:
    """The sentences that support the answer, by the id of their source, none of them twice.

    Example:
        >>> from skr_core.types import Decision
        >>> paris = Reference.of("Paris is old. It is the capital of France.", "Paris")
        >>> said = resolve_citations("The capital of France is Paris [1].", [paris])
        >>> parts = (said.text, said.citations, (paris,), Decision(True), (), "sufficient", {})
        >>> [*quotes_of(Answer("?", *parts)).values()]
        [('It is the capital of France.',)]
    """
    found: dict[str, dict[str, None]] = {}
    for each in answer.citations:
        found.setdefault(each.reference_id, {}).update({each.quote: None} if each.quote else {})
    return {key: tuple(quotes) for key, quotes in found.items()}


def by_document(sources: Sequence[Reference]) -> list[Reference]:
    """The sources with those of one document side by side; documents stay in their order."""
    first: dict[str, int] = {}
    for each in sources:
        first.setdefault(document_of(each) or each.id, len(first))
    return sorted(sources, key=lambda each: first[document_of(each) or each.id])


def text_with_sources(
    answer: Answer, numbers: Mapping[str, int], *, metadata_keys: Sequence[str] = SHOWN_METADATA
) -> str:
    """The answer's text with its sources below, under numbers that are its conversation's own.

    Behind each source stands the sentence that supports the answer.

    In an answer each [n] counts its own references. Where several answers stand in one
    conversation, as those of a tool that an agent calls again, the same number would name different
    sources. With `number_sources`, each source keeps one number through all of them.

    Args:
        answer: The answer.
        numbers: The numbers of its sources by reference id, see `number_sources`.
        metadata_keys: The keys of the metadata that stand behind a source's title.

    Example:
        >>> from skr_core.types import Decision
        >>> paris = Reference.of("Paris is the capital of France.", "Paris")
        >>> cited = (Citation(1, paris.id, "Paris [1].", (6, 9), paris.text),)
        >>> answer = Answer(
        ...     "Capital?", "Paris [1].", cited, (paris,), Decision(True), (), "sufficient", {},
        ...     grounded=True, sufficient=True,
        ... )
        >>> print(text_with_sources(answer, number_sources(answer, {}, free_numbers(after=4))))
        Paris [5].
        <BLANKLINE>
        Sources:
        [5] Paris: "Paris is the capital of France."
    """
    text = answer.text
    for each in reversed(() if is_json(text) else answer.citations):
        start, end = each.span
        text = f"{text[:start]}[{numbers[each.reference_id]}]{text[end:]}"
    parts = [text]
    if answer.decision.retrieve and not (answer.grounded or answer.is_partial):
        uncited = answer.stop_reason == "sufficient" and answer.references and not answer.citations
        parts.append(UNCITED if uncited else UNSUPPORTED)
    shown = by_document(sorted(shown_sources(answer), key=lambda source: numbers[source.id]))
    if shown:
        quotes = quotes_of(answer)
        lines = (
            _line(numbers[each.id], each, quotes.get(each.id, ()), metadata_keys) for each in shown
        )
        parts.append("\n".join((HEADING, *lines)))
    return "\n\n".join(parts)


def last_number(text: str) -> int:
    """The highest number among the sources that a text ends with; 0 where it names none.

    Example:
        >>> last_number("Rome [2].\\n\\nSources:\\n[1] Italy\\n[2] Rome"), last_number("Rome [2].")
        (2, 0)
    """
    _, heading, sources = f"\n{text}".rpartition(f"\n{HEADING}\n")
    return max(map(int, _SOURCE_NUMBER.findall(sources)), default=0) if heading else 0


def _line(
    number: int, source: Reference, quotes: Sequence[str], metadata_keys: Sequence[str]
) -> str:
    """A source on one line that no document can break or forge."""
    quoted = " ".join(_excerpt(each, LONGEST_SHOWN_QUOTE) for each in quotes)
    title = one_line(source.title[:LONGEST_LABEL])
    title, quoted = (title, quoted) if title else (quoted or _excerpt(source.text), "")
    chosen = {key: source.metadata[key] for key in metadata_keys if key in source.metadata}
    details = [
        f"{one_line(key)}: {one_line(str(value)[:LONGEST_LABEL])}"
        for key, value in chosen.items()
        if value not in ("", source.title)
    ]
    named = f"{title} ({'; '.join(details)})" if details else title
    return f"[{number}] {named}: {quoted}" if quoted else f"[{number}] {named}"


def _excerpt(text: str, most: int = LONGEST_EXCERPT) -> str:
    end = "" if len(text) <= most else " …"
    return f'"{one_line(text[:most])}{end}"'
