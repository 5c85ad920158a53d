"""The state of one question, in plain values, which every checkpointer stores without a warning.

Dataclasses of `skr_core.types` go in through `to_plain` and come out through `from_plain`.

A thread keeps its turns under ``messages``, as LangGraph's chats do: a question is written there
when it is asked, an answer when it is final. A run is given its question as text or as the latest
user message; ``history`` replaces the thread's conversation for one question. System messages at
any place are words before every answer, as instructions are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired
from uuid import uuid4

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    MessageLikeRepresentation,
    SystemMessage,
)
from langchain_core.messages.utils import convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.channels import EphemeralValue, Topic
from langgraph.graph.message import add_messages
from langgraph.types import Command
from typing_extensions import TypedDict

from skr_core.conversation import Utterance, exchanges
from skr_core.errors import InputError
from skr_core.plain import Plain, from_plain, to_plain
from skr_core.prompts.asking import checked_question
from skr_core.references import one_line
from skr_core.texts import encodable
from skr_core.types import (
    NO_USAGE,
    Answer,
    Citation,
    Decision,
    Image,
    Reference,
    Round,
    Usage,
    Verdict,
)

Update = Plain | Command[str]
"""What a step changes of the state; as a command, with the node that comes next."""

NAME = "skr"
"""The name of a compiled graph, unless it is given another."""

NAME_KEY = "skr_name"
"""The key of a run's metadata under which its steps find the name of their graph."""

NOTHING_ASKED = (
    "the question is empty: give it as question, or as the user's latest of messages; "
    "history may stand beside either"
)


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
        remember: The ids of those that only the retriever found, and not the store beside it.
        error: The failures on the way; empty where there were none.
        failed: Whether the search failed as a whole, so that nothing is known of what there is.
        refused: Whether ``allow_query`` refused the query, so that nothing was searched.
    """

    position: int
    references: list[Plain]
    remember: list[str]
    error: str
    failed: bool
    refused: bool


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
        system: The words of the conversation's system messages; may be empty.
        images: The images of the question and of these turns; left out where it is searched.
        started_at: The time when it was asked, in seconds since the epoch.
    """

    question: str
    id: str
    standalone: str
    turns: list[str]
    system: str
    images: list[Plain]
    started_at: float


class DraftedReply(TypedDict):
    """The model's latest reply.

    Attributes:
        reply: The `Reply`, as it was read.
        streamed: The part of it that has been streamed; None where nothing has.
        cut: The one of the references in its prompt whose text had to be cut.
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
        sufficient: Whether it is held to answer the whole question.
        missing: The information that was found missing; may be empty.
        messages: The conversation, with this question and its answer; a tool's artifact has none.
        verdict: The arbiter's decision with the answers that it weighed; missing where it weighed
            none.
        chance: The estimated chance that the answer is right; None where none is estimated.
        structured_response: With a ``response_format``, the answer's object as plain values; None
            where there is none. Missing where the answer is a text.
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
    sufficient: bool
    missing: str
    chance: float | None
    messages: NotRequired[Annotated[list[AnyMessage], add_messages]]
    verdict: NotRequired[Annotated[Plain, EphemeralValue]]
    structured_response: NotRequired[Annotated[Any, EphemeralValue]]


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
        direct: The decision's draft as the router and an arbiter see it, a `CandidateAnswer`; None
            where there is none.
    """

    history: Annotated[list[MessageLikeRepresentation], EphemeralValue]
    asked: AskedQuestion
    queries: list[str]
    found: Annotated[list[SearchResult], Topic(SearchResult)]
    rankings: list[list[list[str]]]
    pool: Annotated[dict[str, Plain], with_more]
    drafted: DraftedReply | None
    direct: Plain | None


OUTPUT_KEYS = tuple(SKROutput.__annotations__)
"""The keys of the output; LangGraph's streams give all of the state unless they are named."""


class FirstState(SKRInput, total=False):
    """The state as the first node sees it: the input, and what the thread was asked last."""

    asked: AskedQuestion


@dataclass(frozen=True)
class Opening:
    """The input of a run.

    Attributes:
        question: The question.
        id: The id of the message that holds it.
        before: The conversation before it, in which each image has a name.
        is_in_thread: Whether the thread holds that message already.
        content: The content of that message: the question, or more than its text.
        system: The words of the conversation's system messages.
        images: The images of the question, and of the conversation by their names.
    """

    question: str
    id: str
    before: Sequence[BaseMessage]
    is_in_thread: bool
    content: Any
    system: str
    images: Sequence[Image] = ()

    def shown_images(self, turns: Sequence[str]) -> list[Image]:
        """The images of the question, of the turns that are answered, and of the system's words."""
        texts = "\n".join((self.system, *exchanges(turns)))
        return [each for each in self.images if each.name in texts]


def open_conversation(state: FirstState) -> Opening:
    """Find the question of a run beside what its thread keeps.

    The thread keeps the question of its last run too. So a text is a new question where it differs
    from that, and so is a user message that no run has answered.

    Raises:
        InputError: There is no question, the history is not a list of messages, or one of them
            holds what is neither a text nor an image.
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
    asking = messages[place] if is_in_thread else given
    identity = messages[place].id if is_in_thread else None
    history = state.get("history")
    kept = messages[:place] if is_in_thread else messages
    before = [*(kept if history is None else _messages(history))]
    left = messages[place:] if history is None else messages
    before += [each for each in left if isinstance(each, SystemMessage)]
    content = asking.content if isinstance(asking, BaseMessage) else question
    images: list[Image] = []
    if not all(isinstance(each, str) for each in (content, *(each.content for each in before))):
        from skr_graphs.images import images_in, with_images  # most conversations have none

        before, images = with_images(before)
        images = [*(images_in(asking) if isinstance(asking, BaseMessage) else ()), *images]
    return Opening(
        question,
        identity or f"skr-{uuid4()}",
        before,
        is_in_thread,
        content,
        system_in(before),
        images,
    )


def _messages(history: Any) -> list[BaseMessage]:
    if isinstance(history, str) or not isinstance(history, Sequence):
        raise InputError(f"history is {type(history).__name__}: give a list of messages")
    try:
        return convert_to_messages(history)
    except Exception as error:  # whatever LangChain says of what is no message
        raise InputError(f"history holds what is no message: {error}") from error


def said_in(messages: Sequence[BaseMessage]) -> Iterator[Utterance]:
    """The turns of user and assistant; system messages are none, see `system_in`.

    What a tool has said is quoted, each on a line, behind the assistant's own words of that turn:
    where a turn is cut, that is what goes first.

    Example:
        >>> from langchain_core.messages import ToolMessage
        >>> found = ToolMessage("Oil, [1]\\nof rape.", name="search", tool_call_id="1")
        >>> list(said_in([HumanMessage("What burns?"), found, AIMessage("Oil.")]))[1:]
        [('assistant', 'Oil.'), ('assistant', '[search said] Oil, (1) of rape.')]
    """
    quoted: list[Utterance] = []
    names: dict[str | None, str] = {}
    for message in messages:
        if isinstance(message, HumanMessage):
            yield from quoted
            quoted = []
            yield "user", _text(message)
        elif isinstance(message, AIMessage):
            names |= {each["id"]: each["name"] for each in message.tool_calls}
            yield "assistant", _text(message)
        elif not isinstance(message, SystemMessage) and (text := one_line(_text(message))):
            called = names.get(getattr(message, "tool_call_id", None))
            speaker = message.name or called or getattr(message, "role", message.type)
            quoted.append(("assistant", f"[{one_line(str(speaker))} said] {text}"))
    yield from quoted


def system_in(messages: Sequence[BaseMessage]) -> str:
    """The words of the system messages, at any place, each once.

    Example:
        >>> system_in([SystemMessage("Be brief."), HumanMessage("Who?"), SystemMessage("Be kind.")])
        'Be brief.\\n\\nBe kind.'
    """
    texts = (encodable(_text(each)).strip() for each in messages if isinstance(each, SystemMessage))
    return "\n\n".join(dict.fromkeys(text for text in texts if text))


def _text(message: BaseMessage) -> str:
    return str(message.text)


def answered(text: str, identity: str, config: RunnableConfig) -> AnyMessage:
    """Make the message that the conversation keeps, as it has been streamed: same id, same name."""
    return AIMessage(text, id=identity, name=speaker(config))


def speaker(config: RunnableConfig) -> str | None:
    """The name of the graph of a run, which its messages bear."""
    return config.get("metadata", {}).get(NAME_KEY)


def references_of(state: SKRState) -> list[Reference]:
    """The references in hand, in the order in which prompts number them."""
    given = state["rounds"][-1]["given"] if state["rounds"] else []
    drafted = state["drafted"]
    cut = drafted["cut"] if drafted else None
    shown = {**state["pool"], cut["id"]: cut} if cut else state["pool"]
    return [from_plain(Reference, shown[key]) for key in given]


def images_of(state: SKRState) -> list[Image]:
    """The images that go with every prompt for an answer."""
    return [from_plain(Image, each) for each in state["asked"].get("images", ())]


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
        sufficient=output.get("sufficient", False),
        missing=output.get("missing", ""),
        verdict=_verdict_of(output),
        structured=output.get("structured_response"),
        chance=output.get("chance"),
    )
