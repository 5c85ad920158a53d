"""From [n] markers in an answer to the references they name.

Example:
    >>> references = [Reference.of("Paris is the capital of France.")]
    >>> cited = resolve_citations("Paris [1]. Lyon is large [7].", references)
    >>> cited.text, cited.citations[0].marker, cited.removed
    ('Paris [1]. Lyon is large.', 1, 1)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skr_core.types import Citation, Reference

# Several numbers may share the brackets, as lists or ranges; some models use the wide brackets.
# A marker stands on one line; the space before it goes where it goes.
_SPACE = r"[^\S\n]*"
_MARKER = re.compile(
    rf"(?<![^\S\n]){_SPACE}[\[【]{_SPACE}"
    rf"(-?[0-9]+(?:{_SPACE}(?:[,;&–-]|and\b){_SPACE}-?[0-9]+)*)"
    r"(?![0-9])[^\[\]【】\n]{0,20}[\]】]"
)
_NUMBER = re.compile(r"(?<![0-9])-?[0-9]+")
_RANGE = re.compile(r"^([0-9]+)\s*[–-]\s*([0-9]+)$")
LONGEST_NUMBER = 6
"""Digits; a longer number names no reference, and Python refuses to convert a hostile one."""
_SENTENCE_END = re.compile(
    # A full stop, its closing quotation marks and the markers that follow it, then space.
    r"(?<=[.!?。！？])[\"'”’)]*(?:\s*\[[0-9]+\])*(?:\s+|$)"
)
# A sentence does not end behind these: titles, initials, and what stands before a number.
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|Jr|Sr|vs|etc|No|Vol|Fig|Inc|Ltd|Co|Corp|e\.g|i\.e|[A-Z]))\.$"
)
LONGEST_ABBREVIATION = 8
"""Characters, the one before it and its full stop included."""


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
    removed = 0

    def keep_valid(match: re.Match[str]) -> str:
        nonlocal removed
        numbers = list(_numbers(match.group(1)))
        valid = [number for number in numbers if 1 <= number <= len(references)]
        removed += len(numbers) - len(valid)
        space = " " if match.group(0)[0].isspace() and valid else ""
        return space + "".join(f"[{number}]" for number in dict.fromkeys(valid))

    clean = text
    # What is taken out may leave another marker behind, as in "[[7]9]".
    while (shorter := _MARKER.sub(keep_valid, clean)) != clean:
        clean = shorter
    clean = clean.strip()
    citations = tuple(
        Citation(
            int(marker.group(1)),
            references[int(marker.group(1)) - 1].id,
            sentence,
            (start + marker.start(), start + marker.end()),
        )
        for start, sentence in _spans(clean)
        for marker in re.finditer(r"\[([0-9]+)\]", sentence)
    )
    return CitedText(clean, citations, removed)


def without_markers(text: str) -> str:
    """The text without any [n] marker, as entailment models want it."""
    return " ".join(_MARKER.sub("", text).split())


def split_sentences(text: str) -> list[str]:
    """The sentences of an answer; markers behind a full stop stay with their sentence.

    Example:
        >>> split_sentences("It was Dr. No. [1] He left.")
        ['It was Dr. No. [1]', 'He left.']
    """
    return [sentence for _, sentence in _spans(text)]


def _spans(text: str) -> Iterator[tuple[int, str]]:
    """Each sentence with the place where it starts."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        before = text[max(start, end.start() - LONGEST_ABBREVIATION) : end.start()]
        is_abbreviation = _ABBREVIATION.search(before) and not end.group().strip()
        if is_abbreviation and end.end() < len(text):
            continue
        yield from _stripped(start, text[start : end.end()])
        start = end.end()
    yield from _stripped(start, text[start:])


def _stripped(start: int, piece: str) -> Iterator[tuple[int, str]]:
    if sentence := piece.strip():
        yield start + len(piece) - len(piece.lstrip()), sentence


def _numbers(inside: str) -> Iterator[int]:
    for part in re.split(r"[,;]", inside):
        numbers = [
            int(number) if len(number) <= LONGEST_NUMBER else 0 for number in _NUMBER.findall(part)
        ]
        if _RANGE.match(part.strip()) and numbers[0] < numbers[-1] <= numbers[0] + 20:
            numbers = list(range(numbers[0], numbers[-1] + 1))
        yield from numbers
