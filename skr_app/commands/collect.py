"""``skr collect``: what a model knows by itself, and what it needs references for."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from skr_core.engines import LocalEngine

from skr_app.collected import bar, print_summary, summary
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
from skr_app.output import print_json
from skr_app.reflecting import ReflectorOption
from skr_core.errors import InputError, ModelError
from skr_learn.self_knowledge import Progress, acollect
from skr_learn.self_knowledge.scoring import TextMetric


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
    from skr_graphs import GraphAnswerer
    from skr_learn.routers.registry import asking_routers

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
        show = stack.enter_context(bar())
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
        print_summary(found, last, out)
