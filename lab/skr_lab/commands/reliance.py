"""``skr experiment reliance``: does the model take its answer from the document (W2R §5)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from skr_app.measuring import (
    EntailmentOption,
    KeyFactsOption,
    OutOption,
    make_judging,
)

from skr_app.models import MaxSpendOption, PricesOption, make_model
from skr_app.opening import load_questions, open_embedder, router_stamp
from skr_app.options import (
    BaseUrl as BaseUrlOption,
)
from skr_app.options import (
    ConcurrencyOption,
    DatasetOption,
    LimitOption,
)
from skr_app.options import Deadline as DeadlineOption
from skr_app.options import (
    Embedder as EmbedderOption,
)
from skr_app.options import (
    Json as JsonOption,
)
from skr_app.options import (
    Model as ModelOption,
)
from skr_app.options import (
    SkipBad as SkipBadOption,
)
from skr_app.output import progress
from skr_app.report import (
    RunFolder,
    ask_and_judge,
    show_result,
)
from skr_core.errors import InputError
from skr_core.flow import arun
from skr_core.prompts.routing import ROUTING_VERSION
from skr_core.prompts.templates import PROMPT_VERSION
from skr_lab.commands.certainty import (
    NEITHER_NOR_BOTH,
    OptionalQuestionsArgument,
    RecordedOption,
)
from skr_lab.commands.conditions import command_of
from skr_lab.experiments import EXPERIMENTS
from skr_lab.experiments.certainty_levels import (
    Levelled,
    level_result,
    level_systems,
    levelled,
)
from skr_lab.experiments.conditions import reliance_rows

if TYPE_CHECKING:
    from skr_core.ports import AnswerArbiter, LanguageModel


class By(StrEnum):
    """What the questions are grouped by."""

    certainty = "certainty"


def reliance(
    questions: OptionalQuestionsArgument = None,
    by: Annotated[
        By | None,
        typer.Option("--by", help="A row for each level (Figure 1); recorded answers always have."),
    ] = None,
    recorded: RecordedOption = None,
    gamma: Annotated[
        float,
        typer.Option("--gamma", help="Of the utilisation ratio: what the overlap must grow by."),
    ] = 0.0,
    arbiter: Annotated[
        Path | None,
        typer.Option(
            "--arbiter",
            help="Folder of an arbiter: the rates after it too. On recorded answers one is "
            "cross-fitted.",
        ),
    ] = None,
    dataset: DatasetOption = None,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    deadline: DeadlineOption = None,
    max_spend: MaxSpendOption = None,
    embedder: EmbedderOption = "hashing",
    key_facts: KeyFactsOption = None,
    entailment: EntailmentOption = None,
    prices: PricesOption = None,
    out: OutOption = None,
    limit: LimitOption = None,
    concurrency: ConcurrencyOption = 8,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """Does the model take its answer from the document? By its certainty too (W2R §5, Figure 1)."""
    if recorded is not None and questions is None:
        _of_records(recorded, gamma, embedder, out=out, limit=limit, skip_bad=skip_bad, json=json)
    elif questions is None or recorded is not None:
        raise InputError(NEITHER_NOR_BOTH)
    elif by is None:
        if arbiter is not None:
            raise InputError("--arbiter goes with --by certainty")
        rows = partial(reliance_rows, gamma=gamma)
        command_of(replace(EXPERIMENTS["reliance"], rows=rows))(
            questions,
            dataset=dataset,
            model=model,
            base_url=base_url,
            key_facts=key_facts,
            entailment=entailment,
            prices=prices,
            out=out,
            limit=limit,
            concurrency=concurrency,
            skip_bad=skip_bad,
            json=json,
        )
    else:
        if key_facts is not None or entailment is not None or prices is not None:
            raise InputError("--key-facts, --entailment and --prices go without --by certainty")
        language_model = make_model(model, base_url)
        chosen = None if arbiter is None else _open_arbiter(arbiter, language_model)
        experiment = EXPERIMENTS["reliance"]
        read = load_questions(questions, dataset, None, limit=limit, skip_bad=skip_bad)
        usable = [each for each in read if experiment.usable(each)]
        if not usable:
            raise InputError(f"{questions}: no question has {experiment.needs}")
        settings = {
            "questions": f"{questions.name} ({len(usable)} of {len(read)})",
            "model": language_model.name,
        }
        stamp = {"command": "reliance by certainty", "model": language_model.name}
        stamp |= {"prompts": f"{PROMPT_VERSION} {ROUTING_VERSION}", **router_stamp(arbiter)}
        left_out = len(read) - len(usable)
        notes = [f"{left_out} questions lack {experiment.needs}."] if left_out else []
        with RunFolder(out, stamp) as folder:
            judging = make_judging(None, None, language_model, base_url)
            systems = level_systems(language_model)
            _, judged = asyncio.run(
                ask_and_judge(systems, usable, folder, judging, concurrency, may_fail=True)
            )
            found = asyncio.run(
                arun(levelled(judged, gamma=gamma, arbiter=chosen, concurrency=concurrency))
            )
            _show(found, {**settings, **_gamma(gamma)}, notes, folder, out, json=json)


def _of_records(
    recorded: Path,
    gamma: float,
    embedder: str,
    *,
    out: Path | None,
    limit: int | None,
    skip_bad: bool,
    json: bool,
) -> None:
    from skr_lab.experiments.recorded_reliance import FEWEST, recorded_reliance
    from skr_learn.self_knowledge import read_self_knowledge

    records = read_self_knowledge(recorded, skip_bad=skip_bad, mixed_stamps=True)[:limit]
    fits = len(records) >= FEWEST
    with progress("Fitting an arbiter") if fits else nullcontext() as advance:
        found, notes = recorded_reliance(
            records, gamma=gamma, embedder=open_embedder(embedder), on_progress=advance
        )
    settings = {"recorded": recorded.name, "embedder": embedder}
    with RunFolder(out, {"command": "reliance by certainty", **settings}) as folder:
        _show(found, {**settings, **_gamma(gamma)}, notes, folder, out, json=json)


def _show(
    found: Sequence[Levelled],
    settings: Mapping[str, str],
    notes: Sequence[str],
    folder: RunFolder,
    out: Path | None,
    *,
    json: bool,
) -> None:
    result, groups = level_result(found, settings, notes)
    folder.write(result, groups)
    means = {
        row.name: {
            "n": max(cell.n for cell in row.cells.values()),
            **{name: cell.mean for name, cell in row.cells.items() if cell.n},
        }
        for row in result.rows
    }
    show_result(result, out, json=json, more={"n": len(found), "groups": means})


def _gamma(gamma: float) -> dict[str, str]:
    return {"gamma": f"gamma {gamma:g}"} if gamma else {}


def _open_arbiter(folder: Path, model: LanguageModel) -> AnswerArbiter:
    from skr_learn.arbiters import Arbiter

    return Arbiter.load(folder, model=model)
