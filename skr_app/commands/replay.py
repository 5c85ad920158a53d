"""``skr replay``: what routers and arbiters would have done on recorded answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from skr_app.commands.calibrate import split
from skr_app.opening import open_embedder
from skr_app.options import Embedder, Json, SkipBad, SystemOptions
from skr_app.output import console, print_json, print_table, progress
from skr_learn import read_self_knowledge
from skr_learn.routers.registry import titles

COLUMNS = {
    "accuracy": "accuracy",
    "retrieval_rate": "retrieved",
    "retrievals": "retrievals a question",
    "gain": "gain over random",
    "gain_over_always": "gain over always",
    "regret": "regret",
    "area_gain": "area gain",
    "saved_at_parity": "saved at parity",
    "beneficial_guidance": "sent the right way",
    "accuracy_when_known": "right when known",
}
"""The columns of the table, by their names in the JSON."""
DIFFERENCES = ("gain", "gain_over_always", "regret", "area_gain")


def replay(
    train: Annotated[Path, typer.Option("--train", help="Records to fit on (also .gz).")],
    test: Annotated[
        Path | None,
        typer.Option("--test", help="Records to judge on; cross-fitted on --train without."),
    ] = None,
    router: Annotated[
        str,
        typer.Option(
            "--router",
            help=f"With commas between: always, never, recommended, {titles()}, arbiter, ladder, "
            "margins, signal:FIELD; of three actions also multistep.",
        ),
    ] = "always,never,recommended",
    signal: Annotated[
        list[str] | None,
        typer.Option("--signal", help="A field as a score, such as extra.giveup; may be repeated."),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", help="Field that makes groups: extra.dataset.")
    ] = None,
    actions: Annotated[
        int, typer.Option("--actions", min=2, max=3, help="3 adds multi-step retrieval.")
    ] = 2,
    budget: Annotated[
        float,
        typer.Option("--budget", min=0, help="Retrievals a question, of three actions."),
    ] = 1.85,
    multistep_steps: Annotated[
        float,
        typer.Option(
            "--multistep-steps",
            min=1,
            help="Retrievals of a multi-step answer where not recorded.",
        ),
    ] = 3.35,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="Times the folds are drawn anew.")
    ] = 1,
    embedder: Embedder = SystemOptions.embedder,
    skip_bad: SkipBad = False,
    json: Json = False,
) -> None:
    """Fit routers and arbiters on recorded answers and judge them on others."""
    from skr_learn import replay as judge
    from skr_learn.calibration.replaying import THREE, TWO

    fitting = read_self_knowledge(train, skip_bad=skip_bad, mixed_stamps=True)
    judging = None
    if test is not None and test.resolve() != train.resolve():
        judging = read_self_knowledge(test, skip_bad=skip_bad, mixed_stamps=True)
    names = split(router)
    names += [f"signal:{field}" for field in signal or ()]
    with progress("Replaying") as advance:
        found: dict[str, Any] = judge(
            fitting,
            judging,
            routers=names,
            by=by,
            embedder=open_embedder(embedder),
            seeds=seeds,
            actions=TWO if actions == 2 else THREE,
            budget=None if actions == 2 else budget,
            assumed_steps=multistep_steps,
            on_progress=advance,
        ).row()
    if json:
        print_json(found)
        return
    if "assumed_multistep_steps" in found:
        steps = found["assumed_multistep_steps"]
        console.print(f"Steps are not recorded: {steps} are assumed for each multi-step answer.")
    _print("all", found["overall"])
    for name, group in found["groups"].items():
        _print(name, group)


def _print(name: str, group: dict[str, Any]) -> None:
    about = ", ".join(
        f"{each} {group[each]:.3f}"
        for each in ("never", "always", "multistep", "oracle")
        if each in group
    )
    results = group["routers"]
    shown = [column for column in COLUMNS if any(column in each for each in results.values())]
    print_table(
        ["router", *(COLUMNS[column] for column in shown)],
        [
            [router, *(_figure(result, column, group["n"]) for column in shown)]
            for router, result in results.items()
        ],
        title=f"{name}: {group['n']:,} questions, {about}; in brackets 95 % intervals",
    )
    console.print()


def _figure(result: Mapping[str, Any], column: str, n: int) -> str:
    value = result.get(column)
    if value is None:
        return "–"
    form = "+.3f" if column in DIFFERENCES else ".3f"
    text = f"{value:{form}}"
    if (interval := result.get(f"{column}_ci")) is not None:
        low, high = interval
        text += f" ({low:{form}} to {high:{form}})"
    of = result.get(f"{column}_n", n)
    return text if of == n else f"{text}, n {of}"
