"""What --deadline, --max-spend and --requests-per-second of a command mean for all that it asks.

Every model that a command makes and every question that it asks keeps to them, so that a command
has but to name the options: they are read off the command line that is being run. What a router or
a judge asks outside a question has the same seconds for each call. Workers have no command line:
they keep to the `Limits` that they are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skr_core.bounds import Bounds, bounded
from skr_core.budget import read_prices
from skr_core.errors import InputError
from skr_core.flow import Flow
from skr_core.questions import Question
from skr_core.types import Answer

if TYPE_CHECKING:
    from skr_core.engines.engine import Engine

    from skr_core.models.limited import Spending
    from skr_core.ports import LanguageModel, TextScorer
    from skr_learn.evaluation.asking import System

_MADE = f"{__name__}.spending"

GRACE = 0.5
"""Seconds for a system that keeps to the deadline by itself, and ends with the best it has."""

_COMMAND: ContextVar[typer.Context | None] = ContextVar("skr_command", default=None)


@dataclass(frozen=True)
class Limits:
    """What all models and questions of a command keep to.

    Attributes:
        seconds: For a question.
        spending: Of all models together.
    """

    seconds: float | None = None
    spending: Spending | None = None


_TOLD: ContextVar[Limits | None] = ContextVar("skr_limits", default=None)


def _begin(context: typer.Context, value: float | None) -> float | None:
    """Remember the command line while its command runs."""
    _COMMAND.set(context)
    context.call_on_close(lambda: _COMMAND.set(None))
    return value


DeadlineOption = Annotated[
    float | None,
    typer.Option(
        "--deadline",
        min=0.001,
        callback=_begin,
        help="Seconds for a question; then the best draft so far is served, or it has failed.",
    ),
]
MaxSpendOption = Annotated[
    float | None,
    typer.Option(
        "--max-spend",
        min=0.0,
        callback=_begin,
        help="US dollars for all that this command asks, by --prices. What was answered is kept.",
    ),
]
RateOption = Annotated[
    float | None,
    typer.Option(
        "--requests-per-second",
        min=0.0,
        callback=_begin,
        help="Requests to models that begin in a second, at most, over all workers.",
    ),
]
PricesOption = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help='JSON of your prices in USD a million tokens: {"MODEL": {"prompt": 1, '
        '"completion": 2}}.',
    ),
]


def seconds_a_question() -> float | None:
    """The command's --deadline."""
    if (told := _TOLD.get()) is not None:
        return told.seconds
    command = _COMMAND.get()
    seconds: float | None = None if command is None else command.params.get("deadline")
    return seconds


def shared_limits(engine: Engine) -> Limits:
    """The command's limits, counted in one place where the engine has workers.

    Raises:
        InputError: Money is limited without prices.
    """
    spending, command = _spending(), _COMMAND.get()
    share = getattr(engine, "share", None)
    if spending is not None and command is not None and share is not None:
        spending = command.meta[_MADE] = share(spending)
    return Limits(seconds_a_question(), spending)


@contextmanager
def keeping_to(limits: Limits) -> Iterator[None]:
    """What is opened meanwhile keeps to these limits."""
    token = _TOLD.set(limits)
    try:
        yield
    finally:
        _TOLD.reset(token)


def limited(model: LanguageModel) -> LanguageModel:
    """The model within the command's limits, of which all its models share the money.

    Raises:
        InputError: There are no prices, or none of this model.
    """
    spending = _spending()
    return model if spending is None else spending.limit(model)


def limited_scorer(scorer: TextScorer) -> TextScorer:
    """The same for what tells likelihoods."""
    spending = _spending()
    return scorer if spending is None else spending.limit_scorer(scorer)


def in_time(system: System) -> System:
    """The system, whose questions fail where they are not answered in time."""
    seconds = seconds_a_question()
    if seconds is None:
        return system
    ask: Callable[[Question], Flow[Answer]] = system.ask
    return replace(
        system, ask=lambda question: bounded(ask(question), Bounds.within(seconds + GRACE))
    )


def _spending() -> Spending | None:
    if (told := _TOLD.get()) is not None:
        return told.spending
    command, seconds = _COMMAND.get(), seconds_a_question()
    if command is None:
        return None
    money, rate = (command.params.get(name) for name in ("max_spend", "requests_per_second"))
    if money is None and rate is None and seconds is None:
        return None
    prices = command.params.get("prices")
    if money is not None and not prices:
        raise InputError("--max-spend needs --prices: a file with the prices of your models")
    from skr_core.models.limited import Spending

    kept = command.meta
    if _MADE not in kept:
        read = read_prices(prices) if money is not None and prices else None
        kept[_MADE] = Spending(
            max_spend=money, prices=read, call_deadline_s=seconds, requests_per_second=rate
        )
    spending: Spending = kept[_MADE]
    return spending
