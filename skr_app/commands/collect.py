"""``skr collect``: what a model knows by itself, and what it needs references for."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from skr_app.described import Described
from skr_app.engines import (
    AddressOption,
    EngineName,
    EngineOption,
    WorkersOption,
    open_engine,
    open_for,
)
from skr_app.limits import (
    DeadlineOption,
    MaxSpendOption,
    PricesOption,
    RateOption,
    shared_limits,
)
from skr_app.measuring import load_questions
from skr_app.options import (
    DEFAULT_STORE,
    BaseUrlOption,
    CacheOption,
    ConcurrencyOption,
    CorpusOption,
    DatasetOption,
    DecomposeOption,
    DemonstrationsOption,
    EmbedderOption,
    GivenStoreOption,
    JsonOption,
    LikelihoodsOption,
    LimitOption,
    MaxRoundsOption,
    ModelOption,
    QuestionsArgument,
    SearchMode,
    SearchOption,
    SkipBadOption,
    TemplatesOption,
    WhenInsufficient,
    WhenInsufficientOption,
)
from skr_app.output import console, escape, messages, print_json, print_table
from skr_app.reflecting import ReflectorOption
from skr_core.engines import LocalEngine
from skr_core.errors import InputError, ModelError
from skr_core.metrics.statistics import bootstrap
from skr_core.self_knowledge import Progress, SelfKnowledge, acollect
from skr_core.self_knowledge.scoring import TextMetric
from skr_core.types import ACTIONS

if TYPE_CHECKING:
    from skr_core.types import Effect


class Metric(StrEnum):
    """How an answer is scored."""

    accuracy = "accuracy"
    contains = "contains"
    exact_match = "exact_match"
    f1 = "f1"
    choice = "choice"


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
AskOption = Annotated[
    str | None,
    typer.Option(
        "--ask",
        help="Routers that ask the model itself, with commas between, each asked once a question: "
        "prompt:TEMPLATE, in_context, confidence:STRATEGY, certainty_level, uncertainty.",
    ),
]
ACTION_WORDS = {
    "direct": "without retrieval",
    "single": "one round",
    "loop": "until it suffices",
}


def collect(
    questions: QuestionsArgument,
    out: Out = Path("self-knowledge.jsonl"),
    store: GivenStoreOption = None,
    corpus: CorpusOption = None,
    dataset: DatasetOption = None,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    deadline: DeadlineOption = None,
    max_spend: MaxSpendOption = None,
    prices: PricesOption = None,
    embedder: EmbedderOption = "hashing",
    search: SearchOption = SearchMode.hybrid,
    max_rounds: MaxRoundsOption = 3,
    when_insufficient: WhenInsufficientOption = WhenInsufficient.best_draft,
    reflector: ReflectorOption = "refusal",
    likelihoods: LikelihoodsOption = False,
    decompose: DecomposeOption = False,
    templates: TemplatesOption = None,
    demonstrations: DemonstrationsOption = None,
    metric: MetricOption = Metric.accuracy,
    judge: JudgeOption = None,
    ask: AskOption = None,
    limit: LimitOption = None,
    concurrency: ConcurrencyOption = 8,
    engine: EngineOption = EngineName.local,
    address: AddressOption = None,
    workers: WorkersOption = None,
    requests_per_second: RateOption = None,
    cache: CacheOption = None,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """Answer each question without retrieval, in one round and in the loop; record the scores.

    The answers are those of the system that is served with the same options.
    Without --store and --corpus the questions' own contexts are searched, or
    where they have none the store that skr ingest makes.
    """
    from skr_core.routers.registry import asking_routers
    from skr_graphs import GraphAnswerer

    # Where the contexts are the corpus, those of all questions are.
    read = load_questions(questions, dataset, None, limit=None, skip_bad=skip_bad)
    asked = read[:limit]
    if not any(answer.strip() for question in asked for answer in question.gold):
        raise InputError(f"{questions}: no question has a right answer to compare with")
    if store is None and corpus is None and not any(each.contexts for each in read):
        store = DEFAULT_STORE
    last = Progress(0)

    def remember(progress: Progress) -> None:
        nonlocal last
        last = progress
        show(progress)

    with ExitStack() as stack:
        place = open_engine(stack, engine, address, workers)
        system = Described(
            model=model,
            base_url=base_url,
            embedder=embedder,
            search=search.value,
            reflector=reflector,
            likelihoods=likelihoods,
            max_rounds=max_rounds,
            when_insufficient=when_insufficient,
            decompose=decompose,
            templates=templates,
            demonstrations=demonstrations,
            cache=cache,
            limits=shared_limits(place),
        )
        opened, searched, system = open_for(
            stack,
            place,
            system,
            store=store,
            corpus=corpus,
            questions=read,
            skip_bad=skip_bad,
        )
        is_local = isinstance(place, LocalEngine)
        show = stack.enter_context(_bar())
        records = asyncio.run(
            acollect(
                asked,
                GraphAnswerer(system.open(stack, opened)) if is_local else system.answerer,
                out=out,
                metric=partial(system.judge, judge) if judge else TextMetric(metric.value),
                ask=partial(asking_routers, ask.split(",")) if ask else None,
                concurrency=concurrency,
                corpus=searched,
                on_progress=remember,
                engine=place,
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
    right = {
        action: bootstrap([record.outcomes[action].score for record in records])
        for action in ACTIONS
    }
    best = bootstrap(
        [max(outcome.score for outcome in record.outcomes.values()) for record in records]
    )
    return {
        "n": len(records),
        "accuracy": {action: each.mean for action, each in right.items()},
        "accuracy_ci": {action: [each.low, each.high] for action, each in right.items()},
        "best_of_all": best.mean,
        "best_of_all_ci": [best.low, best.high],
        "retrievals": {
            action: sum(record.outcomes[action].retrievals or 0.0 for record in records) / n
            for action in ACTIONS
        },
        "prompt_tokens": {
            action: sum(
                usage.prompt_tokens
                for record in records
                if (usage := record.outcomes[action].usage)
            )
            / n
            for action in ACTIONS
        },
        "effects": effects,
        "all_wrong": sum(record.all_wrong for record in records),
        "statements": sorted({name for record in records for name in record.statements}),
        "reused": progress.reused,
        "failed": progress.failed,
        "missed": progress.missed,
        "unscored": progress.unscored,
        "usage": progress.usage,
    }


def _print(found: dict[str, Any], progress: Progress, out: Path) -> None:
    rows = [
        [
            f"{action} ({ACTION_WORDS[action]})",
            _accuracy(found["accuracy"][action], found["accuracy_ci"][action]),
            f"{found['retrievals'][action]:.2f}",
            f"{found['prompt_tokens'][action]:,.0f}",
        ]
        for action in ACTIONS
    ]
    best = _accuracy(found["best_of_all"], found["best_of_all_ci"])
    rows.append(["the best of them for each question", best, "", ""])
    print_table(["action", "accuracy", "retrievals", "prompt tokens"], rows)
    effects = found["effects"]
    console.print(
        f"Retrieval helps {effects['helps']} questions and hurts {effects['hurts']}; no answer is "
        f"right on {found['all_wrong']}."
    )
    console.print(f"{found['n']} records in {escape(str(out))} ({_spent(progress)})")
    console.print(
        f"Does routing pay on them?  skr calibrate {escape(shlex.quote(str(out)))}", soft_wrap=True
    )
    if progress.unscored:
        console.print(f"{progress.unscored} questions have no right answer to compare with")
    for count, what in ((progress.failed, "failed"), (progress.missed, "lack a statement")):
        if count:
            messages.print(
                f"[yellow]{count} questions {what}[/yellow]; run it again to ask them again. "
                f"The last: {escape(progress.last_failure)}"
            )


def _accuracy(mean: float, interval: Sequence[float]) -> str:
    low, high = interval
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"


def _spent(progress: Progress) -> str:
    usage = progress.usage
    about = " (estimated)" if usage.estimated else ""
    cached = f", {usage.cached_calls:,} replies from the cache" if usage.cached_calls else ""
    return f"{usage.calls:,} calls, {usage.total_tokens:,} tokens{about}{cached}"


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
