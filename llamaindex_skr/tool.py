"""create_skr_tool: an engine as a tool whose text lists its sources, for LlamaIndex's agents.

A ``QueryEngineTool`` gives an agent the answer's text alone. The text of this tool ends with the
sources, or says that the answer rests on none. Sources are numbered on through a conversation: the
numbers given so far are kept in the store of the workflow's context, which is serialized with it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput
from llama_index.core.workflow import Context, Workflow

from llamaindex_skr.query_engine import SKRQueryEngine
from llamaindex_skr.responses import to_answer
from skr_core.errors import InputError
from skr_core.prompts.templates import TOOL_DESCRIPTION, TOOL_NAME, no_question
from skr_core.references.citations import free_numbers, number_sources, text_with_sources
from skr_core.settings import ActionAnswerer, answerer_of

NO_QUESTION = no_question("input")
"""The content of a call without a question."""

NUMBERS = "skr_source_numbers"
"""The key of a context's store under which it keeps the numbers given so far, by reference id."""


class SKRTool(FunctionTool):
    """The tool that `create_skr_tool` makes.

    An agent hands it its context; called by hand it needs none.
    """

    def __init__(self, engine: SKRQueryEngine, metadata: ToolMetadata) -> None:
        super().__init__(fn=engine.query, async_fn=engine.aquery, metadata=metadata)
        self.engine = engine
        # These tell LlamaIndex's agents that the tool wants their context, and its parameter.
        self.requires_context, self.ctx_param_name = True, "ctx"

    def __reduce__(self) -> tuple[Any, ...]:
        """What makes it anew; LlamaIndex's wrappers of an engine's methods cannot be copied."""
        return type(self), (self.engine, self.metadata)

    def call(self, input: str = "", ctx: Context | None = None, **other: object) -> ToolOutput:
        """Ask the engine; numbers begin at 1, because a context's store can only be awaited."""
        if not _is_question(input):
            return self._no_question(input, other)
        response = self.fn(input)
        if isinstance(response, StreamingResponse):
            response = response.get_response()
        return self._output(input, response, {})

    async def acall(
        self, input: str = "", ctx: Context | None = None, **other: object
    ) -> ToolOutput:
        """Async version of `call`; numbers go on from those in the context.

        A typed state keeps them in a field ``skr_source_numbers: dict[str, int] = {}``; where it
        has none, they begin at 1.
        """
        if not _is_question(input):
            return self._no_question(input, other)
        response = await self.async_fn(input)
        if isinstance(response, AsyncStreamingResponse):
            response = await response.get_response()
        if ctx is None:
            return self._output(input, response, {})
        async with ctx.store.edit_state() as state:  # other calls may be under way
            numbers = dict(getattr(state, NUMBERS, {}))
            output = self._output(input, response, numbers)
            with suppress(ValueError):  # a typed state without such a field keeps none
                setattr(state, NUMBERS, numbers)
        return output

    def _output(self, asked: str, response: Any, numbers: dict[str, int]) -> ToolOutput:
        """The tool's output for an agent; new numbers join those given so far."""
        answer = to_answer(asked, response)
        free = free_numbers(after=max(numbers.values(), default=0))
        numbers |= number_sources(answer, numbers, free)
        # The JSON of an object stands alone, for whoever parses it.
        is_text = answer.structured is None
        content = text_with_sources(answer, numbers) if is_text else answer.text
        return ToolOutput(
            content=content,
            tool_name=self.metadata.get_name(),
            raw_input={"input": asked},
            raw_output=response,
        )

    def _no_question(self, given: object, other: dict[str, object]) -> ToolOutput:
        """An error that the agent's model can correct."""
        return ToolOutput(
            content=NO_QUESTION,
            tool_name=self.metadata.get_name(),
            raw_input={**({"input": given} if given else {}), **other},
            raw_output=NO_QUESTION,
            is_error=True,
        )


def _is_question(given: object) -> bool:
    return isinstance(given, str) and bool(given.strip())


def create_skr_tool(
    engine: SKRQueryEngine,
    *,
    name: str = TOOL_NAME,
    description: str = TOOL_DESCRIPTION,
    return_direct: bool = False,
) -> SKRTool:
    """Make a tool of an engine, for ``FunctionAgent``, ``ReActAgent`` and ``AgentWorkflow``.

    Args:
        engine: The engine that answers; it may stream.
        name: The tool's name.
        description: The text by which the agent decides when to call the tool.
        return_direct: Whether the tool's text is the agent's answer.

    Returns:
        A tool whose content is the answer's text with its numbered sources, and whose
        ``raw_output`` is the engine's response, whose own markers count its ``source_nodes`` from
        1. Where references were searched for and the answer rests on none, the content says so.
        A call without a question returns an error that says what is wanted, so that the agent's
        model can call the tool again.

    Raises:
        InputError: The engine is no `SKRQueryEngine`.

    Example:
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> engine = SKRQueryEngine.from_defaults(
        ...     MappingRetriever({"Capital?": ["Paris is the capital."]}),
        ...     llm=ScriptedModel(["Paris [1]."]),
        ... )
        >>> print(create_skr_tool(engine).call("Capital?").content)
        Paris [1].
        <BLANKLINE>
        Sources:
        [1] "Paris is the capital."
    """
    if not isinstance(engine, SKRQueryEngine):
        raise InputError(f"an SKRQueryEngine is wanted, not {type(engine).__name__}")
    return SKRTool(engine, ToolMetadata(description, name, return_direct=return_direct))


@answerer_of.register(Workflow)
def _answerer_of_agent(workflow: Workflow) -> ActionAnswerer:
    from llamaindex_skr.agents import FunctionAgentAnswerer  # loads all of LlamaIndex's agents

    return FunctionAgentAnswerer(workflow)
