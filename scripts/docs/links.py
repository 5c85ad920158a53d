"""Links of the documentation to files outside of it, as a site can follow them.

On GitHub ``../examples/09_sources.py`` is a file beside the folder; the site has no such file, so
there the link leads to GitHub. A target that is not in the repository is a warning, which ends a
strict build.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ON_GITHUB = "https://github.com/skr-rag/skr-rag/blob/main/"
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)([^)\s]*)\)")

log = logging.getLogger("mkdocs.hooks.links")


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Called by MkDocs for each page."""
    folder = Path(page.file.src_uri).parent
    return LINK.sub(lambda link: outward(link, folder, page.file.src_uri), markdown)


def outward(link: re.Match[str], folder: Path, page: str) -> str:
    """The link, led to GitHub where it leaves the documentation."""
    target = (ROOT / "docs" / folder / link[1]).resolve()
    if target.is_relative_to(ROOT / "docs"):
        return link[0].replace(".ipynb", ".md")  # notebooks are pages of the site
    if not target.exists():
        log.warning("%s links to %s, which is not there", page, link[1])
    return f"]({ON_GITHUB}{target.relative_to(ROOT).as_posix()}{link[2]})"
