"""The page: sections as one file of HTML that asks nothing of the network and suits a telephone.

Everything from a run is cleaned and escaped, because passages and models' answers are hostile.

`read_section` takes the folders of runs, and what commands printed with ``--json``:

| it holds | it is |
|---|---|
| a folder with ``result.json`` | an evaluation or an experiment, with its answers |
| ``result`` or ``rows`` | the same, without them |
| ``summary`` and ``curve`` | a calibration |
| ``overall`` with ``routers`` | a replay |

A result of one's own needs rows of named means alone: ``{"rows": [{"name": "loop", "cells":
{"accuracy": {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 90}}}]}``. Rows with a number ``at``, and
``line`` where there are several, are drawn as lines over it, and ``over`` says what it counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from skr_app.report.blocks import Section, with_about
from skr_app.report.routing import section_of_calibration, section_of_replay
from skr_app.report.run_folder import FILES, read_result, read_scores
from skr_app.report.sections import section_of_result
from skr_app.report.tables import Result, in_words
from skr_core.cleaning import cleaned
from skr_core.errors import DataError, InputError, extra
from skr_core.files import read_whole
from skr_core.files.foreign import check_parts
from skr_core.plain import from_plain
from skr_learn import RoutingCurve, Summary
from skr_learn.figures import variables, with_ids
from skr_learn.replaying import Replay
from skr_learn.summary import Figures

LONGEST = 600
"""The characters of an answer that are shown."""


def report_page(sections: Sequence[Section], title: str = "skr report") -> str:
    """The sections as one page of HTML, in text that UTF-8 holds.

    Args:
        sections: The sections, shown one under the other behind a list of what each found.
        title: The title of the page.

    Raises:
        MissingDependency: jinja2 is not installed.

    Example:
        >>> page = report_page([Section("run", "demo", "Does <b> pay?", ["It does."])])
        >>> "It does." in page, "&lt;b&gt;" in page, "<b>" in page
        (True, True, False)
    """
    with extra("plots"):
        from jinja2 import Environment, FileSystemLoader
        from markupsafe import Markup

    def shown(value: object) -> object:
        return cleaned(value) if type(value) is str else value

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
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
    return environment.get_template("page.html.jinja").render(
        title=title,
        sections=sections,
        light=variables(),
        dark=variables(dark=True),
    )


def _unbroken(text: str) -> str:
    """A sentence whose figures stay with their units at the end of a line."""
    return re.sub(r"(?<=\bn) (?=\d)|(?<=\d) (?=%)", "\u00a0", text)


def _has_failed(row: Mapping[str, Any]) -> bool:
    """Whether there is no answer; one that was judged may not have been kept, as on records."""
    return row.get("answer") is None and all(each is None for each in row["values"].values())


def _shortened(text: object) -> str:
    whole = str(text)
    return whole if len(whole) <= LONGEST else f"{whole[:LONGEST].rstrip()} …"


_NONE = "this is no result of skr evaluate, experiment, calibrate or replay with --json"


def read_section(path: str | Path) -> Section:
    """The section of a run's folder, or of a file that a command printed.

    Args:
        path: The folder or the file.

    Raises:
        InputError: There is nothing, or the folder holds no result.
        DataError: It is broken, or none of what the report can show.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "mine.json")
        >>> half = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 90}
        >>> _ = path.write_bytes(orjson.dumps({"rows": [{"name": "a", "cells": {"score": half}}]}))
        >>> read_section(path).findings
        ['Measured score: a, 0.500 (0.400 to 0.600), n 90.']
    """
    path = Path(path)
    name = path.resolve().name
    if path.is_dir():
        check_parts(path, FILES)
        return section_of_result(name, read_result(path), read_scores(path))
    try:
        data = orjson.loads(read_whole(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    except orjson.JSONDecodeError as error:
        raise DataError(path, None, f"{_NONE}: it is not JSON ({error})") from error
    try:
        section = section_of_printed(name, data)
        for chart in (chart for block in section.blocks for chart in block.charts):
            _ = chart.svg  # what cannot be drawn is told with the file's name
        return section
    except (InputError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise DataError(path, None, f"{_NONE} ({error})") from error


def section_of_printed(name: str, data: Mapping[str, Any]) -> Section:
    """The section of what a command prints with ``--json``.

    Args:
        name: The name of the file that was measured.
        data: The object that was printed.

    Raises:
        InputError: It is of no kind above, or a part of it is something else.
    """
    about = {str(key): str(each) for key, each in dict(data.get("about", {})).items()}
    if isinstance(found := data.get("result", data), Mapping) and "rows" in found:
        plain = {"experiment": "result", "title": name, "settings": {}, **found}
        return section_of_result(name, from_plain(Result, plain))
    if {"summary", "compared", "curve"} <= data.keys():
        compared = {name: from_plain(Figures, each) for name, each in data["compared"].items()}
        summary, curve = (
            from_plain(Summary, data["summary"]),
            from_plain(RoutingCurve, data["curve"]),
        )
        return with_about(section_of_calibration(name, summary, compared, curve), about)
    if "routers" in data.get("overall", {}):
        known = {key: each for key, each in data.items() if key != "about"}
        return with_about(section_of_replay(name, from_plain(Replay, known)), about)
    raise InputError("nothing is told by its fields")
