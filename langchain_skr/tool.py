"""create_skr_tool: the whole loop as one tool of an agent."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from langchain_skr.graph import create_skr_graph
from skr_graphs import CompiledGraph, SKROutput

NAME = "answer_from_references"
DESCRIPTION = (
    "Answers a question from a library of references, searching it as often as the question needs. "
    "The answer cites references as [n]; it says so when the references do not suffice."
)
UNSUPPORTED = "(Not supported by the references.)"
"""Last line of a content whose answer was retrieved for and rests on no reference."""


NO_QUESTION = (
    "There was no question. Call the tool again with the argument `question`: a complete question "
    "that stands on its own."
)
"""What an agent's model is told that called the tool with nothing, or with something else."""


class ToolQuestion(BaseModel):
    """What an agent calls the tool with."""

    question: str = Field(description="A complete question that stands on its own.")


def create_skr_tool(
    model: object,
    retriever: object,
    *,
    name: str = NAME,
    description: str = DESCRIPTION,
    **options: Any,
) -> BaseTool:
    """Make a tool that retrieves until the references suffice, for ``create_agent``.

    Args:
        model: As for `create_skr_graph`.
        retriever: As for `create_skr_graph`.
        name: What the agent calls it.
        description: From which the agent learns when to call it.
        **options: The other options of `create_skr_graph`.

    Returns:
        A tool whose content is the answer's text and whose artifact is the graph's output,
        `skr_graphs.SKROutput`: plain values, so that checkpointers hold it.
        ``answer_of(message.artifact)`` makes an `Answer` of it. Where references were searched
        for and the answer rests on none, the content says so in a last line of its own. Called
        without a question it says what is wanted, so that the agent's model can call it again.

    Raises:
        InputError: The model or the retriever is not usable.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_core.documents import Document
        >>> from langchain_core.runnables import RunnableLambda
        >>> tool = create_skr_tool(
        ...     FakeListChatModel(responses=["Paris [1]."]),
        ...     RunnableLambda(lambda query: [Document("Paris is the capital of France.")]),
        ... )
        >>> tool.invoke({"question": "What is the capital of France?"})
        'Paris [1].'
    """
    return tool_of(create_skr_graph(model, retriever, **options), name, description)


def tool_of(graph: CompiledGraph, name: str = NAME, description: str = DESCRIPTION) -> BaseTool:
    """Make the tool of a compiled graph, see `create_skr_tool`."""

    def answer(question: str) -> tuple[str, SKROutput]:
        _check(question)
        return _content_and_artifact(graph.invoke({"question": question}))

    async def aanswer(question: str) -> tuple[str, SKROutput]:
        _check(question)
        return _content_and_artifact(await graph.ainvoke({"question": question}))

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


def _content_and_artifact(output: Any) -> tuple[str, SKROutput]:
    text: str = output["answer"]
    if output["decision"]["retrieve"] and not output["grounded"]:
        text = f"{text}\n\n{UNSUPPORTED}"
    return text, output
