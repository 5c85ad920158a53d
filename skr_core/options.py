"""Keyword arguments that are not taken: refused by name, with what is right in their place.

Example:
    >>> refuse_unknown("create_chain", ["budgett"], ["budget", "router"])
    Traceback (most recent call last):
    ...
    skr_core.errors.OptionError: create_chain takes no budgett: budget is meant, perhaps
    >>> refuse_unknown("create_chain", ["k"], ["budget"], {"k": "give it to the retriever"})
    Traceback (most recent call last):
    ...
    skr_core.errors.OptionError: create_chain takes no k: give it to the retriever
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches

from typing_extensions import TypedDict

from skr_core.budget import Budget
from skr_core.errors import OptionError
from skr_core.ports import ReferenceStore, TextScorer
from skr_core.prompts.templates import PromptTemplates
from skr_core.settings import (
    ArbiterLike,
    OnRetrieverError,
    ReflectorLike,
    RouterLike,
    WhenInsufficient,
)
from skr_core.types import Demonstration


class SettingsOptions(TypedDict, total=False):
    """The settings beside model and retriever, as keyword arguments: see `Settings`."""

    router: RouterLike | None
    reflector: ReflectorLike | None
    store: ReferenceStore | None
    budget: Budget | None
    when_insufficient: WhenInsufficient | None
    on_retriever_error: OnRetrieverError | None
    demonstrations: Sequence[Demonstration] | None
    templates: PromptTemplates | None
    decompose: bool | None
    metadata_keys: Sequence[str] | None
    arbiter: ArbiterLike | None
    likelihoods: TextScorer | None


IN_A_BUDGET = {each.name: f"budget=Budget({each.name}=...) is meant" for each in fields(Budget)}
"""Advice for limits that are given by themselves."""


def refuse_unknown(
    taker: str,
    given: Iterable[str],
    known: Collection[str],
    advice: Mapping[str, str] | None = None,
) -> None:
    """Raise for the first keyword that is not taken.

    Args:
        taker: The function or class, as its users write it.
        given: The keywords it was called with.
        known: Those it takes.
        advice: What is right in place of a keyword that users of other libraries expect.

    Raises:
        OptionError: One of them is not known.
    """
    for name in given:
        if name in known:
            continue
        close = get_close_matches(name, sorted(known), n=1, cutoff=0.7)
        if advice and name in advice:
            right = advice[name]
        elif close:
            right = f"{close[0]} is meant, perhaps"
        else:
            right = f"it takes {', '.join(sorted(known))}"
        raise OptionError(f"{taker} takes no {name}: {right}")
