"""What one run replaces of its graph's settings."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from threading import Event
from typing import Annotated, Any, ClassVar, Self
from weakref import WeakKeyDictionary

from pydantic import ConfigDict
from pydantic.json_schema import SkipJsonSchema

from skr_core.budget import Budget
from skr_core.errors import InputError
from skr_core.ports import (
    AnswerArbiter,
    LanguageModel,
    ReferenceStore,
    Reflector,
    Retriever,
    Router,
    TextScorer,
)
from skr_core.prompts.templates import PromptTemplates
from skr_core.settings import OnRetrieverError, Settings, WhenInsufficient, with_arbiter
from skr_core.types import Demonstration


@dataclass(frozen=True, eq=False)
class SKRContext:
    """Of one run: each field is a setting of `skr_core.settings.Settings`, None is the graph's own.

    A server's schema shows what can be said in JSON, such as the budget and what is answered when
    the references do not suffice. A graph around this one passes its context on where that is a
    subclass of this class.

    Attributes:
        stream: Ask the model for tokens as it makes them. By default only where LangGraph streams
            messages: a model that is not asked to stream is quicker and tells its usage.
        stream_undecided: With an arbiter, stream the answer from references before it is decided;
            a ``retract`` event takes it back where another is served. By default tokens wait.
        closed: Set when a blocking stream is closed before its end: the model's reply is then not
            read on. An awaited one is cancelled.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True)

    model: Annotated[LanguageModel | None, SkipJsonSchema()] = None
    retriever: Annotated[Retriever | None, SkipJsonSchema()] = None
    router: Annotated[Router | None, SkipJsonSchema()] = None
    reflector: Annotated[Reflector | None, SkipJsonSchema()] = None
    store: Annotated[ReferenceStore | None, SkipJsonSchema()] = None
    budget: Budget | None = None
    when_insufficient: WhenInsufficient | None = None
    on_retriever_error: OnRetrieverError | None = None
    demonstrations: Sequence[Demonstration] | None = None
    templates: PromptTemplates | None = None
    decompose: bool | None = None
    metadata_keys: Sequence[str] | None = None
    arbiter: Annotated[AnswerArbiter | None, SkipJsonSchema()] = None
    likelihoods: Annotated[TextScorer | None, SkipJsonSchema()] = None
    stream: bool | None = None
    stream_undecided: bool = False
    closed: Annotated[Event, SkipJsonSchema()] = field(default_factory=Event, init=False)

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Refuse unknown names as this project does: LangGraph makes contexts of dicts."""
        known = [each.name for each in fields(cls)]
        if unknown := [name for name in given if name not in known]:
            raise InputError(f"a context has no {', '.join(unknown)}: it has {', '.join(known)}")
        return super().__new__(cls)

    def __reduce__(self) -> tuple[Any, ...]:
        """For a pickle, which cannot hold what says that a stream was closed."""
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        return partial(type(self), **given), ()

    @contextmanager
    def reading(self, stream: Generator[Any, None, None]) -> Iterator[None]:
        """Close the stream of a run with this context at the end, and before that its model's.

        A context that streams side by side share has to be made anew for each.
        """
        self.closed.clear()
        try:
            yield
        finally:
            self.closed.set()
            stream.close()

    @property
    def given(self) -> dict[str, Any]:
        """The settings that the run replaces."""
        return {
            each.name: value
            for each in fields(Settings)  # a subclass may hold more
            if (value := getattr(self, each.name)) is not None
        }


class SettingsOfRuns:
    """The settings of a graph, and those of each run that replaces some of them.

    They are made once a run, not once a step.

    Args:
        defaults: What the graph was made with, by the names of `Settings`.
    """

    def __init__(self, defaults: Mapping[str, Any]) -> None:
        # The folder's arbiter stays where a run replaces the router.
        chosen = with_arbiter(defaults)
        self._given = {name: value for name, value in chosen.items() if value is not None}
        self._defaults: Settings | None = None
        if "model" in self._given:  # else each run must bring its own
            self._defaults = Settings.of(**self._given)
        self._of_runs: WeakKeyDictionary[SKRContext, Settings] = WeakKeyDictionary()

    def of(self, context: object) -> Settings:
        """The settings of a run with this context.

        Raises:
            InputError: There is no model, or something is not what its name says.
        """
        # A sub-graph is handed its parent's context, which need not be one of ours.
        if not isinstance(context, SKRContext):
            return self._own()
        if (settings := self._of_runs.get(context)) is None:
            settings = self._replaced(context) if context.given else self._own()
            self._of_runs[context] = settings
        return settings

    def _own(self) -> Settings:
        return self._defaults or Settings.of(**{"model": None, **self._given})

    def _replaced(self, context: SKRContext) -> Settings:
        # A client of a server may say anything here; it shall read no file of it.
        if isinstance(context.router, str | Path):
            raise InputError("a router's folder is given to the factory; a text has no decide")
        if isinstance(context.arbiter, str | Path):
            raise InputError("an arbiter's folder is given to the factory; a text cannot judge")
        if isinstance(context.reflector, str | Path):
            raise InputError("a reflector's folder is given to the factory, not with a run")
        given = context.given
        loaded: dict[str, Any] = {}
        if self._defaults is not None and not {"model", "retriever"} & given.keys():
            # Folders are read once; for another model they are, so that stamps are compared.
            loaded = {
                name: getattr(self._defaults, name) for name in ("router", "arbiter", "reflector")
            }
            if isinstance(given.get("router"), AnswerArbiter):
                kept: Any = loaded.pop("arbiter")  # one ladder takes the other's place
                if kept is not loaded["router"]:
                    loaded["arbiter"] = kept
        return Settings.of(**{"model": None, **self._given, **loaded, **given})
