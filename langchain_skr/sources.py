"""An answer with its sources, whole and in pieces: the shape of ``create_retrieval_chain``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired

from langchain_core.documents import Document
from langchain_core.runnables.utils import AddableDict
from typing_extensions import TypedDict

_RETRACTED = ("answer", "context")


class AnswerWithSources(TypedDict):
    """What a chain with ``return_sources=True`` gives, beside all that it was given.

    Attributes:
        question: As asked, where the input was a string or said so.
        input: As asked, where the input said so.
        context: What the answer was given; its [n] markers count these from 1. Empty where the
            model answered from what it knows.
        answer: The text.
        citations: The markers, resolved: `skr_core.types.Citation` as plain values, whose
            ``reference_id`` is the document's id, where it has one.
        stop_reason: Why the loop ended.
        grounded: Whether the answer rests on its context, see `skr_core.types.Answer`.
        verdict: With an arbiter, which of the answers it is and why: `skr_core.types.Verdict` as
            plain values.
    """

    question: NotRequired[str]
    input: NotRequired[str]
    context: list[Document]
    answer: str
    citations: list[dict[str, Any]]
    stop_reason: str
    grounded: bool
    verdict: NotRequired[dict[str, Any]]


MADE = AnswerWithSources.__annotations__.keys() - {"question", "input"}
"""The keys of what was found and answered."""


class SourcesChunk(AddableDict):
    """A piece of an answer with sources; pieces add up to the whole.

    A piece ``{"retract": True}`` says that the answer so far is taken back, with its context: the
    sum holds neither, and whoever shows the pieces as they come clears them.

    Example:
        >>> pieces = [{"answer": "Ly"}, {"retract": True}, {"answer": "Par"}, {"answer": "is"}]
        >>> sum(map(SourcesChunk, pieces), SourcesChunk(context=[]))
        {'answer': 'Paris'}
    """

    def __add__(self, other: Mapping[str, Any]) -> SourcesChunk:
        if "retract" in other:
            return SourcesChunk({key: self[key] for key in self if key not in _RETRACTED})
        whole = SourcesChunk({**self, **other})
        if "answer" in self and "answer" in other:
            whole["answer"] = self["answer"] + other["answer"]
        return whole

    def __radd__(self, other: Mapping[str, Any]) -> SourcesChunk:
        return SourcesChunk(other) + self
