"""The values that cross module borders: frozen dataclasses, no behaviour beyond derived numbers.

The *question* is what the user asked and never changes; a *query* is what is searched. In the order
in which they come about: references, calls of a language model, decisions, answers.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Metadata = Mapping[str, str | int | float | bool]
"""Flat values only, as every vector store can keep them beside a text."""

PLAIN: Mapping[str, Any] = {"plain": True}
"""Marks a field of a dataclass whose values are plain already, see `skr_core.plain.to_plain`."""

_INTEGERS = range(-(2**63), 2**63)
"""Stores count in 64 bits."""


def flat_metadata(metadata: Mapping[Any, Any]) -> Metadata:
    """The part of a document's metadata that a store can hold.

    Texts, booleans, finite numbers and integers of 64 bits stay; the rest is left out, so that one
    odd value keeps no document out.

    Example:
        >>> flat_metadata({"page": 3, "tags": ["a"], "score": float("nan"), "author": None})
        {'page': 3}
    """
    return {key: value for key, value in metadata.items() if isinstance(key, str) and _flat(value)}


def _flat(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return value in _INTEGERS
    return isinstance(value, str)


def content_id(text: str, title: str = "") -> str:
    """The identity of a reference: a hash of its content, so that adding it twice changes nothing.

    It has 32 hexadecimal digits.

    Example:
        >>> content_id("Paris is the capital of France.") == content_id("Paris is a city.")
        False
    """
    content = f"{title}\x00{text}".encode(errors="surrogatepass")
    return hashlib.blake2b(content, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Reference:
    """A passage that can be cited.

    Attributes:
        id: The hash of title and text, see `content_id`.
        text: The passage.
        title: The title of the document it comes from; empty where unknown.
        score: The retriever's own score; comparable within one query only. None where it gives
            none.
        metadata: Flat values, such as the source's path and page.
        shown: The text that a prompt shows of it, where its source chooses one; by default title
            and text.
        original: The document or node it was made from, as plain values without the text, so that
            the very same comes back. None for references of this project's own.
        also_in: The originals of other documents that say the same, word by word.
        found_by: The names of the retrievers that found it, where several have names.
    """

    id: str
    text: str
    title: str = ""
    score: float | None = None
    metadata: Metadata = field(default_factory=dict, compare=False)
    shown: str | None = field(default=None, compare=False)
    original: Mapping[str, Any] | None = field(
        default=None, compare=False, repr=False, metadata=PLAIN
    )
    also_in: tuple[Mapping[str, Any], ...] = field(
        default=(), compare=False, repr=False, metadata=PLAIN
    )
    found_by: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def of(
        cls,
        text: str,
        title: str = "",
        *,
        score: float | None = None,
        metadata: Metadata | None = None,
        shown: str | None = None,
        original: Mapping[str, Any] | None = None,
    ) -> Reference:
        """Make a reference whose id is its content's hash."""
        identity = content_id(text, title)
        return cls(identity, text, title, score, dict(metadata or {}), shown, original)


Task = Literal[
    "condense",
    "answer_directly",
    "answer_with_references",
    "answer_anyway",
    "self_complete",
    "decompose",
    "ask_certainty",
    "ask_need",
    "judge",
    "write_question",
]
"""The task of a prompt; usage is counted by it."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A worked example inside a prompt (SKR §3.1): question, passages where given, answer."""

    question: str
    answer: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """An image that a model is shown beside the text of a prompt.

    Attributes:
        url: The address, which the provider reads; empty where the data are here.
        data: The bytes in base64; empty where there is an address.
        mime_type: The type, such as ``image/png``; may be empty.
        name: The name that the prompt's text has for it, such as ``[image 1]``; empty where it
            belongs to the question alone.
    """

    url: str = ""
    data: str = field(default="", repr=False)
    mime_type: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a language model, with the parts it was rendered from.

    Attributes:
        task: The task that the model is given.
        text: The rendered text, sent as the last user message.
        question: The user's question.
        references: The references, in the order in which the text numbers them, from 1.
        demonstrations: The worked examples rendered into the text.
        queries: The queries that have been searched already, so that none is asked twice.
        history: The earlier turns, user and assistant in turn, beginning with the user.
        states_verdict: Whether the text asks for the verdict's line before the answer.
        system: The system message; may be empty.
        images: The images of the question and of the turns, where an answer is asked for.
        sample: The number of the reply, where several to the same words are wanted; a cache keeps
            them apart by it.
        schema: The JSON Schema of the reply, where an object is wanted. A model whose
            ``takes_schemas`` is true sends it by its provider's own means; for any other the text
            shows it.
    """

    task: Task
    text: str
    question: str
    references: tuple[Reference, ...] = ()
    demonstrations: tuple[Demonstration, ...] = ()
    queries: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    states_verdict: bool = False
    system: str = ""
    images: tuple[Image, ...] = ()
    sample: int = 0
    schema: Mapping[str, Any] | None = field(default=None, hash=False, metadata=PLAIN)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and calls spent; usages can be added.

    Replies from a cache of ours cost nothing. They are counted separately, with the tokens that
    they took when they were made. A provider's own cache is another matter: it knows the beginning
    of a prompt, which is sent all the same and costs less.

    Attributes:
        prompt_tokens: Tokens sent.
        completion_tokens: Tokens received.
        calls: Requests to a language model.
        estimated: True when any part was counted here, because the provider gave no figure.
        cached_calls: Requests that a cache answered.
        cached_prompt_tokens: Tokens that it saved sending.
        cached_completion_tokens: Tokens that it saved receiving.
        cache_read_tokens: The tokens among `prompt_tokens` that the provider read from its cache.
        cached_cache_read_tokens: The tokens among `cached_prompt_tokens` that it had read so.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    estimated: bool = False
    cached_calls: int = 0
    cached_prompt_tokens: int = 0
    cached_completion_tokens: int = 0
    cache_read_tokens: int = 0
    cached_cache_read_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def uncached(self) -> Usage:
        """The usage as it would have been without a cache: what a system costs to run.

        Example:
            >>> usage = Usage(30, 2, calls=1) + Usage(40, 3, calls=1).from_cache()
            >>> usage.uncached == Usage(70, 5, calls=2)
            True
        """
        return Usage(
            self.prompt_tokens + self.cached_prompt_tokens,
            self.completion_tokens + self.cached_completion_tokens,
            self.calls + self.cached_calls,
            self.estimated,
            cache_read_tokens=self.cache_read_tokens + self.cached_cache_read_tokens,
        )

    def from_cache(self) -> Usage:
        """The same usage where a cache gave all of it: nothing is spent.

        Example:
            >>> usage = Usage(40, 3, calls=1).from_cache()
            >>> usage.calls, usage.total_tokens, usage.cached_calls, usage.cached_prompt_tokens
            (0, 0, 1, 40)
        """
        whole = self.uncached
        return Usage(
            estimated=self.estimated,
            cached_calls=whole.calls,
            cached_prompt_tokens=whole.prompt_tokens,
            cached_completion_tokens=whole.completion_tokens,
            cached_cache_read_tokens=whole.cache_read_tokens,
        )

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            self.estimated or other.estimated,
            self.cached_calls + other.cached_calls,
            self.cached_prompt_tokens + other.cached_prompt_tokens,
            self.cached_completion_tokens + other.cached_completion_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cached_cache_read_tokens + other.cached_cache_read_tokens,
        )


NO_USAGE = Usage()
CUT_OFF = "cut_off"
"""The finish reason of a stream that ended without one."""

_CUT_OFF = frozenset({"length", "max_tokens", "content_filter", "safety", "recitation", CUT_OFF})
"""Finish reasons of OpenAI, Anthropic and Google, in lower case, and ours."""


@dataclass(frozen=True, slots=True)
class Generation:
    """A language model's reply.

    Attributes:
        text: The reply.
        usage: The usage of the call.
        logprobs: The natural-log probability of each token, where the provider returned them.
        finish_reason: The reason why the model ended, in the provider's word; empty where unknown.
        tokens: The text of each token that has a log-probability; empty where unknown.
    """

    text: str
    usage: Usage = NO_USAGE
    logprobs: tuple[float, ...] | None = None
    finish_reason: str = ""
    tokens: tuple[str, ...] = field(default=(), repr=False)

    @property
    def is_cut_off(self) -> bool:
        """Whether the reply ended before the model had: too long, or filtered.

        Example:
            >>> Generation("Paris is", finish_reason="length").is_cut_off
            True
        """
        return self.finish_reason.lower() in _CUT_OFF

    @property
    def mean_logprob(self) -> float | None:
        """The mean natural-log probability of the tokens; None where the provider gave none.

        Example:
            >>> Generation("Paris", logprobs=(-1.0, -2.0)).mean_logprob
            -1.5
        """
        mean = math.fsum(self.logprobs) / len(self.logprobs) if self.logprobs else math.nan
        return mean if math.isfinite(mean) else None


Action = Literal["direct", "single", "loop"]
"""Answer without retrieval, after one round of it, or after as many rounds as it takes."""

ACTIONS: tuple[Action, ...] = ("direct", "single", "loop")
"""All actions, from the cheapest to the dearest."""

Effect = Literal["helps", "hurts", "same"]
"""The effect of retrieval on the score of an answer."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A recorded question near the one asked, as evidence for a decision.

    Attributes:
        question: The recorded question.
        similarity: The cosine, -1 to 1.
        effect: The effect of retrieval on its answer.
        benefit: The score with retrieval minus the score without, -1 to 1.
    """

    question: str
    similarity: float
    effect: Effect
    benefit: float


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to retrieve, and why.

    Attributes:
        retrieve: True when the question is judged unknown to the model.
        max_rounds: The most rounds of retrieval: 1 is a single round, None leaves it to the budget.
        score: The expected benefit of retrieval; None where the router has no score.
        threshold: The score above which retrieval happens; None where there is no score.
        reason: One sentence for people.
        neighbours: The evidence of nearest-neighbour routers.
        usage: The usage of the decision itself.
        draft: The direct answer that the decision rests on; served when the question is known.
        chance: The estimated chance that the answer at hand is right, which is served where no more
            is retrieved; None where there is none, or the router estimates none.
        novelty: The share of the question's words that the router's records do not hold; None where
            that is not known.
        novel: Whether the question is less like the records than 99 % of them are like the others;
            None where that is not known.
    """

    retrieve: bool
    max_rounds: int | None = None
    score: float | None = None
    threshold: float | None = None
    reason: str = ""
    neighbours: tuple[Neighbour, ...] = ()
    usage: Usage = NO_USAGE
    draft: str = ""
    chance: float | None = None
    novelty: float | None = None
    novel: bool | None = None

    @property
    def action(self) -> Action:
        """The action that follows from the decision.

        Example:
            >>> Decision(True, max_rounds=1).action
            'single'
        """
        if not self.retrieve:
            return "direct"
        return "single" if self.max_rounds == 1 else "loop"


@dataclass(frozen=True, slots=True)
class Reflection:
    """A judgement of a draft against its references (RaLLM §5.1).

    Attributes:
        sufficient: True when the references suffice and the draft stands.
        reason: One sentence for people.
        missing: The missing information in words, for the next queries; may be empty.
        usage: The usage of the judgement; nothing where it was read from the draft.
    """

    sufficient: bool
    reason: str = ""
    missing: str = ""
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class Verdict:
    """The choice of an answer among those at hand, with its reason.

    Attributes:
        served: The action whose answer is served.
        chances: The estimated chance of each answer to be right, by action.
        reason: One sentence for people.
        answers: The texts that were weighed, by action; filled in by the graph.
    """

    served: Action
    chances: Mapping[Action, float]
    reason: str
    answers: Mapping[Action, str] = field(default_factory=dict, hash=False)


StopReason = Literal[
    "known",
    "confirmed",
    "sufficient",
    "uncited",
    "no_new_queries",
    "no_new_references",
    "not_worth_it",
    "max_rounds",
    "max_calls",
    "max_tokens",
    "max_spend",
    "deadline",
    "retriever_failed",
    "model_failed",
]
"""Why the loop ended."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A marker in an answer, resolved.

    Attributes:
        marker: The number as printed, from 1.
        reference_id: The id of the reference it names.
        sentence: The answer's sentence that it stands in.
        span: Start and end of the marker in the answer's text; (0, 0) for an object, whose
            citations stand beside it.
        quote: The sentence of the reference that supports the answer's sentence best, word by
            word; empty where they share no word.
        quote_span: Start and end of the quote in the reference's text.
    """

    marker: int
    reference_id: str
    sentence: str
    span: tuple[int, int]
    quote: str = ""
    quote_span: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Round:
    """One turn of the loop.

    Attributes:
        queries: The queries that were searched.
        found: The ids of the references that no earlier round had found, best first.
        given: The ids of the references that the draft rests on, in the order of its [n] markers.
        draft: The answer that was drafted; empty where none was.
        reflection: The judgement of the draft; None where there was no draft.
        errors: The failures, one line each.
        usage: The usage of drafting; that of judging stands in the reflection.
        citations: The numbers that the draft cites, where it is an object; a text has markers.
        refused: The queries that ``allow_query`` refused, which were not searched.
    """

    queries: tuple[str, ...]
    found: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    draft: str = ""
    reflection: Reflection | None = None
    errors: tuple[str, ...] = ()
    usage: Usage = NO_USAGE
    citations: tuple[int, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as the user gets it, with how it came about.

    Attributes:
        question: The question as it was asked.
        text: The answer with its [n] markers; n counts `references` from 1.
        citations: The markers, resolved.
        references: The references that the model was given, in the order of the markers.
        decision: The decision whether to retrieve.
        rounds: The rounds of the loop; empty where the question was known.
        stop_reason: The reason why the loop ended.
        usage: The usage by task.
        removed_markers: The number of markers that named no supplied reference and were taken out.
        logprob: The mean natural-log probability of a direct answer's tokens, where it is known.
        grounded: Whether it rests on references: it is sufficient, cites one, and was written from
            references alone. Otherwise it is a part of an answer, the model answers from memory, or
            it refuses.
        verdict: The choice among several answers; None where no arbiter weighed any.
        sufficient: Whether it is held to answer the whole question: the references were found to
            suffice, or the model knew. The text of an answer that is a part of one says so.
        missing: The information that was found missing, in the model's words; may be empty.
        structured: With a ``response_format``, the answer's object as plain values, whose JSON the
            text is; None where there is none, as where the text refuses.
        chance: The estimated chance that it is right, from 0 to 1, by a calibrated policy that
            looks at answers; None without one. Below ``abstain_below`` the text is another.
    """

    question: str
    text: str
    citations: tuple[Citation, ...]
    references: tuple[Reference, ...]
    decision: Decision
    rounds: tuple[Round, ...]
    stop_reason: StopReason
    usage: Mapping[str, Usage]
    removed_markers: int = 0
    logprob: float | None = None
    grounded: bool = False
    verdict: Verdict | None = None
    sufficient: bool = False
    missing: str = ""
    structured: Any = None
    chance: float | None = None

    @property
    def total_usage(self) -> Usage:
        """The usage over all tasks."""
        return sum(self.usage.values(), NO_USAGE)

    @property
    def is_partial(self) -> bool:
        """Whether the references support a part of what was asked, and the text says so."""
        return bool(self.citations) and not self.sufficient and "answer_anyway" not in self.usage

    @property
    def cited_references(self) -> tuple[Reference, ...]:
        """The references that the text cites, in the order of the references."""
        cited = {citation.reference_id for citation in self.citations}
        return tuple(reference for reference in self.references if reference.id in cited)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The system that a record was made with; records of different stamps cannot be compared.

    Attributes:
        model: The language model's name.
        retriever: The retriever's name.
        corpus: The name of what was searched, as its collector calls it.
        system: A hash of everything else that decides the answers: prompts, demonstrations,
            budget, reflector, temperature, the retriever's settings and what is done when the
            references do not suffice. See `skr_core.settings.Settings.version`.
        metric: The metric of the scores.
    """

    model: str = ""
    retriever: str = ""
    corpus: str = ""
    system: str = ""
    metric: str = ""
