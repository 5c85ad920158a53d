"""Cutting Markdown at its headings, so that a passage is titled by what it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SHORT = 1_500
"""Characters of a page that stays whole; it is one passage in any case."""

DEEPEST = 3
"""Headings of this level and above begin a section."""

_LINE = re.compile(r"[^\n]+")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"(#{1,6}) +(\S.*?)[ #\r]*$")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, and where its line stands in the text.

    Attributes:
        level: 1 for the page's own.
        title: Without its marks.
        start: Index of the line's first character.
        end: Index behind its last.
    """

    level: int
    title: str
    start: int
    end: int


def headings(text: str) -> Iterator[Heading]:
    """The headings of a text; a comment in a block of code is none.

    Example:
        >>> page = "# Paris\\n\\n```sh\\n# no heading\\n```\\n## River"
        >>> [(each.level, each.title) for each in headings(page)]
        [(1, 'Paris'), (2, 'River')]
    """
    fence = ""
    for line in _LINE.finditer(text):
        if fence:
            if line[0].strip().startswith(fence) and not line[0].strip().strip(fence[0]):
                fence = ""
        elif opened := _FENCE.match(line[0]):
            fence = opened[1]
        elif found := _HEADING.match(text, line.start(), line.end()):
            yield Heading(len(found[1]), found[2], line.start(), line.end())


def sections(text: str, name: str) -> list[tuple[str, str]]:
    """The sections of a page, each with its title.

    The page is titled by its heading of the first level, if it has one alone, a section by that and
    the headings above it. No character is lost but the lines of the headings that are titles.

    Args:
        text: The page.
        name: Its title where it has none.

    Returns:
        Titles and texts, in the order of the page; a page without text is one section.

    Example:
        >>> page = "# Paris\\n\\nA city.\\n\\n## River\\n\\nThe Seine." + " More." * 300
        >>> [(title, text[:10]) for title, text in sections(page, "page")]
        [('Paris', 'A city.\\n\\n'), ('Paris: River', 'The Seine.')]
    """
    found = list(headings(text))
    firsts = [each for each in found if each.level == 1]
    own = firsts[0] if len(firsts) == 1 else None  # several are chapters
    title = own.title if own else name
    if len(text) <= SHORT:
        return [(title, _without(text, own))]
    trail: dict[int, str] = {}
    cut: list[tuple[str, str]] = []
    begun, called = 0, title
    for heading in [each for each in found if each.level <= DEEPEST]:
        cut.append((called, text[begun : heading.start]))
        trail = {level: each for level, each in trail.items() if level < heading.level}
        if heading is not own:
            trail[heading.level] = heading.title
        begun, called = heading.end, ": ".join([title, *trail.values()])
    cut.append((called, text[begun:]))
    kept = [(called, part.lstrip("\r\n")) for called, part in cut if part.strip()]
    return kept or [(title, "")]


def _without(text: str, heading: Heading | None) -> str:
    """The text without its title, which goes with every passage."""
    if heading is None:
        return text
    return (text[: heading.start] + text[heading.end :]).lstrip("\r\n")
