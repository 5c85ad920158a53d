"""``skr replay``: what routers would have served of recorded answers that they have not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from skr_app.opening import open_embedder, read_records
from skr_app.options import AimOptions, Json, Report, split
from skr_app.output import console, counted, figure, print_json, print_table, progress
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
from skr_learn.metrics import TOLD
from skr_learn.routers.registry import titles

if TYPE_CHECKING:
    from skr_learn import Records
    from skr_learn.metrics import Interval
    from skr_learn.replaying import GroupResult

COLUMNS = {
    "accuracy": "accuracy",
    "cost": "cost",
    "calls": "calls",
    "retrieval_rate": "searched for",
    "over_best": "over the best fixed way",
    "over_always": "over always searching",
    "corruption": "right answers lost",
}
"""The columns of the table, by their names in the JSON."""
DIFFERENCES = ("over_best", "over_always")


@spread
def replay(
    options: AimOptions,
    train: Annotated[
        Path | None, typer.Option("--train", help="Records to learn from (also .gz).")
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            "--test", help="Records to judge by. Without them five parts of --train take turns."
        ),
    ] = None,
    saved: Annotated[
        Path | None,
        typer.Option(
            "--saved", help="Judge the file that `skr calibrate` made, as it is, by --test."
        ),
    ] = None,
    router: Annotated[
        str,
        typer.Option(
            "--router",
            help=f"Routers to judge, with commas between: {titles()}, always, never, loop, and "
            "recommended, which is what `skr calibrate` would choose.",
        ),
    ] = "always,never,recommended",
    cost: Annotated[
        Literal["retrievals", "calls", "tokens"] | None,
        typer.Option(
            "--cost",
            help="What counts as cost. By default tokens where they were recorded, else searches.",
        ),
    ] = None,
    report: Report = None,
    json: Json = False,
) -> None:
    """Compare routers on recorded answers that they have not learnt from. No model is asked."""
    from skr_core import load_router
    from skr_learn import replay as judge
    from skr_learn.replaying import replay_saved

    where = options.where or ()
    check_report(report)

    def read(path: Path) -> Records:
        return read_records(path, where, skip_bad=options.skip_bad)

    fitting = None if train is None else read(train)
    judging = None if test is None else read(test)
    if saved is not None:
        if fitting is not None or judging is None:
            raise InputError("--saved judges a router as it is: give --test RECORDS, no --train")
        found = replay_saved(
            load_router(saved),
            judging,
            name=saved.name,
            by=options.by,
            cost=cost,
        )
    elif fitting is None:
        raise InputError("give --train RECORDS, or --saved ROUTER with --test RECORDS")
    else:
        names = split(router)
        if not names:
            raise InputError(f"--router names none: give some of always, never, {titles()}")
        with progress("Replaying") as advance:
            found = judge(
                fitting,
                judging,
                routers=names,
                embedder=None if options.embedder is None else open_embedder(options.embedder),
                cost=cost,
                on_progress=advance,
                **options.aim,
            )
    path = test or train or Path()
    fitted = saved or (train if test else None)
    about = judged_on(
        next(each.stamp for each in judging or fitting or ()),
        records=f"{path.name}, {found.overall.n:,} questions",
        judged=f"by what was learnt from {fitted.name}" if fitted else CROSS_FITTED,
    )
    printed = {**to_plain(found), "about": about}
    if report is not None:
        again = records_again(report, path, where, skip_bad=options.skip_bad)
        write_report(report, section_of_printed(path.name, printed), again)
    if json:
        print_json(printed)
        return
    for name, group in {"all": found.overall, **found.groups}.items():
        _print(name, group)
    console.print(f"Cost is counted in {found.unit}. In brackets stand 95 % intervals.")
    if found.left_out:
        console.print(
            f"Left out: {counted(found.left_out, 'record')} that the router has learnt from."
        )
    if found.assumed_steps is not None:
        console.print(
            f"Where a loop's searches were not recorded, {found.assumed_steps:g} are assumed."
        )


def _print(name: str, group: GroupResult) -> None:
    constants = ", ".join(
        f"always {action} {each.mean:.3f}" for action, each in group.constants.items()
    )
    print_table(
        ["router", *COLUMNS.values()],
        [
            [router, *(_figure(getattr(result, column), column) for column in COLUMNS)]
            for router, result in group.routers.items()
        ],
        title=f"{name}: {counted(group.n, 'record')}; accuracy of {constants}",
    )
    if told := {each: of.reliability for each, of in group.routers.items() if of.reliability}:
        shares = [f"surest {share:.0%} right" for share in TOLD]
        print_table(
            ["router", "chances off by", "Brier score", *shares],
            [
                [
                    router,
                    f"{each.error:.3f}",
                    f"{each.brier:.3f}",
                    *(_figure(each.surest_of(share).accuracy, "accuracy") for share in TOLD),
                ]
                for router, each in told.items()
            ],
        )
    console.print()


def _figure(cell: Interval, column: str) -> str:
    return figure(cell.mean, cell.low, cell.high, "+.3f" if column in DIFFERENCES else ".3f")
