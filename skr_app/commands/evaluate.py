"""``skr evaluate``: systems beside each other, on questions with known answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from skr_app.beforehand import ask_to_go_on, make_scorer, tell_agreement
from skr_app.choosing import check_model
from skr_app.completing import routers
from skr_app.models import Limits, Models, open_cache
from skr_app.opening import (
    check_writable,
    load_questions,
    open_router,
    open_searched_by,
    open_settings,
    read_records,
    router_stamp,
    with_default_store,
)
from skr_app.options import BatchOptions, Force, Json, Questions, Report
from skr_app.output import counted, progress
from skr_app.report import (
    Result,
    RunFolder,
    ask_and_judge,
    check_report,
    compare,
    findings_of_result,
    judged_on,
    row_of,
    score_rows,
    scores_again,
    section_of_result,
    show_result,
    with_about,
    write_report,
)
from skr_app.spreading import spread
from skr_core.budget import price_of, read_prices
from skr_core.errors import InputError, MissingDependency
from skr_core.files import frame_of, kind_of, make_folder, write_rows
from skr_core.flow import Flow, call
from skr_core.questions import Question
from skr_core.settings import Settings
from skr_core.types import Action, Answer
from skr_learn.evaluate import (
    Answers,
    Fold,
    Judged,
    System,
    answer_rows,
    difference,
    folds_of,
    log_key,
    mean,
    reliability_of,
    unseen,
)
from skr_learn.scoring import measured_by

ADAPTIVE = "adaptive"
ACTIONS: dict[str, Action | None] = {
    "single_shot": "single",
    "loop": "loop",
    "never": "direct",
    "always": "loop",
    ADAPTIVE: None,
}
"""The systems of the graph, each with the action it always takes; the router decides for None."""

SYSTEMS = tuple(ACTIONS)
EXPORTED = (".jsonl", ".csv", ".parquet")

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

SCORES = {"accuracy": "answer_accuracy", "exact_match": "exact_match", "f1": "token_f1"}
"""The measures by the metrics that every answer is measured by."""


@spread
def evaluate(
    questions: Questions,
    options: BatchOptions,
    systems: Annotated[
        str,
        typer.Option(
            "--systems", help=f"Systems to compare, with commas between: {', '.join(SYSTEMS)}."
        ),
    ] = "single_shot,loop",
    router: Annotated[
        Path | None,
        typer.Option(
            "--router",
            help="For adaptive: the file that `skr calibrate` made, or the name of a router that "
            "needs no records, such as confidence:explain. Questions that the file has learnt from "
            "are left out.",
            autocompletion=routers,
        ),
    ] = None,
    cross_fit: Annotated[
        Path | None,
        typer.Option(
            "--cross-fit",
            help="For adaptive, instead of --router: records. They are cut into five parts, and a "
            "question is answered with a router that was calibrated on the four others.",
        ),
    ] = None,
    force: Force = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the run. Run the command again to go on in it."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            help="Write the answers, their sources and scores to this .jsonl, .csv or .parquet "
            "file, under the names that ragas reads.",
        ),
    ] = None,
    report: Report = None,
    json: Json = False,
) -> None:
    """Compare ways to answer on questions with known answers: does the loop pay, does the router?

    All of them use the same model, the same search and at most ten references.
    never does not search, single_shot searches once, loop and always search
    until enough was found, and adaptive does what the router decides.
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
    options = with_default_store(options, read)
    if router is not None and cross_fit is not None:
        raise InputError("give either --router or --cross-fit")
    check_report(report)
    if report is not None and report.suffix == ".ipynb" and out is None:
        raise InputError(
            f"--report {report}: a notebook reads the answers again from the run's folder: give "
            "--out too"
        )
    if export is not None:
        check_writable(export)
        if kind_of(export) not in EXPORTED:
            raise InputError(f"--export {export}: its name ends in {', '.join(EXPORTED)}")
        if kind_of(export) == ".parquet":
            frame_of([])  # what is missing is told before anything is asked
    limits = Limits.of(
        options.deadline, options.max_spend, options.prices, options.requests_per_second
    )
    with ExitStack() as stack:
        retriever, searched = open_searched_by(stack, options, read)
        models = Models(options.base_url, limits, open_cache(stack, options.cache))
        system = open_settings(options, models, retriever, router=router, force=force)
        prices = None if options.prices is None else read_prices(options.prices)
        price = None if prices is None else price_of(prices, system.model.name)
        learnt = {
            each
            for part in (system.router, system.reflector)
            for each in getattr(part, "questions", ())
        }
        fresh = unseen(read, learnt)
        left_out = len(read) - len(fresh)
        asked = fresh[: options.limit]
        chosen = make_systems(systems, system, has_router=bool(router or cross_fit))
        if cross_fit is not None:
            folds = folds_of(read_records(cross_fit, skip_bad=options.skip_bad))
            adaptive = cross_fitted(folds, system, force=force)
            chosen = [adaptive if each.name == ADAPTIVE else each for each in chosen]
        settings = {
            "model": system.model.name,
            "retriever": retriever.name,
            "corpus": searched,
            "max_rounds": str(options.max_rounds),
        }
        stamp = {
            "command": "evaluate",
            **settings,
            "system": system.version,
            **router_stamp(router or cross_fit),
        }
        scorer = make_scorer(options, models, read)
        score = SCORES.get(scorer.name, scorer.name if options.judge is None else "judged_right")
        with RunFolder(out, stamp) as folder:

            async def begin() -> tuple[dict[str, Answers], dict[str, list[Judged]]]:
                actions = {each.key or each.name: ACTIONS[each.name] for each in chosen}
                due = [
                    (each, action)
                    for name, action in actions.items()
                    for each in asked
                    if log_key(name, each) not in folder.answers.rows
                ]
                answers_judged = len(asked) * len(chosen)
                await ask_to_go_on(options, system, due, verdicts=(answers_judged,) * 2)
                await tell_agreement(scorer, options.marked)
                return await ask_and_judge(
                    chosen,
                    asked,
                    folder,
                    price=price,
                    measure=None
                    if score in SCORES.values()
                    else measured_by(scorer, score, concurrency=options.concurrency),
                    concurrency=options.concurrency,
                    limits=limits,
                )

            answers, judged = asyncio.run(begin())
            about = {"questions": questions.name, **settings}
            result = result_of(judged, about, left_out, score=score)
            folder.write(result, judged)
            if export is not None:
                make_folder(export.parent)
                write_rows(export, answer_rows(judged))
            section = with_about(
                section_of_result(questions.name, result, score_rows(judged)),
                judged_on(
                    questions=f"{questions.name}, {len(asked):,} asked",
                    router=stamp.get("router", "")
                    and f"{stamp['router']}, fitted on questions that it is not asked",
                    metric=scorer.name if options.judge is None else f"judge {options.judge}",
                ),
            )
            if out is not None:
                with suppress(MissingDependency):  # the extra `plots`
                    write_report(out / "report.html", section)
            if report is not None:
                write_report(report, section, scores_again(report, out) if out else "")
    said = findings_of_result(result)
    more: dict[str, Any] = {
        "findings": said,
        "questions": str(questions),
        "model": system.model.name,
        "retriever": settings["retriever"],
        "left_out": left_out,
        **{name: _summary(answers[name], judged[name], score) for name in judged},
    }
    if {"single_shot", "loop"} <= judged.keys():
        more["gain"] = {
            name: difference(judged["loop"], judged["single_shot"], measure)
            for name, measure in {**COLUMNS, score: score}.items()
        }
    labels = {measure: name for name, measure in COLUMNS.items()}
    show_result(result, out, json=json, more=more, labels=labels, findings=said)


def result_of(
    judged: Mapping[str, list[Judged]],
    settings: Mapping[str, str],
    left_out: int = 0,
    *,
    score: str = "answer_accuracy",
) -> Result:
    """The table: every system, each beside the first, and the loop and the router's gain.

    Args:
        judged: The judged answers by the names of the systems.
        settings: The settings of the run.
        left_out: How many questions were left out because the router has learnt from them.
        score: The measure that decides.
    """
    notes = [
        f"Left out: {counted(left_out, 'question')} that the router has learnt from."
        if left_out
        else "",
        *(
            f"{name}: {told.sentence}"
            for name, each in judged.items()
            if (told := reliability_of(each))
        ),
    ]
    first, *others = judged
    pairs = [(name, first) for name in others]
    pairs += [(ADAPTIVE, name) for name in others if ADAPTIVE in others and name != ADAPTIVE]
    if {"loop", "single_shot"} <= {*others}:
        pairs.append(("loop", "single_shot"))
    return Result(
        "evaluate",
        "which system pays?",
        settings,
        rows=tuple(row_of(name, each) for name, each in judged.items()),
        comparisons=tuple(
            compare(name, judged[name], against, judged[against]) for name, against in pairs
        ),
        plotted=(score, "title_recall", "prompt_tokens"),
        notes=tuple(filter(None, notes)),
    )


def _summary(answers: Answers, judged: list[Judged], score: str) -> dict[str, object]:
    """The figures of a system: means over questions, and the seconds that all of them took."""
    answered = [each.answer for each in judged if each.answer is not None]
    reasons = [answer.stop_reason for answer in answered]
    return {
        **{name: mean(judged, measure).mean for name, measure in COLUMNS.items()},
        score: mean(judged, score).mean,
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
    if ADAPTIVE in wanted and not has_router:
        raise InputError(
            "the system adaptive needs --router: the file of a saved router; or --cross-fit RECORDS"
        )
    answerer = GraphAnswerer(settings)
    # `always` is the loop: what one has answered the other need not answer again.
    return [
        System.of(name, answerer, key=ACTIONS[name] or name, action=ACTIONS[name])
        for name in wanted
    ]


def cross_fitted(folds: Sequence[Fold], settings: Settings, *, force: bool = False) -> System:
    """Make the system that answers each question with a router that has not seen it.

    Args:
        folds: The parts of the records. A question of none of them is answered with the router of
            the first.
        settings: The settings of the graph, whose router is replaced.
        force: Load the routers although the records were made with something else.

    Raises:
        InputError: There are too few records to calibrate on the others of a part.
        StampMismatch: The records were made with something else, unless `force`.
    """
    from skr_graphs import GraphAnswerer
    from skr_learn import calibrate

    answerers: list[GraphAnswerer] = []
    with TemporaryDirectory() as folder, progress("Calibrating") as advance:
        for place, fold in enumerate(folds):
            # As it is served: saved, and loaded with the model.
            file = Path(folder) / f"{place}.skr"
            calibrate(fold.others).save(file)
            router = open_router(file, settings.model, settings.retriever, force=force)
            given = {**vars(settings), "router": router, "arbiter": None}
            answerers.append(GraphAnswerer(Settings.of(**given)))
            advance(place + 1, len(folds))

    def ask(question: Question) -> Flow[Answer]:
        places = (place for place, fold in enumerate(folds) if fold.judges(question))
        answerer = answerers[next(places, 0)]
        return call(answerer.answer, answerer.aanswer, question.asked)

    return System(ADAPTIVE, ask)
