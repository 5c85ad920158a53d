"""What a chain may be given: a question, with or without its conversation.

Example:
    >>> graph_input({"input": "Its river?", "chat_history": [("user", "Paris?")]})["history"]
    [('user', 'Paris?')]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from langchain_core.messages import BaseMessage, MessageLikeRepresentation

from skr_core.errors import InputError

Asked = str | Mapping[str, Any] | Sequence[MessageLikeRepresentation]
"""A question; messages whose latest of the user is one; or a mapping of `KEYS`."""

KEYS = ("question", "messages", "history", "input", "chat_history")
"""What is read of a mapping: the keys of `skr_graphs.SKRInput`, and those of LangChain's own
``create_retrieval_chain`` for question and history."""

_OTHERS = {"input": "question", "chat_history": "history"}
_ASKS = {"question", "input", "messages"}


def graph_input(asked: Asked) -> Any:
    """What the graph is given.

    The caller's own keys stay, for a listener to the run may look for them; the graph reads its own
    alone. So a chain may stand in ``RunnablePassthrough.assign``, as LangChain's own do.

    Raises:
        InputError: It is none of these, has no question, or a key that looks like a misspelt one.
    """
    given = as_mapping(asked)
    for key in given.keys() - set(KEYS):
        if close := get_close_matches(str(key), KEYS, n=1, cutoff=0.85):
            raise _refused(f"there is no {key!r}: {close[0]!r} is meant, perhaps")
    if given and _ASKS.isdisjoint(given):
        raise _refused(f"there is no question among {', '.join(map(repr, given))}")
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
    given: object = asked  # callers without a type checker may give anything
    if isinstance(asked, Sequence) and not isinstance(given, bytes):
        return {"messages": list(asked)}
    raise _refused(f"this is {type(asked).__name__}")


def _refused(why: str) -> InputError:
    return InputError(
        "the chain takes a string, messages, or a mapping with question (or input) or messages, "
        f"and history (or chat_history) beside it: {why}"
    )
