"""``skr experiment retrieval-quality``: what a worse retriever costs (SKR Tables 6 and 7)."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from skr_app.measuring import (
    EntailmentOption,
    KeyFactsOption,
    OutOption,
    make_judging,
)

from skr_app.models import MaxSpendOption, PricesOption, make_model
from skr_app.opening import (
    add_all,
    collect_references,
    digest_of,
    load_questions,
    open_embedder,
    open_router,
    router_stamp,
)
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
    Questions as QuestionsArgument,
)
from skr_app.options import (
    SkipBad as SkipBadOption,
)
from skr_app.output import progress
from skr_app.report import (
    Result,
    RunFolder,
    ask_and_judge,
    compare,
    row_of,
    show_result,
)
from skr_core.budget import Budget
from skr_core.errors import InputError
from skr_core.prompts.templates import PROMPT_VERSION
from skr_core.questions import corpus_of
from skr_core.settings import Settings
from skr_lab.experiments import RankSlice, half_of
from skr_lab.experiments.retrieval_quality import RANKS
from skr_learn.evaluation.asking import System

SEARCHES = ("dense", "bm25", "hybrid")


def retrieval_quality(
    questions: QuestionsArgument,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="JSONL; else the questions' contexts.")
    ] = None,
    dataset: DatasetOption = None,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    deadline: DeadlineOption = None,
    max_spend: MaxSpendOption = None,
    embedder: EmbedderOption = "hashing",
    router: Annotated[
        Path | None, typer.Option("--router", help="A saved router: each row also adaptive.")
    ] = None,
    key_facts: KeyFactsOption = None,
    entailment: EntailmentOption = None,
    prices: PricesOption = None,
    out: OutOption = None,
    limit: LimitOption = None,
    concurrency: ConcurrencyOption = 8,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """What does a worse retriever cost? Ranks 1-3, 8-10, half the corpus (SKR Tables 6, 7)."""
    from skr_graphs import GraphAnswerer
    from skr_store.chroma_store import ChromaStore

    asked = load_questions(questions, dataset, key_facts, limit=limit, skip_bad=skip_bad)
    references = (
        corpus_of(asked) if corpus is None else collect_references(corpus, skip_bad=skip_bad)
    )
    if not references:
        raise InputError("the questions hold no contexts to search: give --corpus")
    language_model, chosen = make_model(model, base_url), open_embedder(embedder)
    judging = make_judging(entailment, prices, language_model, base_url)
    systems: list[System] = []
    with ExitStack() as stack:
        for search in SEARCHES:
            for part, held in (("", references), ("half corpus, ", half_of(references))):
                store = ChromaStore.ephemeral(embedder=chosen, search=search)  # type: ignore[arg-type]
                stack.enter_context(store)
                with progress(f"Ingesting ({search}{', half' if part else ''})") as advance:
                    add_all(store, held, advance)
                for ranks, (first, last) in RANKS.items():
                    if part and first > 1:
                        continue
                    retriever = RankSlice(store, first, last)
                    loaded = open_router(router, language_model) if router else None
                    settings_of = Settings.of(
                        language_model, retriever, router=loaded, budget=Budget(max_rounds=1)
                    )
                    answerer, name = GraphAnswerer(settings_of), f"{search}, {part}{ranks}"
                    systems.append(System.of(name, answerer, action="single"))
                    if router:
                        systems.append(System.of(f"{name}, adaptive", answerer))
        corpus_name = "contexts" if corpus is None else corpus.name
        settings = {
            "model": language_model.name,
            "embedder": chosen.name,
            "corpus": f"{corpus_name} ({len(references):,} passages, {digest_of(references)})",
        }
        stamp = {"command": "retrieval-quality", **settings, "prompts": PROMPT_VERSION}
        stamp |= router_stamp(router)
        with RunFolder(out, stamp) as folder:
            _, judged = asyncio.run(ask_and_judge(systems, asked, folder, judging, concurrency))
            best = "hybrid, rank 1-3"
            result = Result(
                "retrieval-quality",
                "what does a worse retriever cost? (SKR Tables 6 and 7)",
                {"questions": questions.name, **settings},
                rows=tuple(row_of(name, each) for name, each in judged.items()),
                comparisons=tuple(
                    compare(name, each, best, judged[best])
                    for name, each in judged.items()
                    if name != best
                ),
                plotted=("answer_accuracy", "title_recall"),
            )
            folder.write(result, judged)
    show_result(result, out, json=json, more={"n": len(asked)})
