"""Sections as one HTML page: it asks nothing of the network, and reads on a telephone.

Everything from a run is cleaned and escaped, because passages and models' answers are hostile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from skr_app.report.sections import Section
from skr_app.report.tables import in_words
from skr_core.cleaning import cleaned
from skr_core.errors import extra
from skr_learn.figures import variables, with_ids

LONGEST = 600
"""Characters of an answer that are shown."""
TEMPLATES = Path(__file__).parent / "templates"


def report_page(sections: Sequence[Section], title: str = "skr report") -> str:
    """The sections as one page of HTML, in text that UTF-8 holds.

    Args:
        sections: Shown one under the other, with a list of what each found before them.
        title: Of the page.

    Raises:
        MissingDependency: jinja2 is not installed.

    Example:
        >>> page = report_page([Section("<b>", "demo", "Does it pay?", ["It does."])])
        >>> "It does." in page, "&lt;b&gt;" in page, "<b>" in page
        (True, True, False)
    """
    with extra("plots"):
        from jinja2 import Environment, FileSystemLoader
        from markupsafe import Markup

    def shown(value: object) -> object:
        return cleaned(value) if type(value) is str else value

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    numbers = count(1)

    def drawing(svg: str) -> Markup:
        return Markup(with_ids(svg, f"d{next(numbers)}-"))

    environment.tests["failed"] = _has_failed
    environment.filters |= {
        "words": in_words,
        "drawing": drawing,
        "shortened": _shortened,
        "unbroken": _unbroken,
    }
    style = (TEMPLATES / "page.css").read_text(encoding="utf-8")
    page = environment.get_template("page.html.jinja").render(
        title=title,
        sections=sections,
        style=Markup(style),
        light=variables(),
        dark=variables(dark=True),
    )
    return page


def _unbroken(text: str) -> str:
    """A sentence whose figures stay with their units at the end of a line."""
    return re.sub(r"(?<=\bn) (?=\d)|(?<=\d) (?=%)", "\u00a0", text)


def _has_failed(row: Mapping[str, Any]) -> bool:
    """Whether there is no answer; one that was judged may not have been kept, as on records."""
    return row.get("answer") is None and all(each is None for each in row["values"].values())


def _shortened(text: object) -> str:
    whole = str(text)
    return whole if len(whole) <= LONGEST else f"{whole[:LONGEST].rstrip()} …"
