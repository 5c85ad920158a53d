"""Each page as Markdown beside its HTML, and ``llms.txt``, which lists them for programs that read.

A page's Markdown is what MkDocs makes its HTML of, so that links between pages lead from one file
to the other. A page of the reference brings its own, see `reference.in_words`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
NO_PROSE = re.compile(r"[#|!<>:\[-]|\d\. ")
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
SENTENCE = re.compile(r"(?<=\w[.:])\s")

_pages: list[Page] = []


def on_nav(nav: Navigation, **_: object) -> None:
    """Called by MkDocs with the navigation, in whose order the pages are listed."""
    _pages[:] = nav.pages


def on_post_build(*, config: Any) -> None:
    """Called by MkDocs once the site is written."""
    site = Path(config.site_dir)
    lines = [f"# {config.site_name}\n\n> {config.site_description}\n"]
    part = None
    for page in _pages:
        text = getattr(page.file, "in_words", page.markdown).strip() + "\n"
        (site / page.file.src_uri).write_text(text, encoding="utf-8")
        above = page.ancestors[-1].title if page.ancestors else "Start"
        if above != part:
            part = above
            lines.append(f"\n## {part}\n\n")
        title = text.split("\n", 1)[0].removeprefix("# ").replace("`", "")
        first = f": {opening(text)}" if opening(text) else ""
        lines.append(f"- [{title}]({config.site_url}{page.file.src_uri}){first}\n")
    (site / "llms.txt").write_text("".join(lines), encoding="utf-8")


def opening(text: str) -> str:
    """The first sentence of a page, where it begins with one."""
    _, *paragraphs = FENCED.sub("", text).split("\n\n")
    for paragraph in paragraphs[:3]:
        line = " ".join(paragraph.split())
        if line and not NO_PROSE.match(line):
            return SENTENCE.split(LINK.sub(r"\1", line), maxsplit=1)[0].rstrip(":")
    return ""
