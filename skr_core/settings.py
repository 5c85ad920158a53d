"""What a question-answering system is made of: described once, used wherever one is built.

The graph's factory, both plug-ins, collection, evaluation, the experiments and the command all take
these settings. What is measured with them is therefore what is served with them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch, wraps
from inspect import iscoroutine
from pathlib import Path
from typing import (
    Any,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    cast,
    get_args,
    runtime_checkable,
)

from skr_core.budget import Budget
from skr_core.errors import InputError, tell_once
from skr_core.flow import Flow, call
from skr_core.models.adapting import AnyModel, AnyRetriever, as_language_model, as_retriever
from skr_core.plain import from_plain, to_plain
from skr_core.ports import (
    AnswerArbiter,
    ClimbingRouter,
    LanguageModel,
    QuestionAnswerer,
    ReferenceStore,
    Reflector,
    ReloadingRouter,
    Retriever,
    Router,
    temperature_of,
    version_of,
)
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates
from skr_core.reflectors import RefusalReflector
from skr_core.replies.opening import strip_thoughts
from skr_core.replies.queries import AllowQuery, checked_rule
from skr_core.routers.constant import AlwaysRetrieve
from skr_core.sync_only import DecidesSync, ReflectsSync, SyncReflector, SyncRouter
from skr_core.texts import encodable
from skr_core.types import (
    Action,
    Answer,
    Decision,
    Demonstration,
    Reference,
    Reflection,
    Stamp,
)

P = ParamSpec("P")
T = TypeVar("T")

RouterLike = Router | DecidesSync | str | Path
"""A router, the file of a saved one, or the name of one that needs no records, such as ``never``
or ``confidence:explain``. A file of that name comes first."""

ReflectorLike = Reflector | ReflectsSync | str | Path
"""A reflector, the file of a saved one, or the name of a registered one."""

Scope = str | Callable[[Any], str]
"""The scope in which a reference store is searched and added to: a text, or a function that returns
it for a run's config (LangChain's ``RunnableConfig``), such as the tenant's name."""

Instructions = str | Callable[[Any], str]
"""Words that stand before every prompt that asks for an answer, such as an app's persona, policy or
language: a text, or a function that returns it for a run's config, called at each step of a run."""

SchemaLike = type[Any] | Mapping[str, Any]
"""The schema of an answer's object: a pydantic model, a dataclass, a ``TypedDict``, or a JSON
Schema."""

WhenInsufficient = Literal["best_draft", "own_knowledge", "refuse"]
"""What is answered when the references never sufficed.

``best_draft`` is the latest draft that cites a reference, else the latest one that answers, else a
refusal that names what is missing; ``own_knowledge`` asks the model once more in place of a draft
that cites nothing or a refusal, for the best it can say (W2R Figure 10); ``refuse`` always refuses.
"""

OnRetrieverError = Literal["raise", "continue"]
"""What happens when every search of the first round fails: a `RetrieverError`, or an answer without
references, whose stop reason is ``retriever_failed``."""


@dataclass(frozen=True)
class Settings:
    """One system. `of` makes them from what a caller gives; nothing else needs to be said twice.

    Attributes:
        model: The model that answers, and names what is missing.
        retriever: The retriever that finds references. A system that never retrieves needs none.
        router: The router that decides whether to retrieve, and for how many rounds; always, by
            default. A file written by ``skr calibrate`` is loaded for this model and retriever.
        reflector: The judge of drafts; by default the verdict is read from the model's reply. A
            file that a learned one was saved in is loaded for this model and retriever.
        reference_store: The store that remembers what the retriever found, and is searched beside
            it. Without a retriever, or as the retriever, it is searched alone and nothing is added.
        scope: The scope in which it remembers and is searched, see `Scope`. Must be given where
            it stands beside a retriever.
        ttl: The seconds for which a passage is remembered; for ever by default.
        budget: The limits of a question.
        when_insufficient: The answer given when the references never sufficed, see
            `WhenInsufficient`.
        on_retriever_error: The way out when a search fails, see `OnRetrieverError`.
        demonstrations: Worked examples for the answer prompts (SKR §3.1).
        templates: The words of the prompts.
        instructions: The words that stand before them where an answer is asked for, in the system
            message, see `Instructions`.
        decompose: Whether the parts of a question are asked for before the first search; one
            call more.
        metadata_keys: The keys of a reference's metadata that the model sees, beside its title.
        arbiter: The judge that decides, where references were retrieved, whether their answer is
            served or the model's own, which is asked for with one call more. A router that is an
            arbiter too, as a policy may be, brings it along; without one, the answer from
            references is always served. A refusal is weighed like any answer, but stands where
            `when_insufficient` is ``refuse``.
        response_format: The schema of the answer's object, in place of a text: a pydantic model, a
            dataclass, a ``TypedDict`` or a JSON Schema.
        abstain_below: The chance to be right, from 0 to 1, below which an answer is not served.
            Chances are estimated by a calibrated policy that looks at answers; its summary tells
            how often the answers above each are right, see `skr_learn.metrics.Reliability`.
        abstention: The text that is served in its place; by default a refusal in the question's
            language.
        allow_query: The rule of which queries may be searched, as passages may bring a model to
            write others, see `skr_core.replies.queries.AllowQuery`; by default all. A refused one
            is named in `Round.refused`.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> settings = Settings.of(ScriptedModel(["Paris."]), budget={"max_rounds": 2})
        >>> settings.budget.max_rounds, settings.when_insufficient
        (2, 'best_draft')
    """

    model: LanguageModel
    retriever: Retriever | None = None
    router: Router = AlwaysRetrieve()
    reflector: Reflector = RefusalReflector()
    reference_store: ReferenceStore | None = None
    scope: Scope | None = None
    ttl: float | None = None
    budget: Budget = Budget()
    when_insufficient: WhenInsufficient = "best_draft"
    on_retriever_error: OnRetrieverError = "raise"
    demonstrations: tuple[Demonstration, ...] = ()
    templates: PromptTemplates = DEFAULT_TEMPLATES
    instructions: Instructions | None = None
    decompose: bool = False
    metadata_keys: tuple[str, ...] = ()
    arbiter: AnswerArbiter | None = None
    response_format: Any = None  # a ResponseFormat, whose module texts need not load
    abstain_below: float | None = None
    abstention: str = ""
    allow_query: AllowQuery | None = None

    @classmethod
    def of(
        cls,
        model: AnyModel | None,
        retriever: AnyRetriever | None = None,
        *,
        router: RouterLike | None = None,
        reflector: ReflectorLike | None = None,
        reference_store: ReferenceStore | None = None,
        scope: Scope | None = None,
        ttl: float | None = None,
        budget: Budget | None = None,
        when_insufficient: WhenInsufficient | None = None,
        on_retriever_error: OnRetrieverError | None = None,
        demonstrations: Sequence[Demonstration] | None = None,
        templates: PromptTemplates | None = None,
        instructions: Instructions | None = None,
        decompose: bool | None = None,
        metadata_keys: Sequence[str] | None = None,
        arbiter: AnswerArbiter | None = None,
        response_format: SchemaLike | None = None,
        abstain_below: float | None = None,
        abstention: str | None = None,
        allow_query: AllowQuery | None = None,
    ) -> Self:
        """Make settings of what a caller gave; None leaves a default.

        Args:
            model: The model, which must be given. A framework's is adapted.
            retriever: The retriever; may be missing where nothing is retrieved. A framework's is
                adapted.

        The other settings are described as attributes of `Settings`. A server gives budget,
        demonstrations and templates as plain objects.

        Raises:
            InputError: There is no model, or something is not what its name says.
            StampMismatch: The file of the router or the reflector was made for another model or
                retriever.
        """
        if model is None:
            raise InputError("no model: give one to the factory or in the run's context")
        asked = as_language_model(model)
        source = None if retriever is None else as_retriever(retriever)
        chosen: Any = None if router is None else as_router(router, asked, source)
        if arbiter is None and isinstance(chosen, AnswerArbiter):
            arbiter = chosen
        given: dict[str, Any] = {
            "router": chosen,
            "reflector": None if reflector is None else as_reflector(reflector, asked, source),
            "reference_store": reference_store,
            "scope": scope,
            "ttl": ttl,
            "budget": _typed(Budget, budget),
            "when_insufficient": when_insufficient,
            "on_retriever_error": on_retriever_error,
            "demonstrations": None
            if demonstrations is None
            else tuple(_typed(Demonstration, each) for each in demonstrations),
            "templates": _typed(PromptTemplates, templates),
            "instructions": instructions,
            "decompose": decompose,
            "metadata_keys": None if metadata_keys is None else _names(metadata_keys),
            "arbiter": arbiter,
            "abstain_below": abstain_below,
            "abstention": abstention,
            "allow_query": allow_query,
        }
        if response_format is not None:
            from skr_core.schemas import ResponseFormat  # answers that are texts need none of it

            wanted = ResponseFormat.of(response_format)
            words = wanted.check_templates(given["templates"] or DEFAULT_TEMPLATES)
            given |= {"response_format": wanted, "templates": words}
        given = {name: value for name, value in given.items() if value is not None}
        for name, (port, noun, methods) in _PORTS.items():
            part = given.get(name)
            if part is not None and (isinstance(part, type) or not isinstance(part, port)):
                raise _refused(f"{noun} has {methods}", part)
        for name, choices in _CHOICES.items():
            if name in given and given[name] not in choices:
                listed = ", ".join(map(str, choices))
                raise InputError(f"{name} is {given[name]!r}: give one of {listed}")
        made = cls(model=asked, retriever=source, **given)
        made._check_scope()
        made._check_abstaining()
        checked_rule(made.allow_query)
        if instructions is not None and not isinstance(instructions, str | Callable):
            raise InputError(
                f"instructions is {type(instructions).__name__}: give a text, or a function that "
                "returns one"
            )
        learnt = getattr(made.router, "stamp", None)
        # What has nothing to search only routes, and its words and limits are not the answer's.
        answers = made.retriever is not None or made.reference_store is not None
        if answers and isinstance(learnt, Stamp) and learnt.system not in ("", made.version):
            tell_once(
                "the router was made for this model with other words, limits, temperature or "
                f"settings of the retriever (system {learnt.system}, and this is {made.version}): "
                "what it promises holds for those; calibrate it anew, or go on as it is"
            )
        return made

    def but(self, **options: Any) -> Self:
        """Return the same system with some settings replaced.

        Example:
            >>> from skr_core.testing import ScriptedModel
            >>> Settings(ScriptedModel()).but(budget=Budget(max_rounds=1)).budget.max_rounds
            1
        """
        return replace(self, **options)

    @property
    def version(self) -> str:
        """A hash of all that decides what is said, except model, retriever, router and arbiter.

        Records that were made with other words, limits, reflectors, settings of the retriever (k,
        the kind of its filters, postprocessors) or another temperature are told apart by it. What
        concerns conversations is left out: records are made of single questions.
        """
        reflector = self.reflector
        budget = to_plain(self.budget)
        del budget["max_history_tokens"]
        for name in (
            "max_reply_tokens",
            "max_spend",
            "price",
        ):  # left out while None, as before there were these limits
            if budget[name] is None:
                del budget[name]
        parts = (
            self.templates.version,
            repr(to_plain(self.demonstrations)),
            repr(budget),
            self.when_insufficient,
            str(getattr(reflector, "name", type(reflector).__name__)),
            "" if self.reference_store is None else self.reference_store.name,
            "decompose" if self.decompose else "",
            "" if self.retriever is None else version_of(self.retriever),
            str(temperature_of(self.model)),
            *self.metadata_keys,
        )
        if words := self.instructions:
            kept = words if isinstance(words, str) else f"by {getattr(words, '__qualname__', '')}"
            parts = (*parts, kept)
        if self.allow_query is not None:
            parts = (*parts, f"queries by {getattr(self.allow_query, '__qualname__', '')}")
        if self.response_format is not None:
            parts = (*parts, str(self.response_format.json_schema))
        joined = encodable("\x00".join(parts))
        return hashlib.blake2b(joined.encode(), digest_size=6).hexdigest()

    def of_run(
        self,
        config: Mapping[str, Any],
        system: str = "",
        variables: Mapping[str, Any] | None = None,
    ) -> Settings:
        """Return the settings of one run: its templates hold its instructions and variables.

        Args:
            config: The config of the run, whose ``configurable`` has the values of variables.
            system: The words of the conversation's system messages, which stand behind the
                instructions.
            variables: Other values of variables, which come first.

        Raises:
            InputError: The function that was given as the instructions returned no text, or a
                variable of the templates has no value.
        """
        values = {**(config.get("configurable") or {}), **(variables or {})}
        templates, words, given = self.templates.filled(values), system, self.instructions
        if given is not None:
            written = getattr(given, "written", None)  # by a framework's prompt template
            text = (
                written(values)
                if written
                else _text_of_run("instructions", given, config, "return a text")
            )
            words = "\n\n".join(each for each in (text, system) if each.strip())
        if words.strip():
            return self.but(templates=templates.behind(words), instructions=None)
        return self if templates is self.templates else self.but(templates=templates)

    def of_question(self, key: Hashable) -> Settings:
        """Return the settings of one question, whose router stays that which it began with.

        Args:
            key: Anything that tells the question apart.
        """
        if not isinstance(self.router, ReloadingRouter):
            return self
        router: Any = self.router.of_question(key)
        comes_along = self.arbiter is cast(object, self.router)
        return self.but(router=router, arbiter=router if comes_along else self.arbiter)

    @property
    def remembers(self) -> bool:
        """Whether what a retriever finds is added to a reference store beside it."""
        store = self.reference_store
        return not (store is None or self.retriever is None or self.retriever is store)

    def scope_of(self, config: Mapping[str, Any]) -> str | None:
        """Return the scope in which a run sees the reference store.

        Args:
            config: The config of the run.

        Returns:
            None for the store as it is, or where there is none.

        Raises:
            InputError: The function that was given as the scope returned no scope.
        """
        if self.reference_store is None or self.scope is None:
            return None
        scope = _text_of_run("scope", self.scope, config, _NO_SCOPE)
        if not scope.strip():
            raise InputError(f"the function given as scope returned an empty text: {_NO_SCOPE}")
        return scope

    def _check_scope(self) -> None:
        scope: object = self.scope
        if self.remembers and scope is None:
            raise InputError(
                "a reference_store beside a retriever needs a scope: give scope=function, which "
                'returns whose a run is, such as the tenant\'s name, or scope="shared" where any '
                "user may read what was found for any other"
            )
        if isinstance(scope, str) and not scope.strip():
            raise InputError("the scope is an empty text: give the name of one")
        if scope is not None and not isinstance(scope, str) and not callable(scope):
            raise InputError(
                f"the scope is {type(scope).__name__}: give a text, or a function that returns one"
            )
        ttl: object = self.ttl
        if ttl is not None and not (isinstance(ttl, int | float) and ttl > 0):
            raise InputError(f"ttl is {ttl!r}: give the seconds for which a passage is remembered")
        if self.reference_store is None and (scope, self.ttl) != (None, None):
            raise InputError(
                "scope and ttl are those of a reference_store: give one, or leave them out"
            )

    @property
    def weighs(self) -> bool:
        """Whether another text may be served than the loop's, once its answer is there."""
        return self.arbiter is not None or self.abstain_below is not None

    def _check_abstaining(self) -> None:
        least: object = self.abstain_below
        if least is None:
            return
        if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1:
            raise InputError(f"abstain_below is {least!r}: give a chance from 0 to 1")
        climbs = isinstance(self.router, ClimbingRouter) and self.router.drafts
        if self.arbiter is None and not climbs:
            raise InputError(
                "abstain_below needs the chance of each answer, which a router estimates that is "
                "calibrated as a ladder or an arbiter: give such a router"
            )

    def stamp(self, *, corpus: str = "", metric: str = "") -> Stamp:
        """What records made with these settings are stamped with."""
        retriever = "" if self.retriever is None else self.retriever.name
        return Stamp(self.model.name, retriever, corpus, self.version, metric)


@runtime_checkable
class ActionAnswerer(QuestionAnswerer, Protocol):
    """Answers a question by every action, sharing what they have in common: what collection asks.

    It is a port like those of `skr_core.ports`, and stands here because it speaks of settings. It
    answers as the graph does that is served.
    """

    @property
    def settings(self) -> Settings:
        """The settings of the system that answers."""
        ...

    def answer_each(
        self,
        question: str,
        *,
        history: Sequence[tuple[str, str]] = (),
        config: Mapping[str, Any] | None = None,
    ) -> Mapping[Action, Answer]:
        """Answer a question by each action.

        Args:
            question: The question.
            history: The messages before it, each a role and a text.
            config: The config of its run, such as a tenant in ``configurable``.

        Returns:
            The answers; their `question` is the one that was routed and searched.
        """
        ...

    async def aanswer_each(
        self,
        question: str,
        *,
        history: Sequence[tuple[str, str]] = (),
        config: Mapping[str, Any] | None = None,
    ) -> Mapping[Action, Answer]:
        """Async version of `answer_each`."""
        ...


@singledispatch
def answerer_of(app: object) -> ActionAnswerer:
    """Return what asks an app by every action: a chain, an engine or a graph, with its own options.

    A package registers the classes that it makes, ``answerer_of.register(SKRChain)(function)``, so
    that whoever collects imports none of them.

    Args:
        app: The app; an `ActionAnswerer` is returned as it is.

    Raises:
        InputError: It is none that can be asked.
    """
    if isinstance(app, ActionAnswerer):
        return app
    raise InputError(
        f"{type(app).__name__} cannot be asked by each action: give what is made of its model and "
        "retriever by create_skr_chain, create_skr_graph, SKRQueryEngine.from_defaults or "
        "GraphAnswerer(Settings.of(model, retriever))"
    )


_PORTS = {
    "arbiter": (AnswerArbiter, "an arbiter", "actions, judge and ajudge"),
    "reference_store": (
        ReferenceStore,
        "a reference store",
        "name, retrieve, aretrieve, add, aadd and in_scope",
    ),
}
_CHOICES = {
    "when_insufficient": get_args(WhenInsufficient),
    "on_retriever_error": get_args(OnRetrieverError),
    "decompose": (True, False),
}


_NO_SCOPE = (
    "nothing is searched or remembered without a scope, so return its name, such as the tenant's"
)


def _text_of_run(
    name: str, given: str | Callable[[Any], str], config: Mapping[str, Any], wanted: str
) -> str:
    """A setting that is a text, or a function that returns one for a run's config.

    Args:
        name: The setting's name.
        given: The setting.
        config: The config of the run.
        wanted: The advice where the function returns no text.
    """
    text: object = given if isinstance(given, str) else given(config)
    if isinstance(text, str):
        return text
    if iscoroutine(text):
        text.close()
    raise InputError(f"the function given as {name} returned {type(text).__name__}: {wanted}")


def _names(metadata_keys: object) -> tuple[str, ...]:
    if isinstance(metadata_keys, str):
        raise InputError("metadata_keys is one text: give a list of names")
    if not isinstance(metadata_keys, Iterable):
        what = type(metadata_keys).__name__
        raise InputError(f"metadata_keys is {what}: give a list of names")
    names = tuple(metadata_keys)
    for each in names:
        if not isinstance(each, str):
            raise InputError(
                f"metadata_keys holds {each!r}, which is no name: give a list of names"
            )
    return names


def _typed(cls: type[T], value: Any) -> T | None:
    """Return what a caller gave, also where a server hands it over as JSON."""
    is_made = value is None or isinstance(value, cls)
    return value if is_made else from_plain(cls, value, strict=True)


def as_router(
    router: object, model: LanguageModel | None = None, retriever: Retriever | None = None
) -> Router:
    """Make a router of what a caller gave.

    Args:
        router: A router, the file of a saved one, or the name of one that needs no records; None
            retrieves always. A router of one method, `decide`, is called in a thread by async runs.
        model: The one that will answer; compared with the file's.
        retriever: The one that will search; compared with the file's.

    Raises:
        InputError: It is neither, or there is no such file.
        StampMismatch: The file's router was made for another model or retriever.

    Example:
        >>> as_router(None).decide("Who?").retrieve
        True
    """
    if router is None:
        return AlwaysRetrieve()
    if isinstance(router, str | Path):
        from skr_core.routers.loading import load_router  # whoever saves nothing needs none of it

        return load_router(router, model=model, retriever=retriever)
    if isinstance(router, type) or not callable(getattr(router, "decide", None)):
        raise _refused("a router has decide", router, "a saved one")
    return router if isinstance(router, Router) else SyncRouter(cast(DecidesSync, router))


def refreshed(router: Router) -> Flow[None]:
    """Begin a question: a router whose file was replaced takes up the new one."""
    if isinstance(router, ReloadingRouter):
        yield from call(router.refresh, router.arefresh)


def decided(router: Router, question: str) -> Flow[Decision]:
    """Ask a router, which may be anybody's; a draft of its own is read without its thoughts.

    Raises:
        InputError: It returned something else than a `Decision`.

    Example:
        >>> from skr_core.flow import run
        >>> run(decided(AlwaysRetrieve(), "Who?")).retrieve
        True
    """
    decision: object = yield from call(router.decide, router.adecide, question)
    if not isinstance(decision, Decision):
        raise _wrong_result(router, "decide", decision, "a Decision: return skr_core.Decision(...)")
    return replace(decision, draft=strip_thoughts(decision.draft)) if decision.draft else decision


def reflected(
    reflector: Reflector, question: str, references: Sequence[Reference], draft: str
) -> Flow[Reflection]:
    """Ask a reflector, which may be anybody's.

    Raises:
        InputError: It returned something else than a `Reflection`.

    Example:
        >>> from skr_core.flow import run
        >>> run(reflected(RefusalReflector(), "Who?", [], "I don't know.")).sufficient
        False
    """
    found: object = yield from call(
        reflector.reflect, reflector.areflect, question, references, draft
    )
    if not isinstance(found, Reflection):
        right = "a Reflection: return skr_core.Reflection(...)"
        raise _wrong_result(reflector, "reflect", found, right)
    return found


def as_reflector(
    reflector: object, model: LanguageModel | None = None, retriever: Retriever | None = None
) -> Reflector:
    """Make a reflector of what a caller gave.

    Args:
        reflector: A reflector, the file of a saved one, or the name of a registered one; None
            reads the verdict from the model's reply. A reflector of one method, `reflect`, is
            called in a thread by async runs.
        model: The one that will answer; compared with the file's.
        retriever: The one that will search; compared with the file's.

    Raises:
        InputError: It is neither, or there is no such file.
        StampMismatch: The file's reflector was made for another model or retriever.

    Example:
        >>> as_reflector(None).reflect("Who?", [], "I don't know.").sufficient
        False
    """
    if reflector is None:
        return RefusalReflector()
    if isinstance(reflector, str | Path):
        from skr_core.routers.loading import registered_by_name

        if not Path(reflector).is_file():
            named = registered_by_name("reflectors", str(reflector), model)
            if named is not None:
                return as_reflector(named)
        from skr_core.routers.loading import class_of
        from skr_core.routers.saving import SavedRouter

        saved = SavedRouter.read(reflector)
        loaded: Reflector = class_of(saved, "reflectors").load(
            saved, model=model, retriever=retriever
        )
        return loaded
    if isinstance(reflector, type) or not callable(getattr(reflector, "reflect", None)):
        raise _refused("a reflector has reflect", reflector, "a learned one")
    if isinstance(reflector, Reflector):
        return reflector
    return SyncReflector(cast(ReflectsSync, reflector))


def hinting(**hints: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Say where keywords belong that users of other libraries give to a function.

    Args:
        **hints: What to do with a keyword that the function does not take.

    Returns:
        A decorator. What it decorates raises TypeError with the hint; the signature stays.

    Example:
        >>> @hinting(k="give it to the retriever")
        ... def create_chain(model, retriever):
        ...     return model
        >>> create_chain("a model", "a retriever", k=3)
        Traceback (most recent call last):
        ...
        TypeError: create_chain() takes no 'k': give it to the retriever
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def hinted(*args: P.args, **kwargs: P.kwargs) -> T:
            for name in kwargs:
                if name in hints:
                    named = function.__qualname__
                    raise TypeError(f"{named}() takes no {name!r}: {hints[name]}")
            return function(*args, **kwargs)

        return hinted

    return decorate


def _wrong_result(part: object, method: str, result: object, right: str) -> InputError:
    name = type(getattr(part, "given", part)).__name__
    if iscoroutine(result):
        result.close()
        return InputError(
            f"{name}.{method} is async: make it sync, and put the async form beside it as a{method}"
        )
    return InputError(f"{name}.{method} returned {type(result).__name__}, not {right}")


def _refused(what: str, given: object, saved: str = "") -> InputError:
    if isinstance(given, type):
        return InputError(f"{what}: give {given.__name__}(...), not the class itself")
    lacking = f"{what}, which {type(given).__name__} lacks"
    return InputError(f"{lacking}: give one" + (f", or the file of {saved}" if saved else ""))
