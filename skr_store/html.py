"""visible_text: what a page shows, read in time that grows with its length alone.

Example:
    >>> visible_text(b"<title>T</title><p>One</p>two<pre>  x = 1</pre>")
    ('T', 'One\\ntwo\\n  x = 1')
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

from skr_core.errors import extra

with extra("documents"):
    from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning
    from bs4.element import CData, NavigableString, Tag

# Space in <pre> is meant. While the rest is put on lines, noncharacters, which no text may hold,
# stand for it.
_KEPT = {0x20: 0xFDD0, 0x0A: 0xFDD1, 0x09: 0xFDD2, 0x0D: None}
_UNBROKEN = str.maketrans("\r\n", "  ")
_GIVEN_BACK = {kept: given for given, kept in _KEPT.items() if kept is not None}
_UNSEEN = frozenset(("script", "style", "template", "noscript", "title"))
_CELLS = ("td", "th")
# After these a line ends; the others run on within one.
_BLOCKS = re.compile(
    r"^(p|div|br|hr|li|ul|ol|dl|dt|dd|tr|table|td|th|caption|h[1-6]|pre|blockquote|section|article"
    r"|aside|header|footer|main|nav|figure|figcaption|address|form|option)$"
)


def visible_text(content: bytes) -> tuple[str, str]:
    """The title of a page and its text: <pre> as it is, a row of a table on a line.

    However deeply tags are nested and whatever is left open, nothing is walked twice.

    Args:
        content: In the encoding that its mark or its head names, or in UTF-8.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML reads well as HTML
        soup = BeautifulSoup(content, "html.parser")
    title = soup.title.get_text().strip() if soup.title else ""
    lines = (" ".join(line.split()) for line in "".join(_pieces(soup)).splitlines())
    return title, "\n".join(line for line in lines if line).translate(_GIVEN_BACK)


def _pieces(soup: BeautifulSoup) -> Iterator[str]:
    holding = _with_blocks(soup)
    rows: set[int] = set()  # those that have had a cell
    open_: list[tuple[Iterator[object], str]] = [(iter(soup.contents), "")]
    while open_:
        contents, ending = open_[-1]
        node = next(contents, None)
        if node is None:
            open_.pop()
            yield ending
        elif type(node) in (NavigableString, CData):
            yield str(node).translate(_UNBROKEN)  # a line break is a space
        elif isinstance(node, Tag) and node.name not in _UNSEEN:
            if node.name == "pre":
                yield f"\n{_as_it_is(node)}\n"
                continue
            around = "\n" if _BLOCKS.match(node.name) else ""
            if node.name in _CELLS and id(node) not in holding:
                around = ""  # one of several on a line
            yield around
            row = node.parent
            if node.name in _CELLS and row is not None and row.name == "tr":
                if not around and id(row) in rows:
                    yield " | "
                rows.add(id(row))
            open_.append((iter(node.contents), around))


def _as_it_is(pre: Tag) -> str:
    """The text of a <pre>, in which every space is kept."""
    for tag in pre(list(_UNSEEN)):
        tag.decompose()
    strings = (
        "\n" if isinstance(node, Tag) and node.name == "br" else str(node)
        for node in pre.descendants
        if type(node) in (NavigableString, CData) or getattr(node, "name", "") == "br"
    )
    return "".join(strings).strip("\r\n").translate(_KEPT)


def _with_blocks(soup: BeautifulSoup) -> set[int]:
    """The ids of the tags that hold a block."""
    holding: set[int] = set()
    for block in soup(_BLOCKS):
        parent = block.parent
        while parent is not None and id(parent) not in holding:
            holding.add(id(parent))
            parent = parent.parent
    return holding
