"""The context of one run, which replaces some of its graph's settings."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, ClassVar
from weakref import WeakKeyDictionary

from pydantic import ConfigDict
from pydantic.json_schema import SkipJsonSchema

from skr_core.budget import Budget
from skr_core.errors import InputError
from skr_core.models.adapting import as_language_model
from skr_core.ports import (
    AnswerArbiter,
    LanguageModel,
    ReferenceStore,
    Reflector,
    Retriever,
    Router,
)
from skr_core.prompts.templates import PromptTemplates
from skr_core.replies.queries import AllowQuery
from skr_core.settings import OnRetrieverError, Settings, WhenInsufficient
from skr_core.types import Demonstration

if TYPE_CHECKING:
    from skr_core.schemas import ResponseFormat


@dataclass(frozen=True, eq=False)
class SKRContext:
    """The settings of one run, see `skr_core.settings.Settings`; None leaves the graph's own.

    A server's schema shows the fields that JSON can express, such as `budget` and
    `when_insufficient`. A graph around this one passes its context on where that is a subclass of
    this class; one of this class itself is for its own graph alone.

    Attributes:
        router: The router, or the name of one that needs no records, such as ``never`` or
            ``confidence:explain``. A file is given to the factory.
        scope: The scope of the reference store, as a function of the run's config; a text is given
            to the factory, because a server's client must not choose whose passages it reads.
        stream: Whether to ask the model for tokens as it makes them. By default only where
            LangGraph streams messages: a model that does not stream is quicker and gives its usage.
        stream_undecided: Whether to stream, with an arbiter, the answer from references before it
            is decided; a ``retract`` event takes it back where another is served.
        around: The context of an application's own graph around this one, which the retriever,
            the model and whatever else a run calls see as that of their runtime.
        variables: The values of the prompts' variables, which come before those of the config's
            ``configurable``; a chain gives the keys of its input.
        closed: The event that is set when a sync stream is closed before its end, so that the
            model's reply is read no further. An async one is cancelled.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True)

    model: Annotated[LanguageModel | None, SkipJsonSchema()] = None
    retriever: Annotated[Retriever | None, SkipJsonSchema()] = None
    router: Annotated[Router | str | None, SkipJsonSchema()] = None
    reflector: Annotated[Reflector | None, SkipJsonSchema()] = None
    reference_store: Annotated[ReferenceStore | None, SkipJsonSchema()] = None
    scope: Annotated[Callable[[Any], str] | None, SkipJsonSchema()] = None
    ttl: Annotated[float | None, SkipJsonSchema()] = None
    budget: Budget | None = None
    when_insufficient: WhenInsufficient | None = None
    on_retriever_error: OnRetrieverError | None = None
    demonstrations: Sequence[Demonstration] | None = None
    templates: PromptTemplates | None = None
    instructions: str | SkipJsonSchema[Callable[[Any], str]] | None = None
    decompose: bool | None = None
    metadata_keys: Sequence[str] | None = None
    arbiter: Annotated[AnswerArbiter | None, SkipJsonSchema()] = None
    response_format: Annotated[Any, SkipJsonSchema()] = None
    abstain_below: float | None = None
    abstention: str | None = None
    allow_query: Annotated[AllowQuery | None, SkipJsonSchema()] = None
    stream: bool | None = None
    stream_undecided: bool = False
    around: Annotated[Any, SkipJsonSchema()] = None
    variables: Annotated[Mapping[str, Any] | None, SkipJsonSchema()] = None
    closed: Annotated[Event, SkipJsonSchema()] = field(default_factory=Event, init=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out of a pickle the event that says that a stream was closed."""
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        return partial(type(self), **given), ()

    @contextmanager
    def reading(self, stream: Generator[Any, None, None]) -> Iterator[None]:
        """Close the stream of a run with this context at the end, after its model's.

        Streams that run side by side need a context each.
        """
        self.closed.clear()
        try:
            yield
        finally:
            self.closed.set()
            stream.close()

    @property
    def given(self) -> dict[str, Any]:
        """The settings that this run replaces."""
        return {
            each.name: value
            for each in fields(Settings)  # a subclass may hold more
            if (value := getattr(self, each.name)) is not None
        }


class SettingsOfRuns:
    """The settings of a graph, and those of each run that replaces some of them.

    They are made once a run, not once a step.

    Args:
        defaults: The settings that the graph was made with, by the names of `Settings`.
    """

    def __init__(self, defaults: Mapping[str, Any]) -> None:
        self._given = {name: value for name, value in defaults.items() if value is not None}
        if self._given.get("arbiter") is self._given.get("router"):
            self._given.pop("arbiter", None)  # it comes along, and goes with the router
        self._defaults: Settings | None = None
        if "model" in self._given:  # else each run must bring its own
            self._defaults = Settings.of(**self._given)
        self._of_runs: WeakKeyDictionary[SKRContext, Settings] = WeakKeyDictionary()

    def of(self, context: object) -> Settings:
        """The settings of a run with this context.

        Raises:
            InputError: There is no model, or something is not what its name says.
        """
        # A sub-graph is given its parent's context, which need not be one of ours.
        if not isinstance(context, SKRContext):
            return self._own()
        if (settings := self._of_runs.get(context)) is None:
            settings = self._replaced(context) if context.given else self._own()
            self._of_runs[context] = settings
        return settings

    @property
    def response_format(self) -> ResponseFormat | None:
        """The schema that answers have by default; None where they are texts."""
        given = self._given.get("response_format")
        if given is None:
            return None
        from skr_core.schemas import ResponseFormat

        return ResponseFormat.of(given)

    def _own(self) -> Settings:
        return self._defaults or Settings.of(**{"model": None, **self._given})

    def _replaced(self, context: SKRContext) -> Settings:
        # A server's client may send anything here, and must not read the server's files.
        if isinstance(context.reflector, str | Path):
            raise InputError("the file of a saved reflector is given to the factory, not a run")
        given_scope: object = context.scope
        if isinstance(given_scope, str):
            raise InputError(
                "a run's context does not name its scope: give a text or a function of the run's "
                "config to the factory, or a function to the context"
            )
        given = context.given
        if isinstance(context.router, str | Path):
            given["router"] = self._named(str(context.router), given.get("model"))
        loaded: dict[str, Any] = {}
        if self._defaults is not None and not {"model", "retriever"} & given.keys():
            # Files are read once; for another model anew, so that stamps are compared.
            loaded = {name: getattr(self._defaults, name) for name in ("router", "reflector")}
        return Settings.of(**{"model": None, **self._given, **loaded, **given})

    def _named(self, name: str, model: Any) -> Router:
        from skr_core.routers.loading import named_router

        model = model or self._given.get("model")
        router = named_router(name, None if model is None else as_language_model(model))
        if router is None:
            raise InputError(
                f"no router is called {name!r}: a run names one that needs no records, such as "
                "never or confidence:explain, and a saved router's file is given to the factory"
            )
        return router
