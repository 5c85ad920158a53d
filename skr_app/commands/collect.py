"""``skr collect``: what a model knows by itself, and what it needs references for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table

from skr_app.options import (
    DEFAULT_STORE,
    BaseUrlOption,
    EmbedderOption,
    JsonOption,
    ModelOption,
    Search,
    SearchOption,
    SkipBadOption,
    StoreOption,
    make_model,
    open_store,
)
from skr_app.output import console, escape, messages, print_json
from skr_core.errors import ModelError
from skr_core.questions import read_questions
from skr_core.self_knowledge import Judge, Progress, SelfKnowledge, acollect

if TYPE_CHECKING:
    from skr_core.types import Effect


class Metric(StrEnum):
    """How an answer is scored."""

    contains = "contains"
    exact_match = "exact_match"
    f1 = "f1"
    choice = "choice"


Questions = Annotated[
    Path, typer.Argument(help="JSONL with question and answers (also .gz).", show_default=False)
]
Out = Annotated[
    Path,
    typer.Option("--out", help="Records are appended here; the same command again goes on."),
]
MetricOption = Annotated[
    Metric, typer.Option("--metric", help="How answers are compared with the right ones.")
]
JudgeOption = Annotated[
    str | None,
    typer.Option("--judge", help="A model that says right or wrong, in place of --metric."),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Questions at most.")]
Concurrency = Annotated[
    int, typer.Option("--concurrency", min=1, help="Questions under way at a time.")
]


def collect(
    questions: Questions,
    out: Out = Path("self-knowledge.jsonl"),
    store: StoreOption = DEFAULT_STORE,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = "hashing",
    search: SearchOption = Search.hybrid,
    metric: MetricOption = Metric.contains,
    judge: JudgeOption = None,
    limit: Limit = None,
    concurrency: Concurrency = 8,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """Answer each question without and with references, and record which answer is right."""
    asked = read_questions(questions, limit=limit, skip_bad=skip_bad)
    language_model = make_model(model, base_url)
    last = Progress(0)

    def remember(progress: Progress) -> None:
        nonlocal last
        last = progress
        show(progress)

    with open_store(store, embedder, search) as opened, _bar() as show:
        records = asyncio.run(
            acollect(
                asked,
                model=language_model,
                retriever=opened,
                out=out,
                metric=Judge(make_model(judge, base_url)) if judge else metric.value,
                concurrency=concurrency,
                corpus=store if "://" in store else Path(store).name,
                on_progress=remember,
            )
        )
    if last.failed and not records:
        raise ModelError(f"every question failed; the last: {last.last_failure}")
    found = summary(records, last)
    if json:
        print_json({"out": str(out), **found})
    else:
        _print(found, last, out)


def summary(records: Sequence[SelfKnowledge], progress: Progress) -> dict[str, Any]:
    """The records as they go out: accuracies of the constant policies, and what was spent."""
    effects: dict[Effect, int] = {"helps": 0, "hurts": 0, "same": 0}
    for record in records:
        effects[record.effect] += 1
    n = max(1, len(records))
    return {
        "records": len(records),
        "reused": progress.reused,
        "failed": progress.failed,
        "unscored": progress.unscored,
        "effects": effects,
        "both_wrong": sum(record.both_wrong for record in records),
        "never_retrieve": sum(record.direct_score for record in records) / n,
        "always_retrieve": sum(record.augmented_score for record in records) / n,
        "best_of_both": sum(max(each.direct_score, each.augmented_score) for each in records) / n,
        "usage": progress.usage,
    }


def _print(found: dict[str, Any], progress: Progress, out: Path) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    effects = found["effects"]
    table.add_row("never retrieve", f"[bold]{found['never_retrieve']:.3f}[/bold]")
    table.add_row("always retrieve", f"[bold]{found['always_retrieve']:.3f}[/bold]")
    table.add_row("better of both", f"{found['best_of_both']:.3f}", "no router can do more")
    table.add_row("retrieval helps", str(effects["helps"]), "questions")
    table.add_row("retrieval hurts", str(effects["hurts"]), "questions")
    console.print(table)
    console.print(f"{found['records']} records in {escape(str(out))} ({_spent(progress)})")
    if progress.unscored:
        console.print(f"{progress.unscored} questions have no right answer to compare with")
    if progress.failed:
        messages.print(
            f"[yellow]{progress.failed} questions failed[/yellow]; run it again to ask them again. "
            f"The last: {escape(progress.last_failure)}"
        )


def _spent(progress: Progress) -> str:
    usage = progress.usage
    about = " (estimated)" if usage.estimated else ""
    return f"{usage.calls:,} calls, {usage.total_tokens:,} tokens{about}"


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    """A bar on standard error with the rate and what has been spent."""
    columns = (
        TextColumn("Collecting"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[spent]}"),
    )
    with Bars(*columns, console=messages) as bars:
        task = bars.add_task("", total=None, rate="", spent="")

        def show(progress: Progress) -> None:
            seconds = bars.tasks[task].elapsed or 0.0
            asked = progress.done - progress.reused
            bars.update(
                task,
                completed=progress.done,
                total=progress.total,
                rate=f"{asked / seconds:.1f}/s" if seconds > 0 else "",
                spent=_spent(progress),
            )

        yield show
