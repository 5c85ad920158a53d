"""The state of one question: plain values, so that every checkpointer holds it without a warning.

Dataclasses of `skr_core.types` go in through `to_plain` and come out through `from_plain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypeVar, get_type_hints

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

Plain = dict[str, Any]
"""A dataclass as `skr_core.plain.to_plain` makes it."""

Update = Plain | Command[str]
"""What a step changes of the state; as a command, with the node that comes next."""

U = TypeVar("U", bound=Update)


class SentQuery(TypedDict):
    """What one query of a round is sent out with."""

    query: str
    position: int
    round: int
    alone: bool


class Found(TypedDict):
    """What one query of a round came back with.

    Attributes:
        position: Of the query in its round.
        references: Best first.
        error: What failed on the way; empty where nothing did.
        failed: Whether nothing is known of what there is to find.
    """

    position: int
    references: list[Plain]
    error: str
    failed: bool


class Streamed(TypedDict):
    """What has been passed on of an answer, and under which message id."""

    id: str
    text: str


class Asked(TypedDict):
    """The question of a run.

    Attributes:
        question: As it was asked.
        id: Of the message that it stands in.
        standalone: As it is routed and searched: without its conversation.
        turns: The latest turns before it, user and assistant in turn, as the model is shown them.
        started_at: Seconds since the epoch.
    """

    question: str
    id: str
    standalone: str
    turns: list[str]
    started_at: float


class Drafted(TypedDict):
    """What the model said last.

    Attributes:
        reply: As it was read.
        streamed: What has been passed on of it; None where nothing has.
        cut: The last of the references that it was handed, where its text had to be cut.
    """

    reply: Plain
    streamed: Streamed | None
    cut: Plain | None


class SKRInput(TypedDict, total=False):
    """What the graph is invoked with: a question, as text or as the latest message.

    Attributes:
        question: What is asked.
        messages: A conversation whose latest message of the user asks; the answer joins it.
        history: What was said before the question, in place of what the thread keeps.
    """

    question: str
    messages: Annotated[list[AnyMessage], add_messages]
    history: Annotated[list[MessageLikeRepresentation], EphemeralValue]


class SKROutput(TypedDict):
    """What the graph returns; `answer_of` makes an `Answer` of it.

    Attributes:
        question: As asked.
        answer: Text with [n] markers; n counts `references` from 1.
        citations: The markers, resolved.
        references: What the answer was given.
        decision: Whether retrieval was judged necessary.
        rounds: What each round searched, found, drafted and concluded.
        stop_reason: Why the loop ended.
        usage: Cost by task.
        removed_markers: Markers that named no reference and were taken out.
        logprob: Mean natural-log probability of a direct answer's tokens; None where not known.
        grounded: Whether the answer rests on references, see `skr_core.types.Answer`.
        messages: The conversation, with this question and its answer; a tool's artifact has none.
        verdict: What the arbiter decided, with the answers that it weighed; missing where it
            weighed none.
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


def joined(pool: dict[str, Plain], more: dict[str, Plain]) -> dict[str, Plain]:
    """The references of a question so far, and those of one more step."""
    return {**pool, **more}


class SKRState(SKROutput, total=False):
    """What the nodes share.

    The first node sets every key anew, so that a reused thread inherits nothing of its last
    question but its turns: `messages` alone accumulates, and `found` is empty again after the step
    that reads it.

    Attributes:
        history: Given with the question, and gone after the first step.
        asked: The question, its conversation and its time.
        queries: To be searched in this round.
        found: What the searches of this round brought.
        rankings: Ids found, by round, by query, best first.
        pool: Every reference found, by id: each stands here once, and elsewhere only its id does.
        drafted: What the model said in this round.
        draft_logprob: Of the decision's draft, for an arbiter: as `logprob`.
    """

    history: Annotated[list[MessageLikeRepresentation], EphemeralValue]
    asked: Asked
    queries: list[str]
    found: Annotated[list[Found], Topic(Found)]
    rankings: list[list[list[str]]]
    pool: Annotated[dict[str, Plain], joined]
    drafted: Drafted | None
    draft_logprob: float | None


OUTPUT_KEYS = tuple(SKROutput.__annotations__)
"""What of the state is the output; LangGraph's streams give all of it unless told otherwise."""

LARGE = ("pool",)
"""What a step reads of the state for itself, see `skr_graphs.node.as_node`."""

RESULTS = (
    *("answer", "citations", "references", "removed_markers"),
    *("logprob", "grounded", "verdict"),
)
"""What is written for the output, and read for itself by a step that shows answers to a judge."""


class FirstState(SKRInput, total=False):
    """What the first node is handed: what is asked, and what the thread was asked last."""

    asked: Asked


StepState = TypedDict(  # type: ignore[misc]  # a checker wants the fields written out
    "StepState",
    {
        name: hint
        for name, hint in get_type_hints(SKRState, include_extras=True).items()
        if name not in (*LARGE, *RESULTS, "messages", "history")
    },
    total=False,
)
"""What every other node is handed, and a trace shows: what most steps read, but references."""


def references_of(state: SKRState) -> list[Reference]:
    """The references in hand, in the order in which prompts number them."""
    given = state["rounds"][-1]["given"] if state["rounds"] else []
    drafted = state["drafted"]
    cut = drafted["cut"] if drafted else None
    shown = {**state["pool"], cut["id"]: cut} if cut else state["pool"]
    return [from_plain(Reference, shown[key]) for key in given]


def usage_of(state: SKRState) -> Usage:
    """What the question has cost so far."""
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
