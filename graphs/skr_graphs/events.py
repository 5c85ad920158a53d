"""What the graph tells while it runs: typed events, in ``stream_mode="custom"``.

Each is a plain dict with its kind under ``type``, so that servers can pass it on as JSON.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from skr_graphs.state import Plain


class RouteEvent(TypedDict):
    """The decision was made."""

    type: Literal["route"]
    decision: Plain


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


class TokenEvent(TypedDict):
    """A piece of the answer."""

    type: Literal["token"]
    text: str


class RetractEvent(TypedDict):
    """The tokens so far are not of the answer: whoever shows them clears them."""

    type: Literal["retract"]


class AnswerEvent(TypedDict):
    """The answer is final."""

    type: Literal["answer"]
    answer: str
    citations: list[Plain]
    stop_reason: str


Event = (
    RouteEvent
    | QueryEvent
    | ReferencesEvent
    | DraftEvent
    | ReflectionEvent
    | TokenEvent
    | RetractEvent
    | AnswerEvent
)
