"""The ports: what the project asks of the outside, one verb and its awaitable twin each.

Anything with these methods fits; nothing needs to be inherited. Adapters for LangChain and
LlamaIndex objects are in their plug-ins.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from skr_core.types import (
    Action,
    Answer,
    Decision,
    Generation,
    Prompt,
    Reference,
    Reflection,
    Verdict,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from skr_core.candidates import CandidateAnswer

    Vectors = NDArray[np.float32]
    """Shape (n, d), one row a text, each of length 1."""

OnToken = Callable[[str], None]
"""Called with each piece of a reply as it is made; must return at once."""

OnProgress = Callable[[int, int | None], None]
"""Called with how much is done, and of how much; None while that is not known yet."""


@runtime_checkable
class LanguageModel(Protocol):
    """Turns a prompt into text.

    `name` identifies the model in records, for example ``openai:gpt-4.1-mini``. Implementations
    raise `skr_core.errors.ModelError` when no usable reply can be had. `on_token`, when given,
    receives pieces that add up to the reply's text, or the whole at once from a model that does
    not stream. A model that sends ``prompt.schema`` to its provider has a true `takes_schemas`;
    for others the prompt's text shows the schema.
    """

    @property
    def name(self) -> str: ...

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation: ...

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation: ...


@runtime_checkable
class Retriever(Protocol):
    """Finds references for a query, best first. `name` identifies it in records."""

    @property
    def name(self) -> str: ...

    def retrieve(self, query: str) -> Sequence[Reference]: ...

    async def aretrieve(self, query: str) -> Sequence[Reference]: ...


@runtime_checkable
class ArrangingRetriever(Retriever, Protocol):
    """A retriever whose references a model reads in another order than that of their ranks.

    `arrange` returns the same references, which it is given best first, in the order in which they
    are read.
    """

    def arrange(self, references: Sequence[Reference]) -> Sequence[Reference]: ...

    async def aarrange(self, references: Sequence[Reference]) -> Sequence[Reference]: ...


@runtime_checkable
class ReferenceStore(Retriever, Protocol):
    """A retriever that can also remember, each passage in a scope, such as that of a tenant.

    A store finds and adds the passages of one scope alone: ``shared``, until `in_scope` gives the
    view of another, whose `name` is the same. `add` returns how many passages were new to the
    scope, for those that are there are not added again; `ttl` is the seconds for which they are
    found, None for ever.
    """

    def add(self, references: Sequence[Reference], *, ttl: float | None = None) -> int: ...

    async def aadd(self, references: Sequence[Reference], *, ttl: float | None = None) -> int: ...

    def in_scope(self, scope: str) -> ReferenceStore:
        """Return the view of another scope; one is made for each search, so it does no work."""
        ...


@runtime_checkable
class Router(Protocol):
    """Decides whether a question needs retrieval."""

    def decide(self, question: str) -> Decision: ...

    async def adecide(self, question: str) -> Decision: ...


@runtime_checkable
class DraftRouter(Router, Protocol):
    """A router that may look at the model's direct answer, where `drafts` says so.

    The system asks for that answer in its own words and hands it on; a known question is then
    answered with it.
    """

    @property
    def drafts(self) -> bool: ...

    def decide_on(self, question: str, direct: Generation) -> Decision: ...

    async def adecide_on(self, question: str, direct: Generation) -> Decision: ...


@runtime_checkable
class ClimbingRouter(DraftRouter, Protocol):
    """A router that decides again once the first round of retrieval has answered.

    `actions` are those it chooses among; the decision is to go on, or to end after that round:
    ``max_rounds`` is 1.
    """

    @property
    def actions(self) -> Sequence[Action]: ...

    def decide_after(
        self, question: str, answers: Mapping[Action, CandidateAnswer]
    ) -> Decision: ...

    async def adecide_after(
        self, question: str, answers: Mapping[Action, CandidateAnswer]
    ) -> Decision: ...


@runtime_checkable
class ConfirmingRouter(ClimbingRouter, Protocol):
    """A router that may look at what the first search found, before the model reads it.

    Where `searches` says so, its first decision is to search, and `decide_after` is asked again
    with the direct answer alone, whose `confirmation` tells how it stands in what was found.
    """

    @property
    def searches(self) -> bool: ...


@runtime_checkable
class ReloadingRouter(Router, Protocol):
    """A router whose file may be replaced while it serves.

    `refresh` looks at the file, once at the beginning of a question; `of_question` returns the
    router that this question began with, by anything that tells it apart.
    """

    def refresh(self) -> None: ...

    async def arefresh(self) -> None: ...

    def of_question(self, key: Hashable) -> Router: ...


@runtime_checkable
class AnswerArbiter(Protocol):
    """Judges which of several answers to a question to serve.

    `actions` are those whose answers it weighs, ``direct`` first; the verdict names one of them.
    """

    @property
    def actions(self) -> Sequence[Action]: ...

    def judge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Verdict: ...

    async def ajudge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Verdict: ...


@runtime_checkable
class Reflector(Protocol):
    """Judges whether references suffice for a draft."""

    def reflect(self, question: str, references: Sequence[Reference], draft: str) -> Reflection: ...

    async def areflect(
        self, question: str, references: Sequence[Reference], draft: str
    ) -> Reflection: ...


Entailment = Literal["entailment", "neutral", "contradiction"]


@runtime_checkable
class EntailmentModel(Protocol):
    """Says for each (premise, hypothesis) whether the first entails the second.

    None is a judge that gave no verdict: it is counted, and never taken for one.
    """

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]: ...

    async def apredict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]: ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors. `name` is recorded by stores and routers."""

    @property
    def name(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> Vectors: ...

    async def aembed(self, texts: Sequence[str]) -> Vectors: ...


@runtime_checkable
class QuestionAnswerer(Protocol):
    """Answers questions: what evaluation judges.

    An `action` overrides what the system would decide by itself; one that decides nothing, such as
    a prompt baseline, ignores it.
    """

    def answer(self, question: str, action: Action | None = None) -> Answer: ...

    async def aanswer(self, question: str, action: Action | None = None) -> Answer: ...


def version_of(part: object) -> str:
    """Return what a model or retriever says of its own settings that decide what it gives.

    Returns:
        Its ``version``; empty where it has none.

    Example:
        >>> from skr_core.testing import MappingRetriever
        >>> version_of(MappingRetriever({}))
        ''
    """
    return str(getattr(part, "version", ""))


def temperature_of(model: object) -> float | None:
    """Return the temperature of a model's replies; None where it says none.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> temperature_of(ScriptedModel()) is None
        True
    """
    temperature = getattr(model, "temperature", None)
    return float(temperature) if isinstance(temperature, int | float) else None
