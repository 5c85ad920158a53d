"""``skr evaluate``: systems beside each other, on questions with known answers."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

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
from skr_app.measuring import (
    EntailmentOption,
    OutOption,
    ask_and_judge,
    load_questions,
    make_judging,
    show_result,
)
from skr_app.opening import open_cache
from skr_app.options import (
    BaseUrlOption,
    CacheOption,
    ConcurrencyOption,
    CorpusOption,
    DatasetOption,
    DecomposeOption,
    DemonstrationsOption,
    EmbedderOption,
    ForceOption,
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
from skr_app.reflecting import ReflectorOption
from skr_app.report.findings import PAIRS
from skr_app.report.folder import RunFolder
from skr_app.report.tables import Result, compare, row_of, shown
from skr_app.systems import SYSTEMS, make_systems, router_stamp
from skr_learn.evaluation.asking import Answers
from skr_learn.evaluation.measuring import Judged, difference, mean, measures_of

Systems = Annotated[
    str,
    typer.Option(
        "--systems",
        help=f"Names with commas between them: {', '.join(SYSTEMS)}.",
    ),
]
Router = Annotated[
    Path | None, typer.Option("--router", help="Folder of a saved router, for `adaptive`.")
]

COLUMNS = {
    "title_recall_at_10": "title_recall",
    "all_titles_at_10": "all_titles",
    "answer_accuracy": "answer_accuracy",
    "citation_precision": "citation_precision",
    "citation_recall": "citation_recall",
    "removed_markers": "removed_markers",
    "rounds": "rounds",
    "calls": "calls",
    "prompt_tokens": "prompt_tokens",
}
"""Names in the output, and the measures behind them."""


def evaluate(
    questions: QuestionsArgument,
    corpus: CorpusOption = None,
    store: GivenStoreOption = None,
    dataset: DatasetOption = None,
    systems: Systems = "single_shot,loop",
    router: Router = None,
    force: ForceOption = False,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    deadline: DeadlineOption = None,
    max_spend: MaxSpendOption = None,
    embedder: EmbedderOption = "hashing",
    search: SearchOption = SearchMode.hybrid,
    max_rounds: MaxRoundsOption = 3,
    when_insufficient: WhenInsufficientOption = WhenInsufficient.best_draft,
    reflector: ReflectorOption = "refusal",
    likelihoods: LikelihoodsOption = False,
    decompose: DecomposeOption = False,
    templates: TemplatesOption = None,
    demonstrations: DemonstrationsOption = None,
    entailment: EntailmentOption = None,
    prices: PricesOption = None,
    out: OutOption = None,
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
    """Ask every system every question and compare them: does the loop pay, does the router?

    All use the same retriever, model, words and demonstrations, and at most
    ten references. `never` and `always` differ from `adaptive` by the router
    alone; `always` is the loop.
    """
    # Where the contexts are the corpus, those of all questions are.
    read = load_questions(questions, dataset, limit=None, skip_bad=skip_bad)
    asked = read[:limit]
    with ExitStack() as stack:
        place = open_engine(stack, engine, address, workers)
        described = Described(
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
            router=router,
            force=force,
            limits=shared_limits(place),
        )
        opened, searched, described = open_for(
            stack,
            place,
            described,
            store=store,
            corpus=corpus,
            questions=read,
            skip_bad=skip_bad,
        )
        system = described.open(stack, opened)
        judging = make_judging(entailment, prices, system.model, base_url, open_cache(stack, cache))
        chosen = make_systems(systems, system, has_router=router is not None)
        settings = {
            "model": system.model.name,
            "retriever": opened.name,
            "corpus": searched,
            "max_rounds": str(max_rounds),
        }
        stamp = {
            "command": "evaluate",
            **settings,
            "system": system.version,
            **router_stamp(router),
            **({"likelihoods": system.likelihoods.name} if system.likelihoods else {}),
        }
        with RunFolder(out, stamp) as folder:
            answers, judged = asyncio.run(
                ask_and_judge(
                    chosen,
                    asked,
                    folder,
                    judging,
                    concurrency,
                    engine=place,
                    make=partial(described.systems, systems),
                )
            )
            result = result_of(judged, {"questions": questions.name, **settings})
            folder.write(result, judged)
    more: dict[str, Any] = {
        "questions": str(questions),
        "model": system.model.name,
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
    """The table: every system, each beside the first, and the loop and the router's gain."""
    first, *others = judged
    pairs = [(name, first) for name in others]
    pairs += [each for each in PAIRS if {*each} <= judged.keys() and each not in pairs]
    return Result(
        "evaluate",
        "which system pays?",
        settings,
        rows=tuple(row_of(name, each) for name, each in judged.items()),
        comparisons=tuple(
            compare(name, judged[name], against, judged[against]) for name, against in pairs
        ),
        plotted=("answer_accuracy", "title_recall", "prompt_tokens"),
        notes=tuple(filter(None, [whether_the_loop_pays(judged)])),
    )


def whether_the_loop_pays(judged: dict[str, list[Judged]]) -> str:
    """Whether going on until the references suffice makes better answers than one search does.

    RaLLM Table 4: it does for strong models, and costs weak ones answers. By key-facts where the
    questions have them.
    """
    if not {"single_shot", "loop"} <= judged.keys():
        return ""
    known = measures_of(judged["loop"])
    measure = "key_fact_f1" if "key_fact_f1" in known else "answer_accuracy"
    gain = difference(judged["loop"], judged["single_shot"], measure)
    if not gain.n:
        return ""
    figures = f"{measure} {shown(gain, signed=True)} over a single shot, n {gain.n}"
    if gain.low > 0:
        return f"The loop pays with this model: {figures}."
    if gain.high < 0:
        return f"The loop does not pay with this model, answer with --max-rounds 1: {figures}."
    return f"Whether the loop pays with this model these questions do not tell: {figures}."


def summary(answers: Answers, judged: list[Judged]) -> dict[str, object]:
    """A system as it goes out: means over questions, and the seconds all of them took."""
    answered = [each.answer for each in judged if each.answer is not None]
    reasons = [answer.stop_reason for answer in answered]
    return {
        **{name: mean(judged, measure).mean for name, measure in COLUMNS.items()},
        "cached_calls": sum(answer.total_usage.cached_calls for answer in answered),
        "seconds": answers.seconds,
        "n": len(judged) - answers.n_failed,
        "n_failed": answers.n_failed,
        "stop_reasons": {reason: reasons.count(reason) for reason in sorted(set(reasons))},
    }
