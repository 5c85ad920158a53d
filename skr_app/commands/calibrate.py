"""``skr calibrate``: which router serves recorded self-knowledge best, and whether any does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from skr_app.options import EmbedderOption, JsonOption, SkipBadOption, make_text_embedder
from skr_app.output import console, escape, print_json, progress
from skr_core.plain import to_plain
from skr_core.self_knowledge import read_self_knowledge

if TYPE_CHECKING:
    from skr_core.calibration import RoutingCurve

Records = Annotated[
    Path, typer.Argument(help="Records made by `skr collect` (also .gz).", show_default=False)
]
Out = Annotated[Path, typer.Option("--out", help="Folder the router is written to.")]
Routers = Annotated[
    str | None,
    typer.Option(
        "--router",
        help="Choose among these, with commas between: combined, combined-question, benefit, "
        "paper, classifier. All of them by default.",
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(
        "--retrieval-rate", min=0, max=1, help="Best accuracy at this share of questions."
    ),
]
Price = Annotated[
    float | None,
    typer.Option("--price", min=0, max=1, help="Best accuracy less this for each retrieval."),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", help="Draw the curve into this .png or .svg file.")
]


def calibrate(
    records: Records,
    out: Out = Path("router"),
    router: Routers = None,
    retrieval_rate: Rate = None,
    price: Price = None,
    embedder: EmbedderOption = "hashing",
    plot: Plot = None,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """Choose a router and its threshold on recorded self-knowledge, and say what they are worth."""
    from skr_core.calibration import calibrate as choose_router

    known = read_self_knowledge(records, skip_bad=skip_bad)
    with progress("Calibrating") as advance:
        found = choose_router(
            known,
            embedder=make_text_embedder(embedder),
            routers=router.split(",") if router else None,
            retrieval_rate=retrieval_rate,
            price=price,
            on_progress=advance,
        )
    found.save(out)
    if plot is not None:
        found.curve.plot(plot)
    if json:
        curve = {**to_plain(found.curve), "random_line": list(found.curve.random_line)}
        print_json({"out": str(out), "sentence": found.curve.sentence, **curve})
        return
    _print(found.curve)
    console.print(f"\n{escape(found.curve.sentence)}")
    console.print(f"The router is in {escape(str(out))}:  skr route QUESTION --router {out}")


def _print(curve: RoutingCurve) -> None:
    table = Table(box=None)
    for heading in ("retrieved", "accuracy", "95 % interval", "at random", "oracle"):
        table.add_column(heading, justify="right")
    rows = zip(
        curve.rates,
        curve.accuracy,
        curve.low,
        curve.high,
        curve.random_line,
        curve.oracle,
        strict=True,
    )
    for place, (rate, accuracy, low, high, line, oracle) in enumerate(rows):
        if place % 2 == 0:  # every 10 % is enough to read
            interval = f"{low:.3f} to {high:.3f}"
            table.add_row(
                f"{rate:.0%}", f"{accuracy:.3f}", interval, f"{line:.3f}", f"{oracle:.3f}"
            )
    console.print(table)
    console.print(
        f"\nnever {curve.never.mean:.3f} · always {curve.always.mean:.3f} · {curve.router} with "
        f"its threshold {curve.chosen.mean:.3f} at {curve.chosen_rate:.0%}"
    )
