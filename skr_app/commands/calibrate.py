"""``skr calibrate``: what serves recorded questions best, and what that is worth on new ones."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from skr_app.opening import check_writable, open_embedder, read_records
from skr_app.options import AimOptions, Json, Report, split
from skr_app.output import console, escape, messages, print_json, progress
from skr_app.report import (
    CROSS_FITTED,
    check_report,
    judged_on,
    records_again,
    section_of_printed,
    write_report,
)
from skr_app.spreading import spread
from skr_core.errors import InputError
from skr_core.plain import to_plain
from skr_learn.routers.registry import titles


@spread
def calibrate(
    records: Annotated[
        Path,
        typer.Argument(help="Records that `skr collect` made (also .gz).", show_default=False),
    ],
    options: AimOptions,
    out: Annotated[Path, typer.Option("--out", help="File to write the router to.")] = Path(
        "router.skr"
    ),
    router: Annotated[
        str | None,
        typer.Option(
            "--router",
            help=f"Choose among these routers, with commas between: {titles()}. By default all "
            "but encoder, as far as the records hold what they need.",
        ),
    ] = None,
    cost: Annotated[
        Literal["retrievals", "calls", "tokens", "usd"] | None,
        typer.Option(
            "--cost",
            help="What counts as cost. By default tokens where they were recorded, else searches.",
        ),
    ] = None,
    prices: Annotated[
        Path | None, typer.Option("--prices", help="JSON file of models' prices, for --cost usd.")
    ] = None,
    reflector: Annotated[
        bool,
        typer.Option(
            "--reflector",
            help="Learn too which drafts are not good enough, into the same file. Use it by "
            "`skr ask --reflector learned:FILE`.",
            rich_help_panel="Routing",
        ),
    ] = False,
    anyway: Annotated[
        bool,
        typer.Option("--anyway", help="Take the best router even where none pays."),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw accuracy against cost into this .png or .svg file."),
    ] = None,
    plot_chances: Annotated[
        Path | None,
        typer.Option(
            "--plot-chances",
            help="Draw how often the surest answers are right into this .png or .svg file.",
        ),
    ] = None,
    report: Report = None,
    json: Json = False,
) -> None:
    """Learn from records which questions to search for, and say what that is worth."""
    from skr_core.budget import read_prices
    from skr_learn import calibrate as choose_router
    from skr_learn.figures import check_name

    # A file that cannot be written is refused before time is spent on it.
    if out.is_dir():
        raise InputError(f"{out} is a folder: give --out a file")
    check_writable(out)
    check_report(report)
    if cost == "usd" and prices is None:
        raise InputError("--cost usd needs --prices: a file with the prices of your models")
    for drawing in (plot, plot_chances):
        if drawing is not None:
            check_name(drawing)
    where = options.where or ()
    known = read_records(records, where, skip_bad=options.skip_bad)
    with progress("Calibrating") as advance:
        found = choose_router(
            known,
            embedder=None if options.embedder is None else open_embedder(options.embedder),
            routers=split(router) or None,
            cost=cost,
            prices=None if prices is None else read_prices(prices),
            reflector=reflector,
            anyway=anyway,
            on_progress=advance,
            **options.aim,
        )
    summary = found.summary
    saved = summary.state != "broken"
    if saved:
        found.save(out)
        if plot is not None:
            found.curve.plot(plot)
        if plot_chances is not None:
            if summary.reliability is None:
                raise InputError("--plot-chances needs a router that tells chances, such as ladder")
            summary.reliability.plot(plot_chances)
    printed = {
        "out": str(out) if saved else None,
        "verdict": summary.verdict,
        "sentences": summary.sentences,
        "summary": to_plain(summary),
        "compared": to_plain(found.compared),
        "curve": to_plain(found.curve),
        "about": judged_on(
            known[0].stamp,
            records=f"{records.name}, {summary.n:,} questions",
            judged=CROSS_FITTED,
        ),
    }
    if report is not None:
        again = records_again(report, records, where, skip_bad=options.skip_bad)
        write_report(report, section_of_printed(records.name, printed), again)
    if json:
        print_json(printed)
    else:
        console.print(escape(str(found)), highlight=False, soft_wrap=True)
    if not saved:
        messages.print(f"[bold red]error:[/bold red] nothing is saved to {escape(str(out))}")
        raise typer.Exit(1)
    if not json:
        file = shlex.quote(str(out))
        use = f"--router {file}"
        if reflector:
            use += f" --reflector {shlex.quote(f'learned:{out}')}"
        console.print(
            f"Use it, with the same model and store:  skr ask QUESTION {escape(use)}",
            highlight=False,
            soft_wrap=True,
        )
