"""The first step: the question, its conversation, and the question rewritten without it.

A thread keeps its turns under ``messages``, as LangGraph's chats do: a question is written there
when it is asked, an answer when it is final. A run is given its question as text or as the latest
user message; ``history`` replaces the thread's conversation for one question.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.messages.utils import convert_to_messages
from langgraph.types import Overwrite

from skr_core import conversation as condensing
from skr_core.conversation import Utterance as Said
from skr_core.conversation import latest_turns
from skr_core.errors import InputError
from skr_core.flow import Flow
from skr_core.plain import to_plain
from skr_core.prompts.asking import checked_question
from skr_core.types import NO_USAGE, Decision
from skr_graphs import events
from skr_graphs.events import Plain
from skr_graphs.node import StepContext
from skr_graphs.observing import warn_once
from skr_graphs.state import AskedQuestion, FirstState, SKRState

NOTHING_ASKED = (
    "the question is empty: give it as question, or as the user's latest of messages; "
    "history may stand beside either"
)


@dataclass(frozen=True)
class Opening:
    """The input of a run.

    Attributes:
        question: The question.
        id: The id of the message that holds it.
        before: The conversation before it.
        is_in_thread: Whether the thread holds that message already.
    """

    question: str
    id: str
    before: Sequence[BaseMessage]
    is_in_thread: bool


def condense(state: FirstState, step: StepContext) -> Flow[Plain]:
    """Begin the state anew, and rewrite a question that leans on its conversation.

    Raises:
        InputError: There is no question, or the history is not a list of messages.
    """
    started_at = time.time()
    opening = open_conversation(state)
    question, settings = opening.question, step.settings
    turns = latest_turns(said_in(opening.before), settings.budget.max_history_tokens)
    condensed = condensing.CondensedQuestion(question)
    if condensing.needs_condensing(question, turns, settings.budget):
        step.write(events.start("condense", 0))
        condensed = yield from condensing.condense(
            settings.model, question, turns, templates=settings.templates
        )
        step.write(events.condense(condensed.question, condensed.error))
        if condensed.error:
            warn_once("condense", condensed.error)
    spent = condensed.usage
    begun: SKRState = {
        "question": question,
        "answer": "",
        "citations": [],
        "references": [],
        "decision": to_plain(Decision(True)),
        "rounds": [],
        "stop_reason": "",
        "usage": {"condense": to_plain(spent)} if spent != NO_USAGE else {},
        "removed_markers": 0,
        "logprob": None,
        "grounded": False,
        "messages": [] if opening.is_in_thread else [_as_message(opening)],
        "asked": AskedQuestion(
            question=question,
            id=opening.id,
            standalone=checked_question(condensed.question),
            turns=list(turns),
            started_at=started_at,
        ),
        "queries": [],
        "rankings": [],
        "drafted": None,
    }
    return {**begun, "pool": Overwrite({})}


def open_conversation(state: FirstState) -> Opening:
    """Find the question of a run beside what its thread keeps.

    The thread keeps the question of its last run too. So a text is a new question where it differs
    from that, and so is a user message that no run has answered.

    Raises:
        InputError: There is no question, or the history is not a list of messages.
    """
    messages = state.get("messages") or []
    latest = state.get("asked") or {"question": "", "id": ""}
    given: Any = state.get("question") or ""
    text = _text(given) if isinstance(given, BaseMessage) else given
    places = [n for n, each in enumerate(messages) if isinstance(each, HumanMessage)]
    place = places[-1] if places else -1
    by_message = place >= 0 and text == latest["question"] and messages[place].id != latest["id"]
    if by_message:
        text = _text(messages[place])
    # The same question again after a failure, or as a graph around this one took it from a message.
    is_again = text == latest["question"] or not latest["id"]
    is_in_thread = by_message or (is_again and 0 <= place == len(messages) - 1)
    try:
        question = checked_question(text)
    except InputError as error:
        raise InputError(NOTHING_ASKED) from error
    identity = messages[place].id if is_in_thread else None
    history = state.get("history")
    said = messages[:place] if is_in_thread else messages
    return Opening(
        question,
        identity or f"skr-{uuid4()}",
        said if history is None else _messages(history),
        is_in_thread,
    )


def answered(text: str, identity: str) -> AnyMessage:
    """Make the message that the conversation keeps, which has been streamed under the same id."""
    return AIMessage(text, id=identity)


def _as_message(opening: Opening) -> Any:
    # Not yet as a message: LangGraph would stream it among those of the answer.
    return {"role": "user", "content": opening.question, "id": opening.id}


def _messages(history: Any) -> list[BaseMessage]:
    if isinstance(history, str) or not isinstance(history, Sequence):
        raise InputError(f"history is {type(history).__name__}: give a list of messages")
    try:
        return convert_to_messages(history)
    except Exception as error:  # whatever LangChain says of what is no message
        raise InputError(f"history holds what is no message: {error}") from error


def said_in(messages: Sequence[BaseMessage]) -> Iterator[Said]:
    """The turns of user and assistant, without calls of tools and their results."""
    for message in messages:
        if isinstance(message, HumanMessage):
            yield "user", _text(message)
        elif isinstance(message, AIMessage) and not message.tool_calls:
            yield "assistant", _text(message)


def _text(message: BaseMessage) -> str:
    return str(message.text)
