"""The whole loop as one tool of an agent.

The text of its messages ends with their sources. The numbers go on from those of the tool messages
in the agent's state, so that a number names one source through a whole conversation, also after a
restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.prebuilt.tool_node import ToolRuntime
from pydantic import BaseModel, Field

from skr_core.prompts.templates import no_question
from skr_core.references.citations import (
    free_numbers,
    last_number,
    number_sources,
    text_with_sources,
)
from skr_graphs import CompiledGraph, SKROutput, answer_of, without_messages

NO_QUESTION = no_question("question")


class ToolQuestion(BaseModel):
    """The arguments that an agent calls the tool with."""

    question: str = Field(description="A complete question that stands on its own.")


class ToolArtifact(SKROutput):
    """The graph's output, and the numbers under which the content names its sources, by id."""

    numbers: dict[str, int]


def tool_of(graph: CompiledGraph, name: str, description: str) -> BaseTool:
    """Make the tool of a compiled graph.

    Args:
        graph: The graph, as `create_skr_graph` makes it.
        name: The name by which the agent calls it.
        description: The text from which the agent learns when to call it.

    Returns:
        A tool, as `create_skr_tool` describes it.
    """

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
    # The JSON of an object stands alone, for whoever parses it.
    content = text_with_sources(answer, numbers) if answer.structured is None else answer.text
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
    """The numbers of the conversation's sources, by id, and the highest of all.

    Where a message has lost its artifact, its text still shows which numbers are taken.
    """
    highest = len(known)
    for message in messages:
        if isinstance(message, ToolMessage):
            own = message.artifact.get("numbers") if isinstance(message.artifact, dict) else None
            known = {**(own if isinstance(own, dict) else {}), **known}
            highest = max(highest, last_number(str(message.text)))
    return known, max(highest, *known.values()) if known else highest


def _place(messages: Sequence[BaseMessage], call_id: str | None) -> tuple[int, int]:
    """The place of a call among those that its message asks for, and the number of these."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            ids = [call["id"] for call in message.tool_calls]
            if call_id in ids:
                return ids.index(call_id), len(ids)
    return 0, 1
