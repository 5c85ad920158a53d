"""The state of one question, in plain values, which every checkpointer stores without a warning.

Dataclasses of `skr_core.types` go in through `to_plain` and come out through `from_plain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage, MessageLikeRepresentation
from langgraph.channels import EphemeralValue, Topic
from langgraph.graph.message import add_messages
from langgraph.types import Command
from typing_extensions import TypedDict

from skr_core.plain import from_plain, to_plain
from skr_core.types import (
    NO_USAGE,
    Answer,
    Citation,
    Decision,
    Reference,
    Round,
    Usage,
    Verdict,
)
from skr_graphs.events import Plain

Update = Plain | Command[str]
"""What a step changes of the state; as a command, with the node that comes next."""


class SentQuery(TypedDict):
    """One search, as it is sent out.

    Attributes:
        query: The text to search for.
        position: The query's place in its round.
        round: The number of the round, from 1.
        alone: Whether it is the only query of its round.
        asked: The question that it serves.
        usage: The cost of the question so far, by task.
    """

    query: str
    position: int
    round: int
    alone: bool
    asked: AskedQuestion
    usage: dict[str, Plain]


class SearchResult(TypedDict):
    """What one search brought.

    Attributes:
        position: The query's place in its round.
        references: The references found, best first.
        error: The failures on the way; empty where there were none.
        failed: Whether the search failed as a whole, so that nothing is known of what there is.
    """

    position: int
    references: list[Plain]
    error: str
    failed: bool


class StreamedText(TypedDict):
    """The part of an answer that has been streamed, and the id of its message."""

    id: str
    text: str


class AskedQuestion(TypedDict):
    """The question of a run.

    Attributes:
        question: The question, as it was asked.
        id: The id of the message that holds it.
        standalone: The question without its conversation, as it is routed and searched.
        turns: The latest turns before it, user and assistant in turn, as the model is shown them.
        started_at: The time when it was asked, in seconds since the epoch.
    """

    question: str
    id: str
    standalone: str
    turns: list[str]
    started_at: float


class DraftedReply(TypedDict):
    """The model's latest reply.

    Attributes:
        reply: The `Reply`, as it was read.
        streamed: The part of it that has been streamed; None where nothing has.
        cut: The last of the references in its prompt, where its text had to be cut.
    """

    reply: Plain
    streamed: StreamedText | None
    cut: Plain | None


class SKRInput(TypedDict, total=False):
    """The graph's input: a question, as text or as the latest message.

    Attributes:
        question: The question.
        messages: A conversation whose latest user message is the question; the answer joins it.
        history: The conversation before the question, in place of the one that the thread keeps.
    """

    question: str
    messages: Annotated[list[AnyMessage], add_messages]
    history: Annotated[list[MessageLikeRepresentation], EphemeralValue]


class SKROutput(TypedDict):
    """The graph's output; `answer_of` makes an `Answer` of it.

    Attributes:
        question: The question, as it was asked.
        answer: The text, with [n] markers; n counts `references` from 1.
        citations: The markers, resolved.
        references: The references that the answer was made from.
        decision: The router's decision whether to retrieve.
        rounds: The rounds: what each searched, found, drafted and concluded.
        stop_reason: The reason why the loop ended.
        usage: The cost by task.
        removed_markers: The number of markers that named no reference and were taken out.
        logprob: The mean natural-log probability of a direct answer's tokens; None where unknown.
        grounded: Whether the answer rests on references, see `skr_core.types.Answer`.
        messages: The conversation, with this question and its answer; a tool's artifact has none.
        verdict: The arbiter's decision with the answers that it weighed; missing where it weighed
            none.
    """

    question: str
    answer: str
    citations: list[Plain]
    references: list[Plain]
    decision: Plain
    rounds: list[Plain]
    stop_reason: str
    usage: dict[str, Plain]
    removed_markers: int
    logprob: float | None
    grounded: bool
    messages: NotRequired[Annotated[list[AnyMessage], add_messages]]
    verdict: NotRequired[Annotated[Plain, EphemeralValue]]


def with_more(pool: dict[str, Plain], more: dict[str, Plain]) -> dict[str, Plain]:
    """The references of a question so far, and those of one more step."""
    return {**pool, **more}


class SKRState(SKROutput, total=False):
    """The state that the nodes share.

    The first node sets every key anew, so that a reused thread inherits nothing of its last
    question but its turns: only `messages` accumulates, and `found` is empty again after the step
    that reads it.

    Attributes:
        history: The conversation given with the question; gone after the first step.
        asked: The question, its conversation and its time.
        queries: The queries to search in this round.
        found: The results of the searches of this round.
        rankings: The ids found, by round and by query, best first.
        pool: Every reference found, by id: each stands here once, elsewhere only its id does.
        drafted: The model's reply of this round.
        draft_logprob: The `logprob` of the decision's draft, for an arbiter.
    """

    history: Annotated[list[MessageLikeRepresentation], EphemeralValue]
    asked: AskedQuestion
    queries: list[str]
    found: Annotated[list[SearchResult], Topic(SearchResult)]
    rankings: list[list[list[str]]]
    pool: Annotated[dict[str, Plain], with_more]
    drafted: DraftedReply | None
    draft_logprob: float | None


OUTPUT_KEYS = tuple(SKROutput.__annotations__)
"""The keys of the output; LangGraph's streams give all of the state unless they are named."""


class FirstState(SKRInput, total=False):
    """The state as the first node sees it: the input, and what the thread was asked last."""

    asked: AskedQuestion


def references_of(state: SKRState) -> list[Reference]:
    """The references in hand, in the order in which prompts number them."""
    given = state["rounds"][-1]["given"] if state["rounds"] else []
    drafted = state["drafted"]
    cut = drafted["cut"] if drafted else None
    shown = {**state["pool"], cut["id"]: cut} if cut else state["pool"]
    return [from_plain(Reference, shown[key]) for key in given]


def usage_of(state: Mapping[str, Any]) -> Usage:
    """The cost of the question so far."""
    total = NO_USAGE
    for spent in state["usage"].values():
        total += Usage(**spent)
    return total


def usage_with(state: SKRState, task: str, spent: Usage) -> dict[str, Plain]:
    """The state's usage with one more cost added under its task."""
    before = state["usage"].get(task)
    return {**state["usage"], task: to_plain(Usage(**before) + spent if before else spent)}


def queries_asked(state: SKRState) -> list[str]:
    """Every query of the rounds so far."""
    return [query for each in state["rounds"] for query in each["queries"]]


def without_messages(output: SKROutput) -> dict[str, Any]:
    """The output without the conversation: plain values alone, as JSON holds them."""
    return {key: value for key, value in output.items() if key != "messages"}


def _verdict_of(output: Mapping[str, Any]) -> Verdict | None:
    verdict = output.get("verdict")
    return from_plain(Verdict, verdict) if verdict else None


def answer_of(output: Mapping[str, Any]) -> Answer:
    """The graph's output as an `Answer`.

    Args:
        output: An `SKROutput`; LangGraph's ``invoke`` promises no more than a dict.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> from skr_graphs import create_self_completion_graph
        >>> from skr_core.routers import NeverRetrieve
        >>> graph = create_self_completion_graph(
        ...     model=ScriptedModel(["Paris."]), retriever=None, router=NeverRetrieve()
        ... ).compile()
        >>> answer_of(graph.invoke({"question": "What is the capital of France?"})).stop_reason
        'known'
    """
    return Answer(
        question=output["question"],
        text=output["answer"],
        citations=tuple(from_plain(Citation, each) for each in output["citations"]),
        references=tuple(from_plain(Reference, each) for each in output["references"]),
        decision=from_plain(Decision, output["decision"]),
        rounds=tuple(from_plain(Round, each) for each in output["rounds"]),
        stop_reason=output["stop_reason"],
        usage={task: from_plain(Usage, each) for task, each in output["usage"].items()},
        removed_markers=output["removed_markers"],
        logprob=output.get("logprob"),
        grounded=output.get("grounded", False),
        verdict=_verdict_of(output),
    )
