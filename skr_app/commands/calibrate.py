"""``skr calibrate``: which router serves recorded self-knowledge best, and whether any does."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from skr_app.opening import check_writable, open_embedder
from skr_app.options import Embedder, Json, SkipBad, SystemOptions
from skr_app.output import console, escape, print_json, print_table, progress
from skr_core.errors import InputError
from skr_core.plain import to_plain
from skr_learn import read_self_knowledge
from skr_learn.routers.registry import titles

if TYPE_CHECKING:
    from skr_core.types import Action
    from skr_learn import RoutingCurve


def calibrate(
    records: Annotated[
        Path,
        typer.Argument(help="Records made by `skr collect` (also .gz).", show_default=False),
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder the router is written to.")] = Path(
        "router"
    ),
    router: Annotated[
        str | None,
        typer.Option(
            "--router",
            help=f"Choose among these, with commas between: {titles()}. By default those that "
            "learn from outcomes, and those that the records hold statements of; never `encoder`.",
        ),
    ] = None,
    actions: Annotated[
        str | None,
        typer.Option(
            "--actions",
            help="Choose among these: direct and single, loop or both. By default all that every "
            "record holds.",
        ),
    ] = None,
    cost: Annotated[
        Literal["retrievals", "calls", "tokens", "usd"] | None,
        typer.Option(
            "--cost",
            help="What cost is counted in. By default tokens where recorded, else retrievals.",
        ),
    ] = None,
    prices: Annotated[
        Path | None, typer.Option("--prices", help="JSON file of models' prices, for --cost usd.")
    ] = None,
    retrieval_rate: Annotated[
        float | None,
        typer.Option(
            "--retrieval-rate", min=0, max=1, help="Best accuracy at this share of questions."
        ),
    ] = None,
    price: Annotated[
        float | None,
        typer.Option(
            "--price",
            min=0,
            help="Best accuracy less this for each unit of cost: retrieval, call, 1,000 tokens or "
            "dollar.",
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option("--budget", min=0, help="Best accuracy at this cost a question."),
    ] = None,
    arbiter: Annotated[
        bool,
        typer.Option(
            help="Look whether it pays to weigh the direct answer against the retrieving ones, and "
            "to ask for one after the other where the records hold all three."
        ),
    ] = True,
    reflector: Annotated[
        bool,
        typer.Option(
            help="Learn from the records which drafts to send back, too, and save it beside the "
            "router: `skr ask --reflector learned:FOLDER`."
        ),
    ] = False,
    multistep_steps: Annotated[
        float,
        typer.Option("--multistep-steps", min=1, help="Retrievals of a loop that nobody counted."),
    ] = 3.35,
    embedder: Embedder = SystemOptions.embedder,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the curve into this .png or .svg file.")
    ] = None,
    skip_bad: SkipBad = False,
    json: Json = False,
) -> None:
    """Choose a router and its price on recorded self-knowledge, and say what it is worth."""
    from skr_core.budget import read_prices
    from skr_learn import calibrate as choose_router
    from skr_learn.figures import check_name

    # A file that cannot be written is refused before minutes are spent on it.
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file: give --out a folder")
    check_writable(out)
    if cost == "usd" and prices is None:
        raise InputError("--cost usd needs --prices: a file with the prices of your models")
    if plot is not None:
        check_name(plot)
    known = read_self_knowledge(records, skip_bad=skip_bad)
    with progress("Calibrating") as advance:
        found = choose_router(
            known,
            embedder=open_embedder(embedder),
            routers=split(router) or None,
            actions=_actions(actions),
            cost=cost,
            prices=None if prices is None else read_prices(prices),
            retrieval_rate=retrieval_rate,
            price=price,
            budget=budget,
            arbiter=arbiter,
            assumed_steps=multistep_steps,
            on_progress=advance,
        )
    found.save(out)
    worth = None
    if reflector:
        from skr_learn.calibration.reflection import fit_reflector

        learned, worth = fit_reflector(known, open_embedder(embedder))
        learned.save(out)
    if plot is not None:
        found.curve.plot(plot)
    if json:
        row = {"out": str(out), **_row(found.curve)}
        more = {"arbiter": found.arbitration, "ladder": found.climbing, "reflector": worth}
        for name, each in more.items():
            if each is not None:
                row[name] = {"sentence": each.sentence, **to_plain(each)}
        print_json(row)
        return
    _print(found.curve)
    console.print(f"\n{escape(found.curve.sentence)}")
    for each in (found.arbitration, found.climbing):
        if each is not None:
            console.print(escape(each.sentence))
    if worth is not None:
        console.print(escape(worth.sentence))
        _print_use("The reflector", out, f"--reflector {shlex.quote(f'learned:{out}')}")
    _print_use("The router", out, f"--router {shlex.quote(str(out))}")


def _print_use(what: str, out: Path, option: str) -> None:
    text = (
        f"{what} is in {out}. With the model and store of the records:  skr ask QUESTION {option}"
    )
    console.print(escape(text), soft_wrap=True)


def split(names: str | None) -> list[str]:
    """The names of an option that takes several, with commas between."""
    return [name.strip() for name in (names or "").split(",") if name.strip()]


def _actions(names: str | None) -> list[Action] | None:
    wanted: Any = split(names)
    return wanted or None


def _row(curve: RoutingCurve) -> dict[str, Any]:
    return {
        "sentence": curve.sentence,
        **to_plain(curve),
        "random_line": list(curve.random_line),
        "saved": curve.saved,
        "chosen_rate": curve.chosen_rate,
    }


def _print(curve: RoutingCurve) -> None:
    from skr_learn.calibration.plotting import COST_LABELS

    unit = COST_LABELS[curve.unit]
    rows = zip(
        curve.costs,
        curve.accuracy,
        curve.low,
        curve.high,
        curve.random_line,
        curve.oracle,
        strict=True,
    )
    printed = [
        (f"{cost:.2f}", f"{accuracy:.3f}", f"{low:.3f} to {high:.3f}", f"{line:.3f}", f"{best:.3f}")
        for cost, accuracy, low, high, line, best in rows
    ]
    headings = (unit, "accuracy", "95 % interval", "at random", "oracle")
    # Prices that lead to the same decisions are one row.
    print_table(headings, list(dict.fromkeys(printed)))
    constants = " · ".join(
        f"{action} {accuracy.mean:.3f} at {curve.constant_costs[action]:.2f}"
        for action, accuracy in curve.constants.items()
    )
    console.print(
        f"\n{constants} · {curve.router} at its price {curve.chosen.mean:.3f} at "
        f"{curve.chosen_cost:.2f} {unit}"
    )
    _print_guidance(curve)


def _print_guidance(curve: RoutingCurve) -> None:
    """SKR Figure 4 and Table 2, for every router that was tried."""
    from skr_app.report import shown

    console.print()
    print_table(
        ["router", "sent the right way", "n", "right when known", "n"],
        [
            [
                name,
                shown(each.beneficial_guidance),
                str(each.beneficial_guidance.n),
                shown(each.accuracy_when_known),
                str(each.accuracy_when_known.n),
            ]
            for name, each in curve.guidance.items()
        ],
    )
