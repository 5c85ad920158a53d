"""``skr collect``: what a model knows by itself, and what it needs references for."""

from __future__ import annotations

import asyncio
import atexit
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from skr_app.beforehand import ask_to_go_on, make_judge, make_scorer, tell_agreement
from skr_app.choosing import check_model
from skr_app.importing import import_retriever
from skr_app.models import Limits, Models, open_cache
from skr_app.opening import (
    add_all,
    check_alone,
    existing_store,
    load_questions,
    open_searched_by,
    open_settings,
    open_store,
    searched_references,
    store_embedder,
    with_default_store,
)
from skr_app.options import BatchOptions, Json, Questions, split
from skr_app.output import (
    console,
    counted,
    escape,
    figure,
    messages,
    print_json,
    print_table,
    progress,
)
from skr_app.spreading import spread
from skr_core.errors import InputError
from skr_core.files import KeyedLog
from skr_core.types import ACTIONS, Action
from skr_learn import RayWorkers, Record, Records, acollect
from skr_learn import collect as collect_records
from skr_learn.collecting import Progress, key_of
from skr_learn.metrics import bootstrap

if TYPE_CHECKING:
    from skr_core.ports import Retriever
    from skr_core.questions import Question
    from skr_core.types import Effect
    from skr_graphs import GraphAnswerer
    from skr_learn.scoring import Judge

ACTION_WORDS = {
    "direct": "from memory",
    "single": "one search",
    "loop": "as many searches as it takes",
}

ASKED: tuple[Action, ...] = ("direct", "loop")
"""The actions that cost something; the first round of the loop stands for the third."""


@spread
def collect(
    questions: Questions,
    options: BatchOptions,
    out: Annotated[
        Path,
        typer.Option("--out", help="File to add the records to. Run the command again to go on."),
    ] = Path("self-knowledge.jsonl"),
    ask: Annotated[
        str | None,
        typer.Option(
            "--ask",
            help="Ask the model too what it thinks it knows, with commas between: "
            "prompt:TEMPLATE, in_context, confidence:STRATEGY, certainty_level, uncertainty.",
        ),
    ] = None,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(
            "--engine",
            help="Work in this process (local), or in workers here or on a cluster (ray).",
        ),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            "--address",
            help="Address of a Ray cluster: HOST:PORT or ray://HOST:PORT. By default Ray is "
            "started here.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Workers of Ray. By default one for each processor."),
    ] = None,
    json: Json = False,
) -> None:
    """Record what your model answers from memory, after one search, and after several.

    Each answer is compared with the right one. Give the options that you will
    serve with: the records are worth something for that system alone.
    """
    check_model(options)
    # Where the contexts are the corpus, those of all questions are.
    read = load_questions(
        questions,
        options.dataset,
        skip_bad=options.skip_bad,
        question_field=options.question_field,
        answer_field=options.answer_field,
    )
    asked = read[: options.limit]
    if not any(question.is_scorable for question in asked):
        raise InputError(f"{questions}: no question has a right answer to compare with")
    if engine == "local" and (address, workers) != (None, None):
        given = "--workers" if address is None else "--address"
        raise InputError(f"{given} is for --engine ray")
    options = with_default_store(options, read)
    limits = Limits.of(
        options.deadline, options.max_spend, options.prices, options.requests_per_second
    )
    last, show = Progress(0), None

    def remember(progress: Progress) -> None:
        nonlocal last, show
        show = show or stack.enter_context(_bar())
        last = progress
        show(progress)

    with ExitStack() as stack:
        ray: RayWorkers | None = None
        if engine == "ray":
            ray = stack.enter_context(RayWorkers(address, count=workers))
            recipe, searched = _for_workers(stack, ray, options, read)
            app: Any = recipe.answerer
            answerer, models = recipe.opened(stack), recipe.models(stack)
        else:
            models = Models(options.base_url, limits, open_cache(stack, options.cache))
            answerer, searched = _here(stack, options, models, read)
            app = answerer
        scorer = make_scorer(options, models, read)
        names, left = split(ask), _not_on_record(asked, out)
        collecting: dict[str, Any] = {
            "out": out,
            "metric": scorer if ray is None or options.judge is None else recipe.judge,
            "ask": names,
            "concurrency": options.concurrency,
            "corpus": searched,
            "on_progress": remember,
        }

        async def begin() -> Records | None:
            await ask_to_go_on(
                options,
                answerer.settings,
                [(each, action) for action in ASKED for each in left],
                # What two actions answer alike is judged once, and each draft of the loop is.
                verdicts=(len(left), len(left) * (len(ACTIONS) + options.max_rounds)),
                statements=len(left) * len(names),
            )
            await tell_agreement(scorer, options.marked)
            return await acollect(asked, app, **collecting) if ray is None else None

        records = asyncio.run(begin())
        if records is None:
            records = collect_records(asked, app, workers=ray, **collecting)
    found = _summary(records, last)
    if json:
        print_json({"out": str(out), **found})
    else:
        _print_summary(found, last, out)


def _here(
    stack: ExitStack, options: BatchOptions, models: Models, questions: Sequence[Question]
) -> tuple[GraphAnswerer, str]:
    """The system in this process, and a name for its corpus."""
    from skr_graphs import GraphAnswerer

    retriever, searched = open_searched_by(stack, options, questions)
    return GraphAnswerer(open_settings(options, models, retriever)), searched


def _not_on_record(questions: Sequence[Question], out: Path) -> list[Question]:
    """The questions that are asked: those that can be scored and that no earlier run has asked."""
    with KeyedLog(out if out.exists() else None) as held:
        keyed = {key_of(each): each for each in questions if each.is_scorable}
        return [each for key, each in keyed.items() if key not in held.rows]


@dataclass(frozen=True)
class SystemRecipe:
    """The recipe by which a worker opens the system: a client, store or model cannot be sent.

    Attributes:
        options: The options of the system.
        store: The folder or the address of the store.
        folder: The folder of the command, which relative paths begin at.
    """

    options: BatchOptions
    store: str
    folder: str = field(default_factory=os.getcwd)

    def answerer(self) -> GraphAnswerer:
        """The system, opened for as long as this process lasts."""
        return self.opened(_opened())

    def opened(self, stack: ExitStack) -> GraphAnswerer:
        """The system, opened for as long as a stack is."""
        from skr_graphs import GraphAnswerer

        models = self.models(stack)
        searched: Retriever
        if self.options.retriever is not None:
            searched = import_retriever(self.options.retriever)
        else:
            embedder = store_embedder(self.options.embedder)
            opened = open_store(self.store, embedder, self.options.search)
            searched = stack.enter_context(opened)
        return GraphAnswerer(open_settings(self.options, models, searched))

    def judge(self) -> Judge:
        """The judge within the same limits, through the same cache."""
        return make_judge(self.options, self.models(_opened()))

    def models(self, stack: ExitStack) -> Models:
        """The models, whose cache is open for as long as a stack is."""
        with suppress(OSError):  # another machine may not have the folder
            os.chdir(self.folder)
        kept = open_cache(stack, self.options.cache)
        options = self.options
        limits = Limits.of(
            options.deadline, options.max_spend, options.prices, options.requests_per_second
        )
        return Models(options.base_url, limits, kept)


@cache
def _opened() -> ExitStack:
    """The stack of what stays open until the process ends."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack


def _for_workers(
    stack: ExitStack,
    ray: RayWorkers,
    options: BatchOptions,
    questions: Sequence[Question],
) -> tuple[SystemRecipe, str]:
    """The recipe by which workers open the system, and a name for its corpus.

    Each worker has an equal share of what the command may spend, and of its rate.

    Raises:
        InputError: Workers of a cluster cannot reach the store, or there is nothing to search.
        StoreError: There is no such store.
    """
    store, searched = _store_for_workers(stack, ray, options, questions)
    share = replace(
        options,
        max_spend=options.max_spend and options.max_spend / ray.count,
        requests_per_second=options.requests_per_second and options.requests_per_second / ray.count,
    )
    return SystemRecipe(share, store), searched


def _store_for_workers(
    stack: ExitStack, ray: RayWorkers, options: BatchOptions, questions: Sequence[Question]
) -> tuple[str, str]:
    """Say which store the workers open, and make one of a corpus.

    Returns:
        The folder or the address of the store, and a name for the corpus.
    """
    from skr_store import Store

    store, embedder = options.store, store_embedder(options.embedder)
    if options.retriever is not None:
        check_alone(options)
        return "", options.retriever
    if options.corpus is not None and store is not None:
        raise InputError("give either --corpus or --store")
    if store is not None and "://" in store:
        return store, store
    if not ray.is_local:
        raise InputError(
            "the workers of a cluster share a store by its address: run  skr store serve FOLDER "
            "--host HOST  where they reach it, and give --store http://HOST:8000"
        )
    if store is None:
        references, name = searched_references(options.corpus, questions, skip_bad=options.skip_bad)
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="skr-store-")))
        with (
            Store.open(folder, embedder=embedder) as opened,
            progress("Ingesting") as advance,
        ):
            add_all(opened, references, advance)
    else:
        folder = existing_store(store)
        name = folder.name
    return str(folder.absolute()), name


def _summary(records: Sequence[Record], progress: Progress) -> dict[str, Any]:
    """The summary of records: accuracies of the constant policies, and what was spent."""
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
        "repeated": progress.repeated,
        "usage": progress.usage,
    }


def _print_summary(found: dict[str, Any], progress: Progress, out: Path) -> None:
    """Print the summary for people, and what to do next."""
    rows = [
        [
            f"{action} ({ACTION_WORDS[action]})",
            figure(found["accuracy"][action], *found["accuracy_ci"][action]),
            f"{found['retrievals'][action]:.2f}",
            f"{found['prompt_tokens'][action]:,.0f}",
        ]
        for action in ACTIONS
    ]
    best = figure(found["best_of_all"], *found["best_of_all_ci"])
    rows.append(["the best one for each question", best, "", ""])
    print_table(["how it answers", "accuracy", "searches", "prompt tokens"], rows)
    effects = found["effects"]
    console.print(
        f"Searching helps on {counted(effects['helps'], 'question')} and hurts on "
        f"{effects['hurts']}. On {found['all_wrong']} no answer is right."
    )
    console.print(f"{counted(found['n'], 'record')} in {escape(str(out))} ({_spent(progress)})")
    console.print(
        f"Would searching for some of them be enough?  "
        f"skr calibrate {escape(shlex.quote(str(out)))}",
        soft_wrap=True,
    )
    if progress.unscored:
        console.print(
            f"{counted(progress.unscored, 'question')} left out, because no right answer is given"
        )
    if progress.repeated:
        console.print(
            f"{counted(progress.repeated, 'question')} left out, which the file holds twice"
        )
    for count, what in ((progress.failed, "failed"), (progress.missed, "without a reply to --ask")):
        if count:
            messages.print(
                f"[yellow]{counted(count, 'question')} {what}.[/yellow] Run the command again to "
                f"ask them again. The last failure: {escape(progress.last_failure)}"
            )


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
