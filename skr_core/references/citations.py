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

from skr_core.texts import sentence_spans
from skr_core.types import Citation, Reference

# Markers stand on one line, so that a line break is a token of its own.
_TOKEN = re.compile(r"\n|[\[\]【】]|[^\S\n]+|[^\s\[\]【】]+")
# Several numbers may share the brackets, as lists or ranges; a short remark may follow.
_SPACE = r"[^\S\n]*"
_INSIDE = re.compile(
    rf"{_SPACE}(-?[0-9]+(?:{_SPACE}(?:[,;&–-]|and\b){_SPACE}-?[0-9]+)*)(?![0-9]).{{0,20}}"
)
_NUMBER = re.compile(r"(?<![0-9])-?[0-9]+")
_RANGE = re.compile(r"^([0-9]+)\s*[–-]\s*([0-9]+)$")
LONGEST_NUMBER = 6
"""Digits; a longer number names no reference, and Python refuses to convert a hostile one."""


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


class MarkerResolver:
    """Resolves markers piece by piece, looking at each character once however deep brackets are.

    Where the text is cut into pieces makes no difference.

    Args:
        count: Of the references that may be cited.

    Attributes:
        removed: Markers taken out so far.

    Example:
        >>> resolver = MarkerResolver(1)
        >>> for piece in ("Paris [", "1] is [", "7"):
        ...     resolver.write(piece)
        >>> resolver.take()
        'Paris [1] is'
    """

    def __init__(self, count: int) -> None:
        self.removed = 0
        self._count = count
        self._parts: list[str] = []
        self._open: list[int] = []  # places of the brackets that may still begin a marker
        self._settled = 0
        self._taken = 0

    @property
    def text(self) -> str:
        """All of the text so far, resolved, without the space around it."""
        return "".join(self._parts).strip()

    def write(self, piece: str) -> None:
        """Read on."""
        for token in _TOKEN.findall(piece):
            if token == "\n":
                self._leave_open()
            elif token in "[【":
                self._open.append(len(self._parts))
            elif token in "]】" and self._open:
                token = self._closed(token)
            if token:
                self._parts.append(token)
                if not self._open and not token.isspace():
                    self._settled = len(self._parts)

    def take(self) -> str:
        """What has settled since the last time: the pieces add up to a beginning of `text`.

        A bracket that may begin a marker has not settled, nor the space before it.
        """
        piece = "".join(self._parts[self._taken : self._settled])
        first, self._taken = self._taken == 0, self._settled
        return piece.lstrip() if first else piece

    def _leave_open(self) -> None:
        """What is open at the end of its line is no marker."""
        if self._open:
            self._open.clear()
            self._settled = len(self._parts)
            while self._parts[self._settled - 1].isspace():
                self._settled -= 1

    def _closed(self, bracket: str) -> str:
        """What stands in place of the innermost open bracket and what follows it."""
        start = self._open.pop()
        inside = _INSIDE.fullmatch("".join(self._parts[start + 1 :]))
        if inside is None:
            self._open.clear()  # brackets around one that stays are no marker
            return bracket
        numbers = list(_numbers(inside.group(1)))
        valid = [number for number in numbers if 1 <= number <= self._count]
        self.removed += len(numbers) - len(valid)
        del self._parts[start:]
        space = ""
        while self._parts and self._parts[-1].isspace() and self._parts[-1] != "\n":
            self._parts.pop()  # the space before a marker goes where the marker goes
            space = " "
        if not valid:
            return ""
        self._open.clear()
        return space + "".join(f"[{number}]" for number in dict.fromkeys(valid))


def resolve_citations(text: str, references: Sequence[Reference]) -> CitedText:
    """Map each [n] to the reference it names, from 1; take out what names none.

    Args:
        text: An answer as the model wrote it.
        references: In the order in which the prompt numbered them.
    """
    resolver = MarkerResolver(len(references))
    resolver.write(text)
    clean = resolver.text
    citations = tuple(
        Citation(
            int(marker.group(1)),
            references[int(marker.group(1)) - 1].id,
            sentence,
            (start + marker.start(), start + marker.end()),
        )
        for start, sentence in sentence_spans(clean)
        for marker in re.finditer(r"\[([0-9]+)\]", sentence)
    )
    return CitedText(clean, citations, resolver.removed)


def without_markers(text: str) -> str:
    """The text without any [n] marker, as entailment models want it."""
    resolver = MarkerResolver(0)
    resolver.write(text)
    return " ".join(resolver.text.split())


def _numbers(inside: str) -> Iterator[int]:
    for part in re.split(r"[,;]", inside):
        numbers = [
            int(number) if len(number) <= LONGEST_NUMBER else 0 for number in _NUMBER.findall(part)
        ]
        if _RANGE.match(part.strip()) and numbers[0] < numbers[-1] <= numbers[0] + 20:
            numbers = list(range(numbers[0], numbers[-1] + 1))
        yield from numbers
