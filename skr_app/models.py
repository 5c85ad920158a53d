"""The models that a command asks, and the limits that all of them keep to."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from skr_app.extractive import LexicalEntailment, is_extractive, load_extractive
from skr_app.importing import import_model
from skr_app.options import ModelOptions
from skr_core.bounds import Bounds, bounded
from skr_core.budget import TokenCount, count_tokens, read_prices
from skr_core.errors import InputError
from skr_core.registry import names_of, registered
from skr_core.settings import as_reflector

if TYPE_CHECKING:
    from skr_core.models.limited import Spending
    from skr_core.ports import (
        EntailmentModel,
        LanguageModel,
        Reflector,
        Retriever,
    )
    from skr_learn.evaluate import System
    from skr_learn.reply_cache import ReplyCache

GRACE = 0.5
"""Seconds for a system that keeps to the deadline by itself, and ends with the best it has."""


@dataclass(frozen=True)
class Limits:
    """The limits that all models and questions of a command keep to.

    Attributes:
        seconds: Seconds for a question. What a router or a judge asks outside of a question has
            the same seconds for each call.
        spending: The spending that all models share; None without a limit.
    """

    seconds: float | None = None
    spending: Spending | None = None

    @classmethod
    def of(
        cls,
        deadline: float | None = None,
        max_spend: float | None = None,
        prices: Path | None = None,
        requests_per_second: float | None = None,
    ) -> Limits:
        """The limits that a command's options name.

        Args:
            deadline: Seconds for a question.
            max_spend: US dollars for all that the command asks.
            prices: A file of models' prices, which a limit of money needs.
            requests_per_second: Requests that begin in a second, over all models.

        Raises:
            InputError: Money is limited without prices, or a limit is not above 0.

        Example:
            >>> Limits.of() == Limits()
            True
            >>> Limits.of(max_spend=1.0)
            Traceback (most recent call last):
            ...
            skr_core.errors.InputError: --max-spend needs --prices: a file with the prices of your \
models
        """
        if deadline is None and max_spend is None and requests_per_second is None:
            return cls()
        if max_spend is not None and prices is None:
            raise InputError("--max-spend needs --prices: a file with the prices of your models")
        from skr_core.models.limited import Spending

        spending = Spending(
            max_spend=max_spend,
            prices=read_prices(prices) if max_spend is not None and prices else None,
            call_deadline_s=deadline,
            requests_per_second=requests_per_second,
        )
        return cls(deadline, spending)

    def model(self, model: LanguageModel) -> LanguageModel:
        """The model within these limits.

        Raises:
            InputError: Money is limited, and the prices do not have this model.
        """
        return model if self.spending is None else self.spending.limit(model)

    def system(self, system: System) -> System:
        """The system, whose questions fail where they are not answered in time."""
        if self.seconds is None:
            return system
        seconds, ask = self.seconds + GRACE, system.ask
        return replace(system, ask=lambda question: bounded(ask(question), Bounds.within(seconds)))


NO_LIMITS = Limits()


def make_model(
    model: str, base_url: str | None = None, count: Callable[[str], TokenCount] = count_tokens
) -> LanguageModel:
    """Make the model that an option names; ``SKR_TEMPERATURE`` sets its temperature.

    Args:
        model: The model, as --model names it.
        base_url: The address of its server.
        count: The function that counts the tokens of the extractive model.

    Raises:
        InputError: There is no such model, the address is none, or the temperature is no number.
    """
    if base_url and not base_url.startswith(("http://", "https://")):
        raise InputError(f"--base-url {base_url}: begin it with http:// or https://")
    given = os.environ.get("SKR_TEMPERATURE")
    try:
        temperature = float(given) if given else None
    except ValueError as error:
        raise InputError(f"SKR_TEMPERATURE must be a number, not {given!r}") from error
    if is_extractive(model):  # which needs no framework
        return load_extractive(model, count=count)
    if not base_url and (own := import_model(model)) is not None:
        return own
    from langchain_skr import load_model

    return load_model(model, base_url=base_url, temperature=temperature)


def open_cache(stack: ExitStack, folder: Path | None) -> ReplyCache | None:
    """Open the cache of models' replies in a folder; None where no folder is named.

    Args:
        stack: The stack that closes the cache.
        folder: The folder, made if missing.

    Raises:
        StoreError: The folder cannot be used.
    """
    if folder is None:
        return None
    from skr_learn.reply_cache import ReplyCache

    return stack.enter_context(ReplyCache(folder / "replies.sqlite"))


@dataclass(frozen=True)
class Models:
    """Makes the models that a command's options name; they share its limits and its cache.

    Attributes:
        base_url: The address of their server.
        limits: The limits that all of them keep to.
        cache: The cache that they are asked through; None asks them each time.
        count: The function that counts the tokens of the extractive model.
    """

    base_url: str | None = None
    limits: Limits = NO_LIMITS
    cache: ReplyCache | None = None
    count: Callable[[str], TokenCount] = count_tokens

    @classmethod
    def of(cls, options: ModelOptions, count: Callable[[str], TokenCount] = count_tokens) -> Models:
        """The models of a command that asks one question at a time.

        Raises:
            InputError: Money is limited without prices.
        """
        limits = Limits.of(options.deadline, options.max_spend, options.prices)
        return cls(options.base_url, limits, count=count)

    def model(self, name: str) -> LanguageModel:
        """Make a model.

        Raises:
            InputError: There is no such model, or it has no price where money is limited.
        """
        model = self.limits.model(make_model(name, self.base_url, self.count))
        if self.cache is None:
            return model
        from skr_learn.reply_cache import CachedModel

        return CachedModel(model, self.cache)

    def entailment(self, entailment: str) -> EntailmentModel:
        """Make the entailment model that an option names.

        Raises:
            InputError: The option names none.
        """
        kind, _, name = entailment.partition(":")
        if kind == "lexical" and not name:
            return LexicalEntailment()
        if kind == "nli" and name:
            from skr_core.models.cross_encoder import CrossEncoderEntailment

            return CrossEncoderEntailment(name)
        if kind == "judge" and name:
            from skr_core.reflectors import JudgeEntailment

            return JudgeEntailment(self.model(name))
        raise InputError(
            f"no entailment model is {entailment!r}: give lexical, nli:NAME or judge:MODEL"
        )

    def reflector(
        self,
        reflector: str,
        model: LanguageModel,
        retriever: Retriever | None = None,
        *,
        force: bool = False,
    ) -> Reflector:
        """Make the reflector that an option names.

        Args:
            reflector: The reflector, as --reflector names it.
            model: The model that answers; it judges too where ``judge`` names no other.
            retriever: The retriever that is searched; compared with that of a learned reflector.
            force: Take a learned reflector although it was made with something else.

        Raises:
            InputError: The option names none, or there is no such file.
            StampMismatch: The file's was made with something else, unless `force`.
        """
        from skr_core import reflectors

        kind, _, name = reflector.partition(":")
        if reflector == "refusal":
            return reflectors.RefusalReflector()
        if reflector == "judge":
            return reflectors.JudgeReflector(model)
        if kind == "judge" and name:
            return reflectors.JudgeReflector(self.model(name))
        if kind == "entailment" and name:
            return reflectors.EntailmentReflector(self.entailment(name))
        if kind == "learned" and name:
            learned: Reflector = registered("reflectors", kind).load(
                Path(name), model=model, retriever=retriever, force=force
            )
            return learned
        if kind != "learned" and reflector in names_of("reflectors"):
            return as_reflector(reflector, model, retriever)
        raise InputError(
            f"--reflector {reflector}: give refusal, judge, judge:MODEL, entailment:lexical, "
            "entailment:nli:NAME, entailment:judge:MODEL, a registered name or learned:FILE"
        )
