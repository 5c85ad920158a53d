"""What a chain may be given: a question, with or without its conversation.

Example:
    >>> graph_input({"input": "Its river?", "chat_history": [("user", "Paris?")]})["history"]
    [('user', 'Paris?')]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, MessageLikeRepresentation

from skr_core.errors import InputError

Asked = str | Mapping[str, Any] | Sequence[MessageLikeRepresentation]
"""A question; messages whose latest of the user is one; or a mapping of `KEYS`."""

KEYS = ("question", "messages", "history", "input", "chat_history")
"""What a mapping may hold: the keys of `skr_graphs.SKRInput`, and those of LangChain's own
``create_retrieval_chain`` for question and history."""

_OTHERS = {"input": "question", "chat_history": "history"}


def graph_input(asked: Asked) -> Any:
    """What the graph is given.

    The caller's own keys stay, for a listener to the run may look for them; the graph reads its own
    alone.

    Raises:
        InputError: It is none of these, or holds another key.
    """
    given = as_mapping(asked)
    if unknown := [key for key in given if key not in KEYS]:
        raise _refused(f"there is no {', '.join(map(repr, unknown))}")
    for other, own in _OTHERS.items():
        if other in given:
            given.setdefault(own, given[other])
    question = given.get("question", "")
    if not isinstance(question, str | BaseMessage):
        raise _refused(f"the question is {type(question).__name__}")
    return given


def as_mapping(asked: Asked) -> dict[str, Any]:
    """The question under its key, as the caller wrote it."""
    if isinstance(asked, str):
        return {"question": asked}
    if isinstance(asked, Mapping):
        return dict(asked)
    if isinstance(asked, Sequence):
        return {"messages": list(asked)}
    raise _refused(f"this is {type(asked).__name__}")


def _refused(why: str) -> InputError:
    return InputError(
        "the chain takes a string, messages, or a mapping with question (or input) or messages, "
        f"and history (or chat_history) beside it: {why}"
    )
