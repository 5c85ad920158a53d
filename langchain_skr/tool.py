"""create_skr_tool: the whole loop as one tool of an agent.

Its text ends with its sources. Their numbers go on from those of the tool messages that the agent's
state holds, so that a number names one source through a whole conversation, also after a restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.prebuilt.tool_node import ToolRuntime
from pydantic import BaseModel, Field
from typing_extensions import Unpack

from langchain_skr import advice
from langchain_skr.adapters import ModelLike, RetrieverLike
from langchain_skr.graph import GRAPH_OPTIONS, GraphOptions, create_skr_graph
from skr_core.options import refuse_unknown
from skr_core.prompts.templates import TOOL_DESCRIPTION, TOOL_NAME, no_question
from skr_core.references.citations import (
    free_numbers,
    last_number,
    number_sources,
    text_with_sources,
)
from skr_graphs import CompiledGraph, SKROutput, answer_of
from skr_graphs.state import without_messages

SHOWN_METADATA = ("source", "url", "page")
"""What of a source's metadata is told beside its title."""

NO_QUESTION = no_question("question")


class ToolQuestion(BaseModel):
    """What an agent calls the tool with."""

    question: str = Field(description="A complete question that stands on its own.")


class ToolArtifact(SKROutput):
    """The graph's output, and the numbers under which the content names its sources, by id."""

    numbers: dict[str, int]


def create_skr_tool(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    name: str = TOOL_NAME,
    description: str = TOOL_DESCRIPTION,
    **options: Unpack[GraphOptions],
) -> BaseTool:
    """Make a tool that retrieves until the references suffice, for ``create_agent``.

    Args:
        model: As for `create_skr_graph`.
        retriever: As for `create_skr_graph`.
        name: What the agent calls it.
        description: From which the agent learns when to call it.
        **options: The other options of `create_skr_graph`.

    Returns:
        A tool whose content is the answer's text with its numbered sources, and whose artifact is
        the graph's output, `ToolArtifact`: plain values, so that checkpointers hold it.
        ``answer_of(message.artifact)`` makes an `Answer` of it, whose own markers count from 1.
        Where references were searched for and the answer rests on none, the content says so. Called
        without a question it says what is wanted, so that the agent's model can call it again.

    Raises:
        InputError: The model or the retriever is not usable.
        OptionError: There is no option of a name that was given.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_core.documents import Document
        >>> from langchain_core.runnables import RunnableLambda
        >>> tool = create_skr_tool(
        ...     FakeListChatModel(responses=["Paris [1]."]),
        ...     RunnableLambda(lambda query: [Document("Paris is the capital of France.")]),
        ... )
        >>> print(tool.invoke({"question": "What is the capital of France?"}))
        Paris [1].
        <BLANKLINE>
        Sources:
        [1] "Paris is the capital of France."
    """
    known = GRAPH_OPTIONS | {"name", "description"}
    refuse_unknown("create_skr_tool", options, known, advice.CHAIN)
    return tool_of(create_skr_graph(model, retriever, **options), name, description)


def tool_of(graph: CompiledGraph, name: str, description: str) -> BaseTool:
    """Make the tool of a compiled graph, see `create_skr_tool`."""

    # ToolNode gives the runtime, and hides it from the model; called by hand there is none.
    def answer(question: str, runtime: ToolRuntime = None) -> tuple[str, ToolArtifact]:  # type: ignore[assignment]
        _check(question)
        return _content_and_artifact(graph.invoke({"question": question}), runtime)

    async def aanswer(question: str, runtime: ToolRuntime = None) -> tuple[str, ToolArtifact]:  # type: ignore[assignment]
        _check(question)
        return _content_and_artifact(await graph.ainvoke({"question": question}), runtime)

    return StructuredTool.from_function(
        answer,
        aanswer,
        name=name,
        description=description,
        args_schema=ToolQuestion,
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error=NO_QUESTION,
    )


def _check(question: str) -> None:
    if not question.strip():
        raise ToolException(NO_QUESTION)


def _content_and_artifact(output: Any, runtime: ToolRuntime | None) -> tuple[str, ToolArtifact]:
    state = None if runtime is None else runtime.state
    messages = _messages(state)
    known, highest = _taken(messages, _numbered_by_middleware(state))
    place, of = _place(messages, None if runtime is None else runtime.tool_call_id)
    answer = answer_of(output)
    numbers = number_sources(answer, known, free_numbers(after=highest, place=place, of=of))
    content = text_with_sources(answer, numbers, metadata_keys=SHOWN_METADATA)
    # The conversation is not the tool's: it holds this question and its answer once more.
    artifact: Any = without_messages(output) | {"numbers": numbers}
    return content, artifact


def _messages(state: Any) -> Sequence[BaseMessage]:
    """The conversation in a state, which may be a dict, a model or the messages themselves."""
    if isinstance(state, Mapping):
        state = state.get("messages", ())
    messages = state if isinstance(state, Sequence) else getattr(state, "messages", ())
    return [each for each in messages if isinstance(each, BaseMessage)]


def _numbered_by_middleware(state: Any) -> dict[str, int]:
    """The numbers that an `SKRMiddleware` of the same agent has given, by id."""
    sources = state.get("skr_sources", ()) if isinstance(state, Mapping) else ()
    return {source["id"]: number for number, source in enumerate(sources, start=1)}


def _taken(messages: Sequence[BaseMessage], known: dict[str, int]) -> tuple[dict[str, int], int]:
    """The numbers of the sources told so far, by id, and the highest of all.

    Where a message has lost its artifact, its text still tells which numbers are taken.
    """
    highest = len(known)
    for message in messages:
        if isinstance(message, ToolMessage):
            told = message.artifact.get("numbers") if isinstance(message.artifact, dict) else None
            known = {**(told if isinstance(told, dict) else {}), **known}
            highest = max(highest, last_number(str(message.text)))
    return known, max(highest, *known.values()) if known else highest


def _place(messages: Sequence[BaseMessage], call_id: str | None) -> tuple[int, int]:
    """Which of the calls that its message asks for a call is, and how many they are."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            ids = [call["id"] for call in message.tool_calls]
            if call_id in ids:
                return ids.index(call_id), len(ids)
    return 0, 1
