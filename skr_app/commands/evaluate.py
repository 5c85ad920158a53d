"""``skr evaluate``: systems beside each other, on questions with known answers."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skr_app.options import (
    BaseUrlOption,
    EmbedderOption,
    JsonOption,
    MaxRoundsOption,
    ModelOption,
    Search,
    SearchOption,
    SkipBadOption,
    make_embedder,
    make_model,
    open_store,
)
from skr_app.output import progress
from skr_app.runs import (
    ConcurrencyOption,
    DatasetOption,
    EntailmentOption,
    KeyFactsOption,
    LimitOption,
    OutOption,
    PricesOption,
    QuestionsArgument,
    ask_and_judge,
    collect_references,
    digest_of,
    load_questions,
    make_judging,
    show_result,
)
from skr_app.systems import SYSTEMS, Parts, make_systems, router_stamp
from skr_core.errors import InputError
from skr_core.evaluation.report.tables import Result, compare, row_of
from skr_core.evaluation.running.asking import Answers
from skr_core.evaluation.running.folder import RunFolder
from skr_core.evaluation.running.measuring import Judged, difference, mean
from skr_core.prompts.templates import PROMPT_VERSION
from skr_core.questions import Question, corpus_of

if TYPE_CHECKING:
    from skr_core.types import Reference

Corpus = Annotated[
    Path | None,
    typer.Option(
        "--corpus",
        help="JSONL with id, title, text, ingested for this run alone. Without it and --store, "
        "the contexts in the questions file are the corpus.",
    ),
]
Store = Annotated[
    str | None, typer.Option("--store", envvar="SKR_STORE", help="A store that is there already.")
]
Systems = Annotated[
    str,
    typer.Option(
        "--systems",
        help=f"Names with commas between them: {', '.join(SYSTEMS)}, or a prompt baseline such as "
        "zero_shot, few_shot, manual_cot, cot_ir, ircot, self_ask.",
    ),
]
Router = Annotated[
    Path | None, typer.Option("--router", help="Folder of a saved router, for `adaptive`.")
]
Demonstrations = Annotated[
    Path | None,
    typer.Option("--demonstrations", help="JSONL with question and answer, for few-shot."),
]
Pool = Annotated[
    Path | None,
    typer.Option("--pool", help="JSONL with question: auto_cot chooses its examples from it."),
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
    questions: QuestionsArgument,
    corpus: Corpus = None,
    store: Store = None,
    dataset: DatasetOption = None,
    systems: Systems = "single_shot,loop",
    router: Router = None,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = "hashing",
    search: SearchOption = Search.hybrid,
    max_rounds: MaxRoundsOption = 3,
    key_facts: KeyFactsOption = None,
    entailment: EntailmentOption = None,
    prices: PricesOption = None,
    demonstrations: Demonstrations = None,
    pool: Pool = None,
    out: OutOption = None,
    limit: LimitOption = None,
    concurrency: ConcurrencyOption = 8,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """Ask every system every question and compare them: does the loop pay, does the router?

    All use the same retriever, the same model and at most ten references. `never` and `always`
    differ from `adaptive` by the router alone; `always` is the loop.
    """
    if corpus is not None and store is not None:
        raise InputError("give either --corpus or --store")
    read = load_questions(
        questions,
        dataset,
        key_facts,
        # Where the contexts are the corpus, those of all questions are.
        limit=None if corpus is None and store is None else limit,
        skip_bad=skip_bad,
    )
    asked = read[:limit]
    language_model = make_model(model, base_url)
    judging = make_judging(entailment, prices, language_model, base_url)
    with ExitStack() as stack:
        if store is not None:
            opened = stack.enter_context(open_store(store, embedder, search))
            searched = store if "://" in store else Path(store).name
        else:
            from skr_core.store.chroma_store import ChromaStore

            references = _references(corpus, read, skip_bad=skip_bad)
            opened = ChromaStore.ephemeral(embedder=make_embedder(embedder), search=search.value)
            stack.enter_context(opened)
            with progress("Ingesting") as advance:
                for start in range(0, len(references), 1000):
                    opened.add(references[start : start + 1000])
                    advance(min(start + 1000, len(references)), len(references))
            name = "contexts" if corpus is None else corpus.name
            searched = f"{name} ({len(references):,} passages, {digest_of(references)})"
        parts = Parts(
            language_model,
            opened,
            make_embedder(embedder),
            max_rounds,
            router,
            demonstrations,
            pool,
        )
        chosen = make_systems(systems, parts)
        settings = {
            "model": language_model.name,
            "retriever": opened.name,
            "corpus": searched,
            "max_rounds": str(max_rounds),
        }
        stamp = {
            "command": "evaluate",
            **settings,
            "prompts": PROMPT_VERSION,
            **router_stamp(router),
        }
        with RunFolder(out, stamp) as folder:
            answers, judged = asyncio.run(
                ask_and_judge(chosen, asked, folder, judging, concurrency)
            )
            result = result_of(judged, {"questions": questions.name, **settings})
            folder.write(result, judged)
    more: dict[str, Any] = {
        "questions": str(questions),
        "model": language_model.name,
        "retriever": settings["retriever"],
        **{name: summary(answers[name], judged[name]) for name in judged},
    }
    if {"single_shot", "loop"} <= judged.keys():
        more["gain"] = {
            name: difference(judged["loop"], judged["single_shot"], measure)
            for name, measure in COLUMNS.items()
        }
    labels = {measure: name for name, measure in COLUMNS.items()}
    show_result(result, out, json=json, more=more, labels=labels)


def result_of(judged: dict[str, list[Judged]], settings: dict[str, str]) -> Result:
    """The table: every system, and each beside the first."""
    first, *others = judged
    return Result(
        "evaluate",
        "which system pays?",
        settings,
        rows=tuple(row_of(name, each) for name, each in judged.items()),
        comparisons=tuple(compare(name, judged[name], first, judged[first]) for name in others),
        plotted=("answer_accuracy", "title_recall", "prompt_tokens"),
    )


def summary(answers: Answers, judged: list[Judged]) -> dict[str, object]:
    """A system as it goes out: means over questions, and the seconds all of them took."""
    reasons = [each.answer.stop_reason for each in judged if each.answer is not None]
    return {
        **{name: mean(judged, measure).mean for name, measure in COLUMNS.items()},
        "seconds": answers.seconds,
        "n": len(judged) - answers.n_failed,
        "n_failed": answers.n_failed,
        "stop_reasons": {reason: reasons.count(reason) for reason in sorted(set(reasons))},
    }


def _references(
    corpus: Path | None, questions: list[Question], *, skip_bad: bool
) -> list[Reference]:
    if corpus is not None:
        return collect_references(corpus, skip_bad=skip_bad)
    references = corpus_of(questions)
    if not references:
        raise InputError("the questions hold no contexts to search: give --corpus or --store")
    return references
