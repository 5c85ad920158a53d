"""The table of routers: what each is called, what it looks at and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from skr_core.errors import InputError
from skr_core.registry import registered

if TYPE_CHECKING:
    from skr_core.ports import LanguageModel, Router
    from skr_core.routers.model_routers import ModelRouter
    from skr_learn.records import Record


@dataclass(frozen=True, slots=True)
class Entry:
    """One router.

    Attributes:
        name: The name that commands know; with a colon, what follows names one of its parameters.
        kind: The name that its class is registered by, and that its saved file says.
        looks_at: What it decides by.
        calls: The calls of the model that a decision takes.
        parameter: The parameter of the constructor that is named behind the colon; empty without
            one.
        default: The value of that parameter where the name has no colon.
    """

    name: str
    kind: str
    looks_at: str
    calls: str
    parameter: str = ""
    default: str = ""

    @property
    def title(self) -> str:
        """The name as a table shows it.

        Example:
            >>> ROUTERS["prompt"].title
            'prompt:TEMPLATE'
        """
        return f"{self.name}:{self.parameter.upper()}" if self.parameter else self.name

    @property
    def asks(self) -> bool:
        """Whether it asks the model what it knows, instead of learning it from outcomes."""
        return self.name in ASKING

    def load_class(self) -> Any:
        """Import the class."""
        return registered("routers", self.kind)


_ENTRIES = (
    Entry("ladder", "policy", "question and the answers so far", "1"),
    Entry("confirm", "policy", "the same, and what the first search found", "1"),
    Entry("question", "policy", "question", "0"),
    Entry("arbiter", "policy", "every answer", "1 an answer"),
    Entry("benefit", "knn", "question", "0"),
    Entry("paper", "knn", "question", "0"),
    Entry("classifier", "classifier", "question", "0"),
    Entry("encoder", "encoder", "question", "0"),
    Entry(
        "prompt",
        "prompt",
        "what the model says it needs",
        "1",
        "template",
        "additional_information",
    ),
    Entry("in_context", "in_context", "what the model says it needs, after examples", "1"),
    Entry(
        "confidence",
        "confidence",
        "the certainty that the model states of its answer",
        "1 to 3",
        "strategy",
        "punish_explain",
    ),
    Entry("certainty_level", "certainty_level", "two statements of certainty", "2 to 4"),
    Entry(
        "uncertainty",
        "uncertainty",
        "log-probabilities of the direct answer, or samples",
        "1, or 5 samples",
    ),
    Entry("always", "always", "nothing", "0"),
    Entry("never", "never", "nothing", "0"),
)
ROUTERS = {entry.name: entry for entry in _ENTRIES}
"""Every router by its name; of those that calibration chooses among, the first is preferred."""

FITTED = ("ladder", "confirm", "question", "arbiter", "benefit", "paper", "classifier")
"""Learnt from outcomes; calibration compares all of them by default."""
ASKING = ("prompt", "in_context", "confidence", "certainty_level", "uncertainty")
"""Routers that ask the model; calibration compares those that the records hold statements of."""


def titles(names: Sequence[str] = (*FITTED, "encoder", *ASKING)) -> str:
    """The names as a help text or an error lists them.

    Example:
        >>> titles(["paper", "confidence"])
        'paper, confidence:STRATEGY'
    """
    return ", ".join(ROUTERS[name].title for name in names)


def entry_of(name: str) -> Entry:
    """The entry of a name, with or without a parameter.

    Raises:
        InputError: There is no such router.

    Example:
        >>> entry_of("prompt:can_answer").kind
        'prompt'
    """
    found = ROUTERS.get(name.partition(":")[0])
    if found is None or (":" in name and not found.parameter):
        raise InputError(f"no router {name!r}: give some of {titles()}")
    return found


def make_asking_router(name: str, model: LanguageModel, records: Sequence[Record]) -> ModelRouter:
    """Make a router that asks the model itself.

    Args:
        name: The router's name, such as ``certainty_level`` or ``confidence:punish_explain``.
        model: The model to ask.
        records: The records, for a router that shows the model what it knew before.

    Raises:
        InputError: There is no such router, or the records do not suffice for it.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> model = ScriptedModel(["No."])
        >>> make_asking_router("prompt:can_answer", model, []).decide("Who wrote Emma?").retrieve
        True
    """
    entry = entry_of(name)
    if not entry.asks:
        raise InputError(f"the router {name!r} does not ask a model: give {titles(ASKING)}")
    made = entry.load_class()
    parameter = name.partition(":")[2]
    router: ModelRouter
    if entry.name == "in_context":
        router = made.from_records(model, records)
    else:
        router = made(model, **({entry.parameter: parameter} if parameter else {}))
    return router


MakeRouter = Callable[["Sequence[Record]"], "Router"]
"""Makes a router of records that it may show to the model."""


def asking_routers(names: Sequence[str], model: LanguageModel) -> dict[str, Router | MakeRouter]:
    """Routers that ask the model itself, by their full names, for collecting what they say.

    Args:
        names: The names that `make_asking_router` takes; one without its parameter has the default.
        model: The model to ask.

    Raises:
        InputError: There is no such router.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> list(asking_routers(["confidence"], ScriptedModel()))
        ['confidence:punish_explain']
    """
    made: dict[str, Router | MakeRouter] = {}
    for name in (each.strip() for each in names):
        entry = entry_of(name)
        full = f"{name}:{entry.default}" if entry.default and ":" not in name else name
        if entry.name == "in_context":
            made[full] = partial(make_asking_router, full, model)
        else:
            made[full] = make_asking_router(full, model, [])
    return made
