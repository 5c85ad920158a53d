"""What a command says before it asks many questions: its metric, and what they will cost."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from skr_app.extractive import is_extractive
from skr_app.models import Models
from skr_app.options import BatchOptions
from skr_app.output import messages
from skr_core.budget import price_of, read_prices
from skr_core.errors import InputError
from skr_core.files import read_whole
from skr_core.questions import Question
from skr_core.settings import Settings
from skr_learn.agreement import aagreement, read_marked
from skr_learn.foreseeing import Due, Range, aforesee
from skr_learn.scoring import Judge, Metric, Scorer, TextMetric, proposed_metric


def metric_name(options: BatchOptions, questions: Sequence[Question]) -> Metric:
    """The metric that compares texts: the one that is named, or the one that suits the questions.

    Raises:
        InputError: There is a rubric, and no judge that it could be for.
    """
    if options.rubric is not None and options.judge is None:
        raise InputError("--rubric is for a judge: give --judge MODEL")
    if options.metric is not None:
        return options.metric
    name, reason = proposed_metric(questions)
    if reason and options.judge is None:
        messages.print(f"{reason}: --judge MODEL (--metric names another)", soft_wrap=True)
    return name


def make_judge(options: BatchOptions, models: Models) -> Judge:
    """The judge that the options name, with the rubric of its file."""
    rubric = None
    if options.rubric is not None:
        rubric = read_whole(options.rubric).decode(errors="replace")
    return Judge(models.model(options.judge or ""), rubric=rubric)


def make_scorer(options: BatchOptions, models: Models, questions: Sequence[Question]) -> Scorer:
    """What scores the answers: the judge that the options name, or a metric that compares texts."""
    name = metric_name(options, questions)
    return TextMetric(name) if options.judge is None else make_judge(options, models)


async def tell_agreement(scorer: Scorer, marked: Path | None) -> None:
    """Say how often what scores the answers says what a person said of those in a file."""
    if marked is not None:
        found = await aagreement(scorer, read_marked(marked))
        messages.print(f"{scorer.name} {found.sentence}", soft_wrap=True)


async def ask_to_go_on(
    options: BatchOptions,
    settings: Settings,
    due: Due,
    *,
    verdicts: Range,
    statements: int = 0,
) -> None:
    """Say what asking will cost, and in a terminal ask whether to.

    Nothing is asked where nobody can answer, as in a pipe or a job, nor with --yes, nor where the
    extractive model is asked alone, which costs nothing.

    Args:
        options: The options of the command.
        settings: The settings of the system.
        due: The questions that are still to be asked, by which actions.
        verdicts: The number of verdicts of a judge, where the options name one.
        statements: How often a router is asked about a question.

    Raises:
        Abort: The person does not want to.
    """
    if not due:
        return
    verdicts = (0, 0) if options.judge is None else verdicts
    foreseen = await aforesee(settings, due, verdicts=verdicts, statements=statements)
    price = None
    if options.prices is not None:
        price = price_of(read_prices(options.prices), settings.model.name)
    cached = ", less what the cache holds" if options.cache is not None else ""
    messages.print(f"{foreseen.sentence(price)} (estimated{cached})", soft_wrap=True)
    free = is_extractive(options.model) and options.judge is None
    if not (options.yes or free) and sys.stdin.isatty() and messages.is_terminal:
        typer.confirm("Go on?", default=True, abort=True, err=True)
