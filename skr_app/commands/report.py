"""``skr report``: what runs found, as one page that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skr_app.output import console, escape
from skr_core.errors import InputError
from skr_core.evaluation.report.folder import read_curve, read_plot, read_result, read_scores
from skr_core.evaluation.report.page import ReportedRun, report_page
from skr_core.texts import encodable

Runs = Annotated[
    list[Path], typer.Argument(help="Folders that evaluations and experiments wrote with --out.")
]
Out = Annotated[Path, typer.Option("--out", help="The page.")]


def report(runs: Runs, out: Out = Path("report.html")) -> None:
    """Make one self-contained page of runs: tables, plots, rounds, cost, the worst questions."""
    read = [
        ReportedRun(
            folder.resolve().name,
            read_result(folder),
            read_scores(folder),
            read_plot(folder),
            read_curve(folder),
        )
        for folder in runs
    ]
    page = report_page(read)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(encodable(page), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error}") from error
    console.print(f"{escape(str(out))}: {len(read)} runs, {len(page) // 1024:,} KB")
