"""A report as the file that ``--report`` names: a page or a notebook."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from skr_app.opening import check_writable
from skr_app.report.blocks import Section
from skr_app.report.notebook import report_notebook
from skr_app.report.page import report_page
from skr_core.cleaning import redact
from skr_core.errors import InputError, StoreError, extra
from skr_core.files import make_folder, replace_file
from skr_core.texts import encodable
from skr_core.types import Stamp

FORMATS = (".html", ".ipynb")
CROSS_FITTED = "in five parts: each question by what was learnt from the other four"
"""How records are judged that are learnt from too."""


def check_report(path: Path | None) -> None:
    """Refuse a report that could not be written, before anything is measured for it.

    Raises:
        InputError: Its name ends in something else, or its folder is read-only.
        MissingDependency: The extra ``plots`` is not installed.
    """
    if path is None:
        return
    if path.suffix not in FORMATS:
        raise InputError(f"--report {path}: its name ends in {' or '.join(FORMATS)}")
    check_writable(path)
    with extra("plots"):
        import jinja2
        import matplotlib

        del jinja2, matplotlib


def judged_on(stamp: Stamp | None = None, **more: str) -> dict[str, str]:
    """What was judged on what, with the date and the command that is running.

    Args:
        stamp: The system whose records were judged.
        **more: What else was, by name.
    """
    named = ("model", "retriever", "corpus", "metric")
    made = {name: getattr(stamp, name) for name in named} if stamp else {}
    command = redact(shlex.join(["skr", *sys.argv[1:]]))
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    found = {**more, **made, "date": day, "command": command}
    return {name: encodable(each) for name, each in found.items() if each}


def write_report(path: Path, section: Section, code: str = "") -> None:
    """Write a section as a page or a notebook, by the ending of the file's name.

    Args:
        path: The file.
        section: The section.
        code: Python that reads again what the section was made of, for a notebook.

    Raises:
        StoreError: The disk does not take it.
        MissingDependency: The extra ``plots`` is not installed.
    """
    if path.suffix == FORMATS[1]:
        content = report_notebook(section, code)
    else:
        content = encodable(report_page([section], title=f"skr {section.kind}")).encode()
    try:
        make_folder(path.parent)
        replace_file(path, content)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error}") from error


def records_again(
    report: Path, path: Path, where: Sequence[str] = (), *, skip_bad: bool = False
) -> str:
    """Code for a notebook that reads records as a command read them."""
    more = (f", where={list(where)}" if where else "") + (", skip_bad=True" if skip_bad else "")
    return (
        "from pathlib import Path\n\nfrom skr_app.opening import read_records\n\n"
        f"records = read_records(Path({_from(report, path)}){more})\n"
        'print(f"{len(records)} records; the first asks: {records[0].question}")'
    )


def scores_again(report: Path, run: Path) -> str:
    """Code for a notebook that reads the answers of a run's folder with their measures."""
    return (
        "from skr_app.report import read_scores\n\n"
        f"answers = read_scores({_from(report, run)})\n"
        "print(f\"{len(answers)} answers; the first question: {answers[0]['question']}\")"
    )


def _from(report: Path, path: Path) -> str:
    """A path as code in a notebook names it: from where the notebook lies."""
    return repr(Path(os.path.relpath(path, report.parent)).as_posix())
