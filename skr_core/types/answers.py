"""What the user gets, how it came about, and what it was made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from skr_core.types.calls import NO_USAGE, Usage
from skr_core.types.decisions import Decision, Reflection, Verdict
from skr_core.types.references import Reference

StopReason = Literal[
    "known",
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
        reference_id: Of the reference it names.
        sentence: The answer's sentence that it stands in.
        span: Start and end of the marker in the answer's text.
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
        queries: What was searched.
        found: Ids of the references that no earlier round had found, best first.
        given: Ids of the references the draft was given, in the order of its [n] markers.
        draft: The answer tried; empty where none was.
        reflection: The judgement of the draft; None where there was no draft.
        errors: What failed, one line each.
        usage: What drafting cost; what judging cost is in the reflection.
    """

    queries: tuple[str, ...]
    found: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    draft: str = ""
    reflection: Reflection | None = None
    errors: tuple[str, ...] = ()
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user gets.

    Attributes:
        question: What was asked.
        text: The answer with its [n] markers; n counts `references` from 1.
        citations: The markers, resolved.
        references: What the answer was given, in the order of the markers.
        decision: Whether retrieval was judged necessary.
        rounds: What each round searched, found, drafted and concluded; empty when known.
        stop_reason: Why the loop ended.
        usage: Cost by task.
        removed_markers: Markers that named no supplied reference and were taken out.
        logprob: Mean natural-log probability of a direct answer's tokens, where it is known.
        grounded: Whether it rests on references: it cites one, and was written from references
            alone. Without, it is what the model says from memory, or a refusal.
        verdict: Which of several answers it is, and why; None where no arbiter weighed any.
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

    @property
    def total_usage(self) -> Usage:
        """Cost over all tasks."""
        return sum(self.usage.values(), NO_USAGE)

    @property
    def cited_references(self) -> tuple[Reference, ...]:
        """The references that the text cites, in the order of the references."""
        cited = {citation.reference_id for citation in self.citations}
        return tuple(reference for reference in self.references if reference.id in cited)


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a record was made with; records of different stamps cannot be compared.

    Attributes:
        model: The language model's name.
        retriever: The retriever's name.
        corpus: What was searched, as its collector calls it.
        system: A hash of everything else that decides what is answered: prompts, demonstrations,
            budget, reflector and what is done when the references do not suffice. See
            `skr_core.settings.Settings.version`.
        metric: What the scores measure.
    """

    model: str = ""
    retriever: str = ""
    corpus: str = ""
    system: str = ""
    metric: str = ""
