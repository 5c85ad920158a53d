"""``skr report``: what runs found, as one page that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skr_app.options import Json as JsonOption
from skr_app.output import console, escape, print_json, progress
from skr_core.errors import InputError
from skr_core.texts import encodable

Runs = Annotated[
    list[Path],
    typer.Argument(
        help="Folders that evaluations and experiments wrote with --out, and files of what "
        "evaluate, experiment, calibrate and replay printed with --json.",
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option("--out", help="The page.")]
Title = Annotated[str, typer.Option("--title", help="Of the page.")]


def report(
    runs: Runs,
    out: Out = Path("report.html"),
    title: Title = "skr report",
    json: JsonOption = False,
) -> None:
    """Make one page of runs: what was found, curves, gains, cost and the worst questions."""
    from skr_app.report import read_section, report_page

    sections = []
    with progress("Drawing") as advance:
        for run in runs:
            sections.append(read_section(run))
            advance(len(sections), len(runs))
    page = report_page(sections, title)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(encodable(page), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error}") from error
    if json:
        found = [
            {"run": str(run), "title": each.title, "findings": each.findings}
            for run, each in zip(runs, sections, strict=True)
        ]
        print_json({"out": str(out), "title": title, "runs": found})
        return
    noun = "run" if len(runs) == 1 else "runs"
    console.print(f"{escape(str(out))}: {len(runs)} {noun}, {len(page) // 1024:,} KB")
