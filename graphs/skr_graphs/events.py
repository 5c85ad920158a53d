"""The events of a run, typed, in ``stream_mode="custom"``.

Each is a plain dict with its kind under ``type``, so that servers can pass it on as JSON. Each is
made by one function here, so that the declared events are those that the steps write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from typing_extensions import TypedDict

from skr_core.plain import Plain, from_plain
from skr_core.types import Reference

StartedTask = Literal[
    "condense",
    "route",
    "decompose",
    "answer_directly",
    "answer_with_references",
    "reflect",
    "self_complete",
    "answer_anyway",
    "arbitrate",
]
"""The tasks that may call a model."""


class CondenseEvent(TypedDict):
    """The model was asked for the question without its conversation; an error left it as it is."""

    type: Literal["condense"]
    question: str
    error: str


class RouteEvent(TypedDict):
    """The decision was made."""

    type: Literal["route"]
    decision: Plain


class StartEvent(TypedDict):
    """A task is about to begin, which may take its time: its name is that in `usage`.

    Rounds count from 1; before the first it is 0.
    """

    type: Literal["start"]
    task: StartedTask
    round: int


class QueryEvent(TypedDict):
    """A query is about to be searched."""

    type: Literal["query"]
    round: int
    query: str


class ReferencesEvent(TypedDict):
    """A round's references are in hand: those it added, and the number handed to the model."""

    type: Literal["references"]
    round: int
    added: list[Plain]
    total: int


class PackedEvent(TypedDict):
    """Not all references fitted into the model's context: those left out, and the one cut."""

    type: Literal["packed"]
    round: int
    dropped: list[str]
    cut: str | None


class DraftEvent(TypedDict):
    """A draft was written."""

    type: Literal["draft"]
    round: int
    text: str


class ReflectionEvent(TypedDict):
    """A draft was judged."""

    type: Literal["reflection"]
    round: int
    reflection: Plain


class SourcesEvent(TypedDict):
    """The answer's tokens follow; their [n] markers count these references, by id, from 1."""

    type: Literal["sources"]
    references: list[str]


class TokenEvent(TypedDict):
    """A piece of the answer."""

    type: Literal["token"]
    text: str


class RetractEvent(TypedDict):
    """The tokens so far are no part of the answer: whoever shows them clears them."""

    type: Literal["retract"]


class VerdictEvent(TypedDict):
    """An arbiter has decided which of the answers at hand is served."""

    type: Literal["verdict"]
    verdict: Plain


class AnswerEvent(TypedDict):
    """The answer is final."""

    type: Literal["answer"]
    answer: str
    citations: list[Plain]
    stop_reason: str


Event = (
    CondenseEvent
    | RouteEvent
    | StartEvent
    | QueryEvent
    | ReferencesEvent
    | PackedEvent
    | DraftEvent
    | ReflectionEvent
    | SourcesEvent
    | TokenEvent
    | RetractEvent
    | VerdictEvent
    | AnswerEvent
)


def condense(question: str, error: str) -> CondenseEvent:
    """Make the event of a question that is routed and searched without its conversation."""
    return {"type": "condense", "question": question, "error": error}


def route(decision: Plain) -> RouteEvent:
    """Make the event of a decision."""
    return {"type": "route", "decision": decision}


def start(task: StartedTask, number: int) -> StartEvent:
    """Make the event of a task that begins in round `number`."""
    return {"type": "start", "task": task, "round": number}


def query(number: int, text: str) -> QueryEvent:
    """Make the event of a search in round `number`, counted from 1."""
    return {"type": "query", "round": number, "query": text}


def references(number: int, added: Sequence[Plain], total: int) -> ReferencesEvent:
    """Make the event of a round's references."""
    return {"type": "references", "round": number, "added": list(added), "total": total}


def packed(number: int, dropped: Sequence[str], cut: str | None) -> PackedEvent:
    """Make the event of references that did not fit, by their ids."""
    return {"type": "packed", "round": number, "dropped": list(dropped), "cut": cut}


def draft(number: int, text: str) -> DraftEvent:
    """Make the event of a draft."""
    return {"type": "draft", "round": number, "text": text}


def reflection(number: int, judged: Plain) -> ReflectionEvent:
    """Make the event of a judgement."""
    return {"type": "reflection", "round": number, "reflection": judged}


def sources(references: Sequence[str]) -> SourcesEvent:
    """Make the event of what the tokens that follow may cite, by id."""
    return {"type": "sources", "references": list(references)}


def token(text: str) -> TokenEvent:
    """Make the event of a piece of the answer."""
    return {"type": "token", "text": text}


def retract() -> RetractEvent:
    """Make the event that takes back the tokens so far."""
    return {"type": "retract"}


def verdict(judged: Plain) -> VerdictEvent:
    """Make the event of an arbiter's verdict."""
    return {"type": "verdict", "verdict": judged}


def answer(text: str, citations: Sequence[Plain], stop_reason: str) -> AnswerEvent:
    """Make the event of the final answer."""
    return {
        "type": "answer",
        "answer": text,
        "citations": list(citations),
        "stop_reason": stop_reason,
    }


class StreamedSources:
    """Reads from a run's events which references the streamed tokens may cite.

    Servers that show sources beside an answer as it comes need it.

    Example:
        >>> found = {"id": "7", "text": "Paris is the capital.", "title": "Paris"}
        >>> sources = StreamedSources()
        >>> sources.take({"type": "references", "round": 1, "added": [found], "total": 1})
        >>> [each.title for each in sources.take({"type": "sources", "references": ["7"]})]
        ['Paris']
    """

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> Sequence[Reference] | None:
        """Take the next event.

        Returns:
            The references that the following tokens may cite, in the order of their [n] markers,
            where the event names them; else None.
        """
        if event["type"] == "references":
            self._found |= {plain["id"]: plain for plain in event["added"]}
        if event["type"] != "sources":
            return None
        return [from_plain(Reference, self._found[key]) for key in event["references"]]
