"""``skr experiment training-size``: how many records a router needs (SKR Figure 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from skr_app.measuring import OutOption

from skr_app.opening import open_embedder
from skr_app.options import ConcurrencyOption
from skr_app.options import Json as JsonOption
from skr_app.options import SkipBad as SkipBadOption
from skr_app.report import RunFolder, show_result
from skr_core.flow import arun
from skr_lab.experiments import training_size

if TYPE_CHECKING:
    from skr_core.ports import Embedder, Router
    from skr_learn.self_knowledge.records import SelfKnowledge


class Kind(StrEnum):
    """Routers that are fitted on records."""

    knn = "knn"
    benefit = "benefit"
    classifier = "classifier"


def training(
    records: Annotated[Path, typer.Argument(help="Records of `skr collect` (also .gz).")],
    kind: Annotated[Kind, typer.Option("--kind", help="Of the router.")] = Kind.knn,
    embedder: Annotated[
        str | None, typer.Option("--embedder", help="For questions; the router's own by default.")
    ] = None,
    out: OutOption = None,
    concurrency: ConcurrencyOption = 8,
    skip_bad: SkipBadOption = False,
    mixed_stamps: Annotated[
        bool, typer.Option("--mixed-stamps", help="Allow records of several models or metrics.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """How many records does a router need? 10 to 100 % of one half, replayed on the other."""
    from skr_learn.self_knowledge import read_self_knowledge

    read = read_self_knowledge(records, skip_bad=skip_bad, mixed_stamps=mixed_stamps)
    settings = {"records": f"{records.name} ({len(read)})", "router": kind.value}
    fit = _fit(kind, None if embedder is None else open_embedder(embedder))
    with RunFolder(out, {"command": "training-size", **settings}) as folder:
        result, judged = asyncio.run(
            arun(training_size(read, fit, settings, concurrency=concurrency))
        )
        folder.write(result, judged)
    show_result(result, out, json=json, more={"n": len(read)})


def _fit(kind: Kind, embedder: Embedder | None) -> Callable[[Sequence[SelfKnowledge]], Router]:
    if kind is Kind.classifier:
        from skr_learn.routers.classifier import ClassifierRouter

        return lambda part: ClassifierRouter.fit(part, embedder=embedder)
    from skr_learn.routers.knn import KNNRouter

    if kind is Kind.benefit:
        return lambda part: KNNRouter.fit(part, embedder=embedder, rule="benefit")
    return lambda part: KNNRouter.fit(part, embedder=embedder)
