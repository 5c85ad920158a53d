"""What a question-answering system is made of: described once, used wherever one is built.

The graph's factory, both plug-ins, collection, evaluation, the experiments and the command all take
these settings. What is measured with them is therefore what is served with them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self, TypeVar, get_args

from typing_extensions import TypedDict, Unpack

from skr_core.budget import Budget
from skr_core.errors import InputError
from skr_core.models.adapting import AnyModel, AnyRetriever, as_language_model, as_retriever
from skr_core.options import refuse_unknown
from skr_core.parts import ArbiterLike as ArbiterLike
from skr_core.parts import ReflectorLike as ReflectorLike
from skr_core.parts import RouterLike as RouterLike
from skr_core.parts import as_arbiter as as_arbiter
from skr_core.parts import as_reflector as as_reflector
from skr_core.parts import as_router as as_router
from skr_core.parts import uses_likelihoods as uses_likelihoods
from skr_core.parts import with_arbiter as with_arbiter
from skr_core.plain import from_plain, to_plain
from skr_core.ports import (
    AnswerArbiter,
    LanguageModel,
    ReferenceStore,
    Reflector,
    Retriever,
    Router,
    TextScorer,
)
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates
from skr_core.reflectors.refusal import RefusalReflector
from skr_core.routers.constant import AlwaysRetrieve
from skr_core.texts import encodable
from skr_core.types import Demonstration, Stamp

T = TypeVar("T")

WhenInsufficient = Literal["best_draft", "own_knowledge", "refuse"]
"""What is answered when the references never sufficed.

``best_draft`` is the latest draft that cites a reference, else the latest one that answers, else a
refusal that names what is missing; ``own_knowledge`` asks the model once more in place of a draft
that cites nothing or a refusal, for the best it can say (W2R Figure 10); ``refuse`` always refuses.
"""

OnRetrieverError = Literal["raise", "continue"]
"""What happens when every search of the first round fails: a `RetrieverError`, or an answer without
references, whose stop reason is ``retriever_failed``."""


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


@dataclass(frozen=True)
class Settings:
    """One system. `of` makes them from what a caller gives; nothing else needs to be said twice.

    Attributes:
        model: Answers, and names what is missing.
        retriever: Finds references. A system that never retrieves needs none.
        router: Decides whether to retrieve, and for how many rounds; always, by default. A folder
            written by ``skr calibrate`` is loaded for this model and this retriever.
        reflector: Judges drafts; by default the verdict is read from the model's reply. A folder
            that a `LearnedReflector` was saved in is loaded for this model and this retriever.
        store: Remembers what the retriever found, and is searched beside it.
        budget: The limits of a question.
        when_insufficient: What is answered when the references never sufficed, see
            `WhenInsufficient`.
        on_retriever_error: See `OnRetrieverError`.
        demonstrations: Worked examples for the answer prompts (SKR §3.1).
        templates: The words of the prompts.
        decompose: Ask for the parts of a question before the first search; one call more.
        metadata_keys: What of a reference's metadata the model sees, beside its title.
        arbiter: Decides, where references were retrieved, whether their answer is served or the
            model's own, which is asked for with one call more. A router that is an arbiter too (a
            `Ladder`), or whose folder holds one, brings it along; without, the answer from
            references is always served. A refusal is weighed like any answer, but stands where
            `when_insufficient` is ``refuse``.
        likelihoods: Tells how likely the model finds answers that are there: for an arbiter that
            decides by that, and for records that it learns from. Of two answers it is asked six
            short questions, of which nothing is generated; they count as calls.

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
    store: ReferenceStore | None = None
    budget: Budget = Budget()
    when_insufficient: WhenInsufficient = "best_draft"
    on_retriever_error: OnRetrieverError = "raise"
    demonstrations: tuple[Demonstration, ...] = ()
    templates: PromptTemplates = DEFAULT_TEMPLATES
    decompose: bool = False
    metadata_keys: tuple[str, ...] = ()
    arbiter: AnswerArbiter | None = None
    likelihoods: TextScorer | None = None

    @classmethod
    def of(
        cls,
        model: AnyModel | None,
        retriever: AnyRetriever | None = None,
        **options: Unpack[SettingsOptions],
    ) -> Self:
        """Make settings of what a caller gave; None leaves a default.

        Args:
            model: Must be given. A framework's is adapted.
            retriever: May be missing where nothing is retrieved. A framework's is adapted.
            **options: Those of `SettingsOptions`. A server gives budget, demonstrations and
                templates as plain objects.

        Raises:
            InputError: There is no model, or something is not what its name says.
            OptionError: There is no setting of that name.
            StampMismatch: The folder of the router, the arbiter or the reflector was made for
                another model or retriever.
        """
        if model is None:
            raise InputError("no model: give one to the factory or in the run's context")
        refuse_unknown("a system", options, [each.name for each in fields(cls)])
        model = as_language_model(model)
        retriever = None if retriever is None else as_retriever(retriever)
        given: dict[str, Any] = {
            name: value for name, value in with_arbiter(options).items() if value is not None
        }
        if "router" in given:
            given["router"] = as_router(given["router"], model, retriever)
        if "arbiter" not in given and isinstance(given.get("router"), AnswerArbiter):
            given["arbiter"] = given["router"]
        if "arbiter" in given:
            given["arbiter"] = as_arbiter(given["arbiter"], model, retriever)
        if "reflector" in given:
            given["reflector"] = as_reflector(given["reflector"], model, retriever)
        if "budget" in given:
            given["budget"] = _typed(Budget, given["budget"])
        if "templates" in given:
            given["templates"] = _typed(PromptTemplates, given["templates"])
        if "demonstrations" in given:
            shown = given["demonstrations"]
            given["demonstrations"] = tuple(_typed(Demonstration, each) for each in shown)
        if "metadata_keys" in given:
            given["metadata_keys"] = _names("metadata_keys", given["metadata_keys"])
        for name, (port, noun, methods) in _PORTS.items():
            if name in given and not isinstance(given[name], port):
                what = type(given[name]).__name__
                raise InputError(f"{noun} has {methods}, which {what} lacks")
        if uses_likelihoods(given.get("arbiter")) and "likelihoods" not in given:
            raise InputError(
                "this arbiter decides by how likely the model finds the answers: give likelihoods, "
                "such as skr_core.models.completions.CompletionScorer"
            )
        for name, choices in _CHOICES.items():
            if name in given and given[name] not in choices:
                raise InputError(f"{name} is {given[name]!r}: give one of {', '.join(choices)}")
        return cls(model=model, retriever=retriever, **given)

    def but(self, **options: Any) -> Self:
        """The same system with some settings replaced.

        Example:
            >>> from skr_core.testing import ScriptedModel
            >>> Settings(ScriptedModel()).but(budget=Budget(max_rounds=1)).budget.max_rounds
            1
        """
        return replace(self, **options)

    @property
    def version(self) -> str:
        """A hash of everything but model, retriever, router and arbiter that decides what is said.

        Records that were made with other words, limits or reflectors are told apart by it. What
        concerns conversations is left out: records are made of single questions.
        """
        reflector = self.reflector
        budget = to_plain(self.budget)
        del budget["max_history_tokens"]
        for name in ("max_reply_tokens", "max_spend", "price"):  # as before there were these
            if budget[name] is None:
                del budget[name]
        parts = (
            self.templates.version,
            repr(to_plain(self.demonstrations)),
            repr(budget),
            self.when_insufficient,
            str(getattr(reflector, "name", type(reflector).__name__)),
            "" if self.store is None else self.store.name,
            "decompose" if self.decompose else "",
            *self.metadata_keys,
        )
        joined = encodable("\x00".join(parts))
        return hashlib.blake2b(joined.encode(), digest_size=6).hexdigest()

    def stamp(self, *, corpus: str = "", metric: str = "") -> Stamp:
        """What records made with these settings are stamped with."""
        retriever = "" if self.retriever is None else self.retriever.name
        return Stamp(self.model.name, retriever, corpus, self.version, metric)


_PORTS = {
    "store": (ReferenceStore, "a store", "name, retrieve, aretrieve, add and aadd"),
    "likelihoods": (TextScorer, "what tells likelihoods", "name, score and ascore"),
}
_CHOICES = {
    "when_insufficient": get_args(WhenInsufficient),
    "on_retriever_error": get_args(OnRetrieverError),
}


def _names(option: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str):
        raise InputError(f"{option} is one text: give a list of names")
    if not isinstance(given, Iterable):
        raise InputError(f"{option} is {type(given).__name__}: give a list of names")
    names = tuple(given)
    for each in names:
        if not isinstance(each, str):
            raise InputError(f"{option} holds {each!r}, which is no name: give a list of names")
    return names


def _typed(cls: type[T], value: Any) -> T:
    """What a caller gave, where a server hands it over as JSON."""
    return value if isinstance(value, cls) else from_plain(cls, value, strict=True)
