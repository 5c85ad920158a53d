"""``skr experiment adaptive``: static against adaptive retrieval (W2R Table 5)."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer
from skr_app.measuring import (
    OutOption,
    make_judging,
)

from skr_app.models import MaxSpendOption, PricesOption, make_model
from skr_app.opening import open_searched
from skr_app.options import (
    BaseUrl as BaseUrlOption,
)
from skr_app.options import (
    ConcurrencyOption,
    CorpusOption,
    DatasetOption,
    GivenStoreOption,
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
from skr_app.report import RunFolder, ask_and_judge, show_result
from skr_core.errors import InputError
from skr_core.prompts.routing import ROUTING_VERSION
from skr_core.prompts.templates import PROMPT_VERSION
from skr_lab.commands.certainty import StrategiesOption, questions_with_answers
from skr_lab.experiments.adaptive import (
    SOURCES,
    Documents,
    adaptive_result,
    gold_documents,
    named_by,
)
from skr_lab.experiments.certainty import read_strategies, strategy_system

if TYPE_CHECKING:
    from skr_store.hybrid_search import SearchMode

TopOption = Annotated[
    str, typer.Option("--top", help="How many documents an answer is given: 1, or 1,5 for both.")
]
MOST = 10


def adaptive(
    questions: QuestionsArgument,
    corpus: CorpusOption = None,
    store: GivenStoreOption = None,
    sources: Annotated[
        str, typer.Option("--sources", help="With commas between: sparse (BM25), dense, gold.")
    ] = "sparse,dense,gold",
    top: TopOption = "1",
    strategies: StrategiesOption = "vanilla,punish,explain,punish_explain",
    dataset: DatasetOption = None,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    deadline: DeadlineOption = None,
    max_spend: MaxSpendOption = None,
    prices: PricesOption = None,
    embedder: EmbedderOption = "hashing",
    out: OutOption = None,
    limit: LimitOption = None,
    concurrency: ConcurrencyOption = 8,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """What is retrieval worth where the model is uncertain? Static, adaptive (W2R Table 5)."""
    read = questions_with_answers(questions, dataset, limit=limit, skip_bad=skip_bad)
    kinds, tops, ways = _sources(sources), _tops(top), read_strategies(strategies)
    asked = [each for each in read if gold_documents(each)] if "gold" in kinds else read
    if not asked:
        raise InputError(
            f"{questions}: no question has a gold document; leave gold out of --sources"
        )
    language_model = make_model(model, base_url)
    settings = {
        "questions": f"{questions.name} ({len(asked)} of {len(read)})",
        "model": language_model.name,
    }
    with ExitStack() as stack:
        documents = [Documents("gold", each) for each in tops] if "gold" in kinds else []
        if searched := [each for each in kinds if each != "gold"]:
            opened, corpus_name = open_searched(
                stack,
                store=store,
                corpus=corpus,
                questions=read,
                embedder=embedder,
                search="dense",
                skip_bad=skip_bad,
            )
            found = [
                Documents(kind, each, opened.searched_by(_SEARCHES[kind], k=MOST))
                for kind in searched
                for each in tops
            ]
            documents = [*found, *documents]
            settings |= {"embedder": embedder, "corpus": corpus_name}
        stamp = {"command": "adaptive", **settings}
        stamp |= {"prompts": f"{PROMPT_VERSION} {ROUTING_VERSION}"}
        folder = stack.enter_context(RunFolder(out, stamp))
        systems = [strategy_system(language_model, each) for each in ways]
        systems += [each.system(language_model) for each in documents]
        judging = make_judging(None, None, language_model, base_url)
        _, judged = asyncio.run(
            ask_and_judge(systems, asked, folder, judging, concurrency, may_fail=True)
        )
        augmented = {each.name: judged[each.name] for each in documents}
        named = {name: named_by(each) for name, each in augmented.items()}
        result, values = adaptive_result(
            {each: judged[each] for each in ways},
            augmented,
            settings,
            _notes(len(read) - len(asked), named),
        )
        folder.write(result, values)
    means = {
        row.name: {name: cell.mean for name, cell in row.cells.items() if cell.n}
        for row in result.rows
    }
    more = {"n": len(asked), "groups": means, "documents_with_answer": named}
    show_result(result, out, json=json, more=more)


_SEARCHES: dict[str, SearchMode] = {"sparse": "bm25", "dense": "dense"}


def _sources(names: str) -> list[str]:
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if unknown := [name for name in wanted if name not in SOURCES] or (not wanted and [names]):
        raise InputError(f"--sources {unknown[0]}: give some of {', '.join(SOURCES)}")
    return wanted


def _tops(top: str) -> list[int]:
    wanted = [each.strip() for each in top.split(",")]
    if not all(each.isascii() and each.isdigit() and 1 <= int(each) <= MOST for each in wanted):
        raise InputError(f"--top {top}: give numbers from 1 to {MOST}, with commas between")
    return list(dict.fromkeys(map(int, wanted)))


def _notes(left_out: int, named: dict[str, float]) -> list[str]:
    shares = ", ".join(f"{name} {share:.3f}" for name, share in named.items())
    notes = [f"Questions whose documents name an answer (Table 4): {shares}."]
    return [*notes, f"{left_out} questions lack a gold document."] if left_out else notes
