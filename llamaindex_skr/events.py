"""What a run tells LlamaIndex's instrumentation, one event class for each kind the graph tells.

Example:
    >>> from llama_index.core.instrumentation import get_dispatcher
    >>> from llama_index.core.instrumentation.event_handlers import BaseEventHandler
    >>> class Show(BaseEventHandler):
    ...     def handle(self, event, **kwargs):
    ...         if isinstance(event, SKRRouteEvent):
    ...             print(event.decision.reason)
    >>> get_dispatcher().add_event_handler(Show())
    >>> tell({"type": "route", "decision": {"retrieve": False, "reason": "it is known"}})
    it is known
    >>> _ = get_dispatcher().event_handlers.pop()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core import instrumentation
from llama_index.core.instrumentation.events import BaseEvent

from skr_core.types import Citation, Decision, Reference, Reflection, StopReason, Verdict

dispatcher = instrumentation.get_dispatcher(__name__)  # type: ignore[attr-defined]  # no __all__


class SKREvent(BaseEvent):
    """What all events of this project are."""

    @classmethod
    def class_name(cls) -> str:
        """The name of the class."""
        return cls.__name__


class SKRCondenseEvent(SKREvent):
    """The model was asked for the question without its conversation.

    It is routed and searched; an error says why it was left as it is.
    """

    question: str
    error: str


class SKRRouteEvent(SKREvent):
    """The decision whether to retrieve was made."""

    decision: Decision


class SKRStartEvent(SKREvent):
    """A task is about to begin, such as ``route`` or ``answer_with_references``: as in `usage`.

    Rounds count from 1; before the first it is 0.
    """

    task: str
    round: int


class SKRQueryEvent(SKREvent):
    """A query is about to be searched; rounds count from 1."""

    round: int
    query: str


class SKRReferencesEvent(SKREvent):
    """A round's references are in hand: those it added, and how many the model is given."""

    round: int
    added: list[Reference]
    total: int


class SKRDraftEvent(SKREvent):
    """A draft was written."""

    round: int
    text: str


class SKRReflectionEvent(SKREvent):
    """A draft was judged."""

    round: int
    reflection: Reflection


class SKRRetractEvent(SKREvent):
    """The tokens streamed so far are not of the answer: whoever shows them clears them."""


class SKRVerdictEvent(SKREvent):
    """An arbiter has decided which of the answers at hand is served."""

    verdict: Verdict


class SKRAnswerEvent(SKREvent):
    """The answer is final."""

    answer: str
    citations: list[Citation]
    stop_reason: StopReason


_CLASSES: dict[str, type[SKREvent]] = {
    "condense": SKRCondenseEvent,
    "route": SKRRouteEvent,
    "start": SKRStartEvent,
    "query": SKRQueryEvent,
    "references": SKRReferencesEvent,
    "draft": SKRDraftEvent,
    "reflection": SKRReflectionEvent,
    "retract": SKRRetractEvent,
    "verdict": SKRVerdictEvent,
    "answer": SKRAnswerEvent,
}


def tell(event: Mapping[str, Any], span_id: str | None = None) -> None:
    """Hand an event of the graph to LlamaIndex's handlers; tokens are no event here.

    Args:
        event: As in ``stream_mode="custom"``, see `skr_graphs.events`.
        span_id: The span it belongs to; by default the one that is open.
    """
    if event_class := _CLASSES.get(event["type"]):
        fields: dict[str, Any] = {key: value for key, value in event.items() if key != "type"}
        if span_id is not None:
            fields["span_id"] = span_id
        dispatcher.event(event_class(**fields))
