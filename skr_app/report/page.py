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

from skr_app.report.run_folder import FILES, read_curve, read_result, read_scores
from skr_app.report.sections import (
    Section,
    section_of_calibration,
    section_of_replay,
    section_of_result,
)
from skr_app.report.tables import Result, Row, in_words
from skr_core.cleaning import cleaned
from skr_core.errors import DataError, InputError, extra
from skr_core.files import read_whole
from skr_core.files.foreign import check_parts
from skr_core.plain import from_plain
from skr_learn import RoutingCurve, Summary
from skr_learn.curve import COST_LABELS
from skr_learn.figures import variables, with_ids
from skr_learn.replaying import GroupResult, Replay
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
        return section_of_result(name, read_result(path), read_scores(path), read_curve(path))
    try:
        data = orjson.loads(read_whole(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    except orjson.JSONDecodeError as error:
        raise DataError(path, None, f"{_NONE}: it is not JSON ({error})") from error
    try:
        section = _section(name, data) if isinstance(data, Mapping) else None
    except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(path, None, f"this is no result ({error})") from error
    if section is None:
        raise DataError(path, None, _NONE)
    return section


def _section(name: str, data: Mapping[str, Any]) -> Section | None:
    if isinstance(found := data.get("result", data), Mapping) and "rows" in found:
        plain = {"experiment": "result", "title": name, "settings": {}, **found}
        return section_of_result(name, from_plain(Result, plain))
    if {"summary", "compared", "curve"} <= data.keys():
        compared = {name: from_plain(Figures, each) for name, each in data["compared"].items()}
        summary, curve = (
            from_plain(Summary, data["summary"]),
            from_plain(RoutingCurve, data["curve"]),
        )
        return section_of_calibration(name, summary, compared, curve)
    if "routers" in data.get("overall", {}):
        found = from_plain(Replay, data)
        groups = {group: _replayed(each, found) for group, each in found.groups.items()}
        return section_of_replay(name, _replayed(found.overall, found), groups)
    return None


def _replayed(group: GroupResult, whole: Replay) -> Result:
    """A replay's group as a table: a row for each router."""
    notes = []
    if whole.left_out:
        notes.append(f"Left out, because they were learnt from: {whole.left_out:,} records.")
    if whole.assumed_steps is not None:
        notes.append(f"Loops that nobody counted retrieve {whole.assumed_steps:g} times.")
    rows = []
    for name, each in group.routers.items():
        cells = dict(vars(each))
        if (told := cells.pop("reliability")) is not None:
            notes.append(f"{name}: {told.sentence}")
        rows.append(Row(name, cells))
    return Result(
        "replay",
        "",
        {"records": f"{group.n:,}"},
        tuple(rows),
        plotted=("accuracy",),
        notes=tuple(notes),
        over=COST_LABELS.get(whole.unit, whole.unit),
    )
