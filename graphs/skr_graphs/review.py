"""The step between naming queries and searching them where a person may edit them.

It is a node of its own, because a node that was interrupted runs again from its start: this one
calls no model, so nothing is paid for twice.
"""

from __future__ import annotations

import time
from typing import Any

from langgraph.types import interrupt
from typing_extensions import TypedDict

from skr_core.flow import Flow
from skr_graphs.node import StepContext
from skr_graphs.state import Plain, SKRState


class ReviewRequest(TypedDict):
    """What the person is shown: the interrupt's value.

    Attributes:
        question: What the user asked.
        round: About to begin, from 1.
        queries: About to be searched.
        problem: Why the last reply could not be used; empty at first.
    """

    question: str
    round: int
    queries: list[str]
    problem: str


def review(state: SKRState, step: StepContext) -> Flow[Plain]:
    """Wait for ``Command(resume=[queries])``; no queries means that nothing more is searched.

    A reply of another shape is asked for again. The time that a person takes counts towards no
    deadline: it starts anew here.
    """
    yield from ()  # a flow, although it asks for no call
    request = ReviewRequest(
        question=state["question"],
        round=len(state["rounds"]) + 1,
        queries=state["queries"],
        problem="",
    )
    while not _usable(reply := interrupt(request)):
        request = {**request, "problem": "resume with a list of queries, each a text"}
    queries = list(dict.fromkeys(query.strip() for query in reply))
    return {
        "queries": queries,
        "stop_reason": "" if queries else "no_new_queries",
        "asked": {**state["asked"], "started_at": time.time()},
    }


def _usable(reply: Any) -> bool:
    return isinstance(reply, list) and all(isinstance(each, str) and each.strip() for each in reply)
