"""Reading a passage as sentences: wrapped lines joined, Markdown's headings, lists, tables, code.

Each reading takes time in proportion to the text, and nothing raises, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skr_core.texts import split_sentences

# A line as long as this one was probably wrapped, and goes on in the next.
WRAPPED = 50
# A row of more characters is told in sentences.
LONGEST_ROW = 300
# The least share of a paragraph's characters that stand outside of links.
LEAST_SAID = 0.3

_FENCE = re.compile(r"\s*(```+|~~~+)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)[\s#]*$")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
_RULE = re.compile(r"\s*\|?[\s|:-]*-[\s|:-]*$")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\([^()\s]{1,300}\)")
_ENDS = (".", "!", "?", ":", ";", "。", "！", "？")


@dataclass(frozen=True, slots=True)
class Line:
    """Something that can be quoted, and what it stands under.

    Attributes:
        text: A sentence, a row of a table or a line of code, on one line.
        under: The headings before it in its passage, and for code the sentence before it.
        is_code: Whether it stands in a block of code.
    """

    text: str
    under: str = ""
    is_code: bool = False


def read_lines(passage: str) -> list[Line]:
    """What of a passage can be quoted, in order.

    A wrapped sentence is joined, a link is shown by its words, and a row of a table is told with
    the headings of its columns. A heading is no sentence, but says what the lines below it are
    about.

    Example:
        >>> wrapped = "## Cost\\nOne call for each round,\\nso one at least.\\n- See below."
        >>> [(each.text, each.under) for each in read_lines(wrapped)]
        [('One call for each round, so one at least.', 'Cost'), ('See below.', 'Cost')]
        >>> read_lines("| extra | brings |\\n|---|---|\\n| `plots` | matplotlib |")[0].text
        'extra: `plots` · brings: matplotlib'
    """
    return list(_lines(passage))


def _lines(passage: str) -> Iterator[Line]:
    heading, before, fence = "", "", ""
    paragraph: list[str] = []
    table: list[str] = []

    def told() -> Iterator[Line]:
        """What the lines so far say, at the end of a paragraph, an item or a table."""
        nonlocal before
        for row in _rows(table):
            whole = [row] if len(row) <= LONGEST_ROW else split_sentences(row)
            for part in whole:
                yield Line(part, heading if part is row else f"{heading} {row[:LONGEST_ROW]}")
        text = " ".join(paragraph)
        # A list of links says where something stands, and nothing of it.
        is_contents = len(_LINK.sub("", text)) < len(text) * LEAST_SAID
        for sentence in [] if is_contents else split_sentences(_LINK.sub(r"\1", text)):
            before = sentence
            yield Line(sentence, heading)
        table.clear()
        paragraph.clear()

    for line in passage.split("\n"):
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
            elif any(map(str.isalnum, bare)):
                yield Line(" ".join(bare.split()), f"{heading} {before}", is_code=True)
            continue
        is_row = bare.startswith("|")
        if not is_row and (table or not bare or not _continues(paragraph, line)):
            yield from told()
        if is_row:
            if paragraph:
                yield from told()
            table.append(bare)
        elif opened := _FENCE.match(line):
            fence = opened[1]
        elif titled := _HEADING.match(line):
            heading = before = titled[1]
        elif item := _ITEM.match(line):
            paragraph.append(line[item.end() :].strip())
        elif bare:
            paragraph.append(bare)
    yield from told()


def _continues(paragraph: Sequence[str], line: str) -> bool:
    """Whether a line goes on with the paragraph; what ends a sentence says so itself."""
    if not paragraph or any(each.match(line) for each in (_FENCE, _HEADING, _ITEM)):
        return False
    before, bare = paragraph[-1], line.strip()
    return len(before) >= WRAPPED or before.endswith(_ENDS) or bare[0].islower()


def _rows(table: Sequence[str]) -> Iterator[str]:
    """The rows of a table as text, each cell behind the heading of its column where it has one."""
    has_headings = len(table) > 1 and bool(_RULE.match(table[1]))
    headings = _cells(table[0]) if has_headings else []
    for row in table[2 if has_headings else 0 :]:
        cells = _cells(row)
        named = zip([*headings, *[""] * len(cells)], cells, strict=False)
        text = " · ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)
        if text:
            yield text


def _cells(row: str) -> list[str]:
    return [_LINK.sub(r"\1", cell.strip()) for cell in row.strip("|").split("|")]
