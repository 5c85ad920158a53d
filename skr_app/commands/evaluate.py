"""``skr evaluate``: single shot beside the loop, on questions with known answers."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.table import Table

from skr_app.options import (
    BaseUrlOption,
    EmbedderOption,
    JsonOption,
    MaxRoundsOption,
    ModelOption,
    Search,
    SearchOption,
    SkipBadOption,
    make_model,
    open_store,
)
from skr_app.output import console, print_json, progress
from skr_core.budget import Budget
from skr_core.errors import InputError
from skr_core.evaluation import Report, evaluate as ask_all, read_questions
from skr_core.flow import arun

Questions = Annotated[
    Path,
    typer.Argument(help="JSONL with question, answers and supporting_titles (also .gz)."),
]
Corpus = Annotated[
    Path | None,
    typer.Option("--corpus", help="JSONL with id, title, text, ingested for this run alone."),
]
Store = Annotated[
    str | None, typer.Option("--store", envvar="SKR_STORE", help="A store that is there already.")
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Questions at most.")]
Concurrency = Annotated[
    int, typer.Option("--concurrency", min=1, help="Questions under way at a time.")
]

COLUMNS = {
    "title_recall_at_10": "title_recall",
    "all_titles_at_10": "all_titles",
    "answer_accuracy": "answer_accuracy",
    "citation_precision": "citation_precision",
    "citation_recall": "citation_recall",
    "rounds": "rounds",
    "calls": "calls",
    "prompt_tokens": "prompt_tokens",
}
"""Names in the output, and the measures behind them."""


def evaluate(
    questions: Questions,
    corpus: Corpus = None,
    store: Store = None,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = "hashing",
    search: SearchOption = Search.hybrid,
    max_rounds: MaxRoundsOption = 3,
    limit: Limit = None,
    concurrency: Concurrency = 8,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """Ask every question twice, single shot and with the loop, and compare the two.

    Both use the same retriever, the same model and at most ten references.
    """
    if (corpus is None) == (store is None):
        raise InputError("give either --corpus or --store")
    asked = read_questions(questions, limit=limit, skip_bad=skip_bad)
    language_model = make_model(model, base_url)
    with ExitStack() as stack:
        if store is None:
            store = stack.enter_context(TemporaryDirectory(prefix="skr-evaluate-"))
        opened = stack.enter_context(
            open_store(store, embedder, search, must_exist=corpus is None)
        )
        if corpus is not None:
            from skr_core.ingestion import ingest

            with progress("Ingesting") as advance:
                ingest([corpus], opened, skip_bad=skip_bad, on_progress=advance)
        from langchain_skr.graph import create_skr_graph
        from skr_graphs import GraphAnswerer

        reports: dict[str, Report] = {}
        for name, rounds in (("single_shot", 1), ("loop", max_rounds)):
            graph = create_skr_graph(language_model, opened, budget=Budget(max_rounds=rounds))
            with progress(f"Asking ({name.replace('_', ' ')})") as advance:
                reports[name] = asyncio.run(
                    arun(
                        ask_all(
                            GraphAnswerer(graph),
                            asked,
                            concurrency=concurrency,
                            on_progress=advance,
                        )
                    )
                )
    single_shot, loop = reports["single_shot"], reports["loop"]
    gains = {name: loop.gain_over(single_shot, measure) for name, measure in COLUMNS.items()}
    if json:
        print_json(
            {
                "questions": str(questions),
                "model": language_model.name,
                "retriever": opened.name,
                **{name: summary(report) for name, report in reports.items()},
                "gain": gains,
            }
        )
        return
    table = Table(title=f"{len(asked)} questions, {language_model.name}, {opened.name}")
    for heading in ("", "single shot", "loop", "gain", "95 % interval"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, measure in COLUMNS.items():
        gain = gains[name]
        table.add_row(
            name,
            f"{single_shot.mean(measure).mean:.3f}",
            f"{loop.mean(measure).mean:.3f}",
            f"{gain.mean:+.3f}",
            f"{gain.low:+.3f} to {gain.high:+.3f}",
        )
    table.add_row("seconds", f"{single_shot.seconds:.1f}", f"{loop.seconds:.1f}", "", "")
    console.print(table)


def summary(report: Report) -> dict[str, object]:
    """A report as it goes out: means over questions, and the seconds all of them took."""
    return {
        **{name: report.mean(measure).mean for name, measure in COLUMNS.items()},
        "seconds": report.seconds,
        "n": len(report.scores),
        "stop_reasons": report.stop_reasons,
    }
