"""``skr evaluate``: systems beside each other, on questions with known answers."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from skr_app.models import Limits, Models, open_cache
from skr_app.opening import load_questions, open_searched, open_settings, router_stamp
from skr_app.options import BatchOptions, Force, Json, Questions, spread
from skr_app.report import (
    PAIRS,
    Result,
    RunFolder,
    ask_and_judge,
    compare,
    read_section,
    report_page,
    row_of,
    show_result,
    shown,
)
from skr_core.budget import price_of, read_prices
from skr_core.errors import InputError, MissingDependency
from skr_core.files import replace_file
from skr_core.settings import Settings
from skr_core.types import Action
from skr_learn.evaluate import Answers, Judged, System, difference, mean

ACTIONS: dict[str, Action | None] = {
    "single_shot": "single",
    "loop": "loop",
    "never": "direct",
    "always": "loop",
    "adaptive": None,
}
"""The systems of the graph, each with the action it always takes; the router decides for None."""

SYSTEMS = tuple(ACTIONS)

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


@spread
def evaluate(
    questions: Questions,
    options: BatchOptions,
    systems: Annotated[
        str,
        typer.Option("--systems", help=f"Names with commas between them: {', '.join(SYSTEMS)}."),
    ] = "single_shot,loop",
    router: Annotated[
        Path | None,
        typer.Option(
            "--router", help="Folder of a saved router or name of a registered one, for `adaptive`."
        ),
    ] = None,
    force: Force = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of the run: the same command again goes on in it."),
    ] = None,
    json: Json = False,
) -> None:
    """Ask every system every question and compare them: does the loop pay, does the router?

    All use the same retriever, model, words and demonstrations, and at most
    ten references. `never` and `always` differ from `adaptive` by the router
    alone; `always` is the loop.
    """
    # Where the contexts are the corpus, those of all questions are.
    read = load_questions(questions, options.dataset, skip_bad=options.skip_bad)
    asked = read[: options.limit]
    limits = Limits.of(
        options.deadline, options.max_spend, options.prices, options.requests_per_second
    )
    with ExitStack() as stack:
        store, searched = open_searched(
            stack,
            store=options.store,
            corpus=options.corpus,
            questions=read,
            embedder=options.embedder,
            search=options.search,
            skip_bad=options.skip_bad,
        )
        models = Models(options.base_url, limits, open_cache(stack, options.cache))
        system = open_settings(options, models, store, router=router, force=force)
        prices = None if options.prices is None else read_prices(options.prices)
        price = None if prices is None else price_of(prices, system.model.name)
        chosen = make_systems(systems, system, has_router=router is not None)
        settings = {
            "model": system.model.name,
            "retriever": store.name,
            "corpus": searched,
            "max_rounds": str(options.max_rounds),
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
                    price=price,
                    concurrency=options.concurrency,
                    limits=limits,
                )
            )
            result = result_of(judged, {"questions": questions.name, **settings})
            folder.write(result, judged)
        if out is not None:
            _write_page(out)
    more: dict[str, Any] = {
        "questions": str(questions),
        "model": system.model.name,
        "retriever": settings["retriever"],
        **{name: _summary(answers[name], judged[name]) for name in judged},
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

    RaLLM Table 4: it does for strong models, and costs weak ones answers.
    """
    if not {"single_shot", "loop"} <= judged.keys():
        return ""
    gain = difference(judged["loop"], judged["single_shot"], "answer_accuracy")
    if not gain.n:
        return ""
    figures = f"answer_accuracy {shown(gain, signed=True)} over a single shot, n {gain.n}"
    if gain.low > 0:
        return f"The loop pays with this model: {figures}."
    if gain.high < 0:
        return f"The loop does not pay with this model, answer with --max-rounds 1: {figures}."
    return f"Whether the loop pays with this model these questions do not tell: {figures}."


def _write_page(out: Path) -> None:
    """Write the page of a run beside its result, where the extra ``plots`` is installed."""
    with suppress(MissingDependency):
        page = report_page([read_section(out)], title="skr evaluate")
        replace_file(out / "report.html", page.encode())


def _summary(answers: Answers, judged: list[Judged]) -> dict[str, object]:
    """The figures of a system: means over questions, and the seconds that all of them took."""
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


def make_systems(names: str, settings: Settings, *, has_router: bool = False) -> list[System]:
    """Make the systems that an option names, each once.

    Args:
        names: The names of systems, with commas between them.
        settings: The settings of the graph.
        has_router: Whether the settings have a router that was asked for.

    Raises:
        InputError: A name is none of them, or something that one needs was not given.
    """
    from skr_graphs import GraphAnswerer

    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise InputError(f"--systems names none: give some of {', '.join(SYSTEMS)}")
    unknown = [name for name in wanted if name not in SYSTEMS]
    if unknown:
        known = ", ".join(SYSTEMS)
        raise InputError(f"--systems names no system {unknown[0]!r}: known are {known}")
    if "adaptive" in wanted and not has_router:
        raise InputError("the system adaptive needs --router: the folder of a saved router")
    answerer = GraphAnswerer(settings)
    # `always` is the loop: what one has answered the other need not answer again.
    return [
        System.of(name, answerer, key=ACTIONS[name] or name, action=ACTIONS[name])
        for name in wanted
    ]
