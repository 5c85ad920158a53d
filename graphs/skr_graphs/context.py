"""What one run works with: the model, the retriever, the router, the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import ConfigDict
from pydantic.json_schema import SkipJsonSchema

from skr_core.budget import Budget
from skr_core.errors import InputError
from skr_core.plain import from_plain
from skr_core.ports import LanguageModel, ReferenceStore, Reflector, Retriever, Router
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates
from skr_core.reflectors import RefusalReflector
from skr_core.routers import AlwaysRetrieve
from skr_core.types import Demonstration
from skr_graphs.streaming import messages_are_streamed

T = TypeVar("T")


@dataclass(frozen=True)
class SKRContext:
    """Of one run; what is None is taken from the graph's own.

    A server's schema shows what can be said in JSON, such as the budget and abstention. A
    graph around this one passes its context on where that is a subclass of this class.

    Attributes:
        model: Answers, and names what is missing.
        retriever: Finds references. A run that never retrieves needs none.
        router: Decides whether to retrieve; always, by default.
        reflector: Judges drafts; by default the refusal sentence is read from them.
        store: Remembers what other retrievers found, and is searched beside them.
        budget: The limits of a question.
        abstain: At the budget's end, refuse rather than return the best draft.
        demonstrations: Worked examples for the answer prompts.
        templates: The words of the prompts.
        stream: Ask the model for tokens as it makes them. By default only where LangGraph streams
            messages: a model that is not asked to stream is quicker and tells its usage.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True)

    model: Annotated[LanguageModel | None, SkipJsonSchema()] = None
    retriever: Annotated[Retriever | None, SkipJsonSchema()] = None
    router: Annotated[Router | None, SkipJsonSchema()] = None
    reflector: Annotated[Reflector | None, SkipJsonSchema()] = None
    store: Annotated[ReferenceStore | None, SkipJsonSchema()] = None
    budget: Budget | None = None
    abstain: bool | None = None
    demonstrations: Sequence[Demonstration] | None = None
    templates: PromptTemplates | None = None
    stream: bool | None = None

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Refuse unknown names as this project does: LangGraph makes contexts of dicts."""
        known = [each.name for each in fields(cls)]
        if unknown := [name for name in given if name not in known]:
            raise InputError(f"a context has no {', '.join(unknown)}: it has {', '.join(known)}")
        return super().__new__(cls)

    def over(self, defaults: SKRContext) -> SKRContext:
        """This context, with the defaults where it says nothing."""
        given: dict[str, Any] = {
            each.name: value
            for each in fields(SKRContext)  # a subclass may hold more
            if (value := getattr(self, each.name)) is not None
        }
        return replace(defaults, **given)


@dataclass(frozen=True)
class Resources:
    """A context with nothing left open: what a step works with."""

    model: LanguageModel
    retriever: Retriever | None
    router: Router
    reflector: Reflector
    store: ReferenceStore | None
    budget: Budget
    abstain: bool
    demonstrations: Sequence[Demonstration]
    templates: PromptTemplates
    stream: bool

    @classmethod
    def of(cls, context: SKRContext) -> Resources:
        """Fill in what has a default.

        Raises:
            InputError: There is no model, or something is not what its name says.
        """
        if context.model is None:
            raise InputError("no model: give one to the factory or in the run's context")
        router = AlwaysRetrieve() if context.router is None else context.router
        if not callable(getattr(router, "decide", None)):
            raise InputError(f"a router decides; {type(router).__name__} has no decide")
        return cls(
            model=context.model,
            retriever=context.retriever,
            router=router,
            reflector=RefusalReflector() if context.reflector is None else context.reflector,
            store=context.store,
            budget=Budget() if context.budget is None else _given(Budget, context.budget),
            abstain=bool(context.abstain),
            demonstrations=[_given(Demonstration, each) for each in context.demonstrations or ()],
            templates=_given(PromptTemplates, context.templates or DEFAULT_TEMPLATES),
            stream=messages_are_streamed() if context.stream is None else context.stream,
        )


def _given(cls: type[T], value: Any) -> T:
    """What a caller gave, where a server hands it over as JSON."""
    return value if isinstance(value, cls) else from_plain(cls, value, strict=True)
