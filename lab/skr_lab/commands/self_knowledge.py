"""``skr experiment self-knowledge`` and ``retrieval-methods``: SKR Table 1 and Table 5."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from skr_app.measuring import (
    EntailmentOption,
    OutOption,
    make_judging,
)

from skr_app.extractive import LexicalEntailment
from skr_app.models import (
    MaxSpendOption,
    PricesOption,
    make_model,
    open_cache,
)
from skr_app.opening import digest_of, open_embedder, open_searched, read_demonstrations, through
from skr_app.options import (
    BaseUrl as BaseUrlOption,
)
from skr_app.options import (
    CacheOption,
    ConcurrencyOption,
    CorpusOption,
    Dataset,
    DatasetOption,
    DemonstrationsOption,
    GivenStoreOption,
    LimitOption,
    SearchMode,
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
    Search as SearchOption,
)
from skr_app.options import (
    SkipBad as SkipBadOption,
)
from skr_app.output import progress
from skr_app.report import RunFolder, show_result
from skr_core.errors import InputError
from skr_core.prompts.routing import ROUTING_VERSION
from skr_core.types import Reference
from skr_lab.baselines import BaselineInputs
from skr_lab.commands.certainty import (
    NEITHER_NOR_BOTH,
    OptionalQuestionsArgument,
    RecordedOption,
    questions_with_answers,
)
from skr_lab.commands.systems_run import SystemsRun
from skr_lab.experiments.recorded_self_knowledge import recorded_table
from skr_lab.experiments.self_knowledge import SystemsTable, training_apart
from skr_lab.prompts.baselines import BASELINES_VERSION

if TYPE_CHECKING:
    from skr_core.questions import Question
    from skr_lab.experiments.self_knowledge import Metric


class MetricName(StrEnum):
    """What answers are compared by (equation 4)."""

    accuracy = "accuracy"
    exact_match = "exact_match"
    f1 = "f1"


_MEASURES: dict[MetricName, Metric] = {
    MetricName.accuracy: "answer_accuracy",
    MetricName.exact_match: "exact_match",
    MetricName.f1: "token_f1",
}
TrainingOption = Annotated[
    Path | None,
    typer.Option(
        "--training",
        help="Questions that routers learn from and Auto-CoT chooses its examples from, in the "
        "form of QUESTIONS; both answers are asked for each.",
    ),
]
TypeOption = Annotated[
    str | None,
    typer.Option(
        "--type",
        help="Ask the questions of this type and train on the others, as SKR does with "
        "`Implicit` ones of TempQuestions.",
    ),
]
MetricOption = Annotated[
    MetricName, typer.Option("--metric", help="What the two answers to a question compare by.")
]
EncoderOption = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        help="Fine-tuned for skr_cls, such as bert-base-uncased (name or folder); a logistic head "
        "on the embedder's vectors without.",
    ),
]


def command_of(table: SystemsTable) -> Callable[..., None]:
    """The command of one of `TABLES`."""

    def command(
        questions: OptionalQuestionsArgument = None,
        recorded: RecordedOption = None,
        training: TrainingOption = None,
        kind: TypeOption = None,
        demonstrations: DemonstrationsOption = None,
        corpus: CorpusOption = None,
        store: GivenStoreOption = None,
        dataset: DatasetOption = None,
        model: ModelOption = "extractive",
        base_url: BaseUrlOption = None,
        deadline: DeadlineOption = None,
        max_spend: MaxSpendOption = None,
        embedder: EmbedderOption = "hashing",
        search: SearchOption = SearchMode.dense,
        encoder: EncoderOption = None,
        metric: MetricOption = MetricName.accuracy,
        entailment: EntailmentOption = None,
        prices: PricesOption = None,
        out: OutOption = None,
        limit: LimitOption = None,
        concurrency: ConcurrencyOption = 8,
        cache: CacheOption = None,
        skip_bad: SkipBadOption = False,
        json: JsonOption = False,
    ) -> None:
        if recorded is not None:
            if questions is not None:
                raise InputError(NEITHER_NOR_BOTH)
            _recorded(table, recorded, embedder, out, skip_bad=skip_bad, json=json)
            return
        shown = read_demonstrations(demonstrations)
        if not shown:
            raise InputError(
                "the systems of this table share their worked examples: give --demonstrations, "
                'with reasoning that ends in "So the answer is ..."'
            )
        asked, learnt, read = _split(questions, training, kind, dataset, limit, skip_bad=skip_bad)
        with ExitStack() as stack:
            kept = open_cache(stack, cache)
            language_model = through(kept, make_model(model, base_url))
            judging = make_judging(entailment, prices, language_model, base_url, kept)
            opened, searched = open_searched(
                stack,
                store=store,
                corpus=corpus,
                questions=read,
                embedder=embedder,
                search=search.value,
                skip_bad=skip_bad,
            )
            settings = {
                "questions": f"{Path(str(questions)).name} ({len(asked)})",
                "training": f"{len(learnt)} ({_digest(learnt)})",
                "model": language_model.name,
                "retriever": opened.name,
                "corpus": searched,
                "demonstrations": f"{len(shown)} ({_digest(shown)})",
                "metric": metric.value,
            }
            stamp = {"command": table.name, **settings, "embedder": embedder}
            stamp |= {"encoder": encoder or "", "entailment": entailment or "lexical"}
            stamp |= {"prompts": f"{BASELINES_VERSION} {ROUTING_VERSION}"}
            del stamp["questions"]
            folder = stack.enter_context(RunFolder(out, stamp))
            inputs = BaselineInputs(
                language_model,
                opened,
                open_embedder(embedder),
                shown,
                [each.asked for each in learnt],
                entailment=judging.entailment or LexicalEntailment(),
            )
            run = SystemsRun(table, inputs, _MEASURES[metric], folder, judging, concurrency)
            result, judged = asyncio.run(run.result(asked, learnt, encoder, settings))
            folder.write(result, judged)
        show_result(result, out, json=json, more={"n": len(asked), "training": len(learnt)})

    command.__doc__ = f"{table.title[0].upper()}{table.title[1:]}"
    return command


def _split(
    path: Path | None,
    training: Path | None,
    kind: str | None,
    dataset: Dataset | None,
    limit: int | None,
    *,
    skip_bad: bool,
) -> tuple[list[Question], list[Question], list[Question]]:
    """What is asked, what is learnt from, and everything that was read."""
    read = questions_with_answers(path, dataset, limit=None, skip_bad=skip_bad)
    asked, others = read, []
    if kind is not None:
        asked = [each for each in read if kind in each.types]
        others = [each for each in read if kind not in each.types]
        if not asked:
            types = sorted({name for each in read for name in each.types})
            raise InputError(f"--type {kind}: the questions are of {', '.join(types) or 'no type'}")
    if training is not None:
        others = questions_with_answers(training, dataset, limit=None, skip_bad=skip_bad)
    asked = asked[:limit]
    return asked, training_apart(others, asked), [*read, *(others if training else [])]


def _digest(parts: Sequence[object]) -> str:
    """A few digits that tell one list from another."""
    return digest_of([Reference.of(repr(each)) for each in parts])


def _recorded(
    table: SystemsTable,
    path: Path,
    embedder: str,
    out: Path | None,
    *,
    skip_bad: bool,
    json: bool,
) -> None:
    from skr_learn.self_knowledge import read_self_knowledge

    if table.name != "self-knowledge":
        raise InputError(f"no recording holds the systems of {table.name}: give QUESTIONS")
    records = read_self_knowledge(path, skip_bad=skip_bad)
    settings = {"recorded": f"{path.name} ({len(records)})", "embedder": embedder}
    with RunFolder(out, {"command": table.name, **settings}) as folder:
        with progress("Fitting the routers"):
            result, judged = recorded_table(records, open_embedder(embedder), settings)
        folder.write(result, judged)
    show_result(result, out, json=json, more={"n": len(records)})
