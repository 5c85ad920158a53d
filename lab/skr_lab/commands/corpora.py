"""``skr experiment corpora``: the same questions over several corpora (SKR Figure 6)."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from skr_app.measuring import (
    OutOption,
    make_judging,
)

from skr_app.models import MaxSpendOption, PricesOption, make_model
from skr_app.opening import digest_of, open_searched, read_demonstrations
from skr_app.options import (
    BaseUrl as BaseUrlOption,
)
from skr_app.options import (
    ConcurrencyOption,
    DatasetOption,
    DemonstrationsOption,
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
    Questions as QuestionsArgument,
)
from skr_app.options import (
    Search as SearchOption,
)
from skr_app.options import (
    SkipBad as SkipBadOption,
)
from skr_app.report import (
    Result,
    RunFolder,
    ask_and_judge,
    compare,
    row_of,
    show_result,
)
from skr_core.errors import InputError
from skr_core.flow import run
from skr_core.types import Reference
from skr_lab.baselines import BaselineInputs, make_baseline
from skr_lab.commands.certainty import questions_with_answers
from skr_lab.experiments.self_knowledge import DIRECT, RETRIEVED, with_passages
from skr_lab.prompts.baselines import BASELINES_VERSION
from skr_learn.evaluation.asking import System

NONE = "none"
MEASURES = (
    *("answer_accuracy", "exact_match", "token_f1", "title_recall"),
    *("calls", "prompt_tokens", "completion_tokens", "usd"),
)


def corpora(
    questions: QuestionsArgument,
    corpus: Annotated[
        list[Path], typer.Option("--corpus", help="JSONL with id, title, text; one option each.")
    ],
    demonstrations: DemonstrationsOption = None,
    dataset: DatasetOption = None,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    deadline: DeadlineOption = None,
    max_spend: MaxSpendOption = None,
    embedder: EmbedderOption = "hashing",
    search: SearchOption = SearchMode.dense,
    prices: PricesOption = None,
    out: OutOption = None,
    limit: LimitOption = None,
    concurrency: ConcurrencyOption = 8,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """Which corpus helps? One round over each, and none at all (SKR Figure 6)."""
    names = [_name(each) for each in corpus]
    if len(set(names)) < len(names) or NONE in names:
        raise InputError(f"the corpora need different names in the table: {', '.join(names)}")
    asked = questions_with_answers(questions, dataset, limit=limit, skip_bad=skip_bad)
    language_model = make_model(model, base_url)
    judging = make_judging(None, prices, language_model, base_url)
    shown = read_demonstrations(demonstrations)
    closed = BaselineInputs(language_model, demonstrations=shown)
    # Without examples Manual-CoT is zero-shot.
    systems = [System.of(NONE, make_baseline(DIRECT if shown else "zero_shot", closed))]
    held = {}
    with ExitStack() as stack:
        for name, path in zip(names, corpus, strict=True):
            opened, held[name] = open_searched(
                stack,
                store=None,
                corpus=path,
                questions=asked,
                embedder=embedder,
                search=search.value,
                skip_bad=skip_bad,
            )
            examples = run(with_passages(opened, shown))
            inputs = BaselineInputs(language_model, opened, demonstrations=examples)
            systems.append(System.of(name, make_baseline(RETRIEVED, inputs)))
        settings = {
            "questions": f"{questions.name} ({len(asked)})",
            "model": language_model.name,
            "embedder": embedder,
            "search": search.value,
            **held,
        }
        stamp = {
            "command": "corpora",
            **{key: each for key, each in settings.items() if key != "questions"},
            "demonstrations": digest_of([Reference.of(repr(each)) for each in shown]),
            "prompts": BASELINES_VERSION,
        }
        folder = stack.enter_context(RunFolder(out, stamp))
        _, judged = asyncio.run(ask_and_judge(systems, asked, folder, judging, concurrency))
        first, *others = names
        pairs = [*((each, NONE) for each in names), *((each, first) for each in others)]
        result = Result(
            "corpora",
            "which corpus helps? (SKR Figure 6)",
            settings,
            rows=tuple(row_of(name, each, MEASURES) for name, each in judged.items()),
            comparisons=tuple(
                compare(one, judged[one], other, judged[other], MEASURES) for one, other in pairs
            ),
            plotted=("answer_accuracy", "exact_match"),
            notes=(
                "Each row but the first answers every question after one round of retrieval; the "
                "paper does not say whether its figure shows that, or what its routers make of it.",
            ),
        )
        folder.write(result, judged)
    show_result(result, out, json=json, more={"n": len(asked)})


def _name(path: Path) -> str:
    """The file's name without its endings."""
    return path.name.partition(".")[0] or path.name
