"""The graph as a runnable from a question to its answer's text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

from langchain_core.messages import MessageLikeRepresentation
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.runnables.graph import Graph
from langchain_core.runnables.utils import ConfigurableFieldSpec
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from langchain_skr.inputs import Asked, graph_input
from skr_core.errors import InputError
from skr_core.prompts.templates import TOOL_DESCRIPTION, TOOL_NAME
from skr_graphs import CompiledGraph, SKRContext, SKRInput

Given = TypeVar("Given")


CONFIGURABLE = {
    "router": "Decides whether to retrieve; a ladder also how far, and which answer is served.",
    "reflector": "Judges drafts.",
    "arbiter": "Decides whether the answer from references is served or the model's own.",
    "budget": "The limits of a question: a Budget, or its fields as a dict.",
    "when_insufficient": "What is answered when the references never sufficed.",
    "on_retriever_error": "What happens when the first searches all fail.",
    "decompose": "Whether the question is taken apart before the first search.",
}
"""What a run's config may replace; models and retrievers have ``configurable_fields`` for it."""


class GraphChain(Runnable[Asked, Given]):
    """What both chains share: the graph, what a run may replace of it, and what is asked.

    The graph's run is the chain's own in traces: callbacks, tags, metadata and the run name of a
    config are the graph's.

    Raises:
        InputError: The graph is none.

    Attributes:
        graph: The compiled graph, for those who want more.
    """

    def __init__(self, graph: CompiledGraph) -> None:
        if not hasattr(graph, "astream"):
            raise InputError(
                f"{type(self).__name__} is made from a compiled graph, not from "
                f"{type(graph).__name__}: create_skr_chain(model, retriever) makes both"
            )
        self.graph = graph
        self.name = graph.name
        self._made_of: tuple[Any, ...] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """What it was made of, for a pickle: a compiled graph cannot be in one."""
        if self._made_of is None:
            raise TypeError(
                "this chain's graph is your own and cannot be pickled: make the chain where it is "
                "needed, or by create_skr_chain"
            )
        return self._made_of

    @property
    def InputType(self) -> type[Asked]:
        """A question, with or without its conversation; a schema tells under which keys."""
        return str | SKRInput | list[MessageLikeRepresentation]  # type: ignore[return-value]  # a union is no class

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What ``with_config(configurable=...)`` may replace for a run."""
        return [
            ConfigurableFieldSpec(id=name, annotation=Any, name=name, description=about)
            for name, about in CONFIGURABLE.items()
        ]

    def as_tool(
        self, args_schema: type[BaseModel] | None = None, *, name: str | None = None, **about: Any
    ) -> BaseTool:
        """The chain as a tool that takes a question, for LangChain's agents: see `create_skr_tool`.

        Args:
            args_schema: With other arguments than ``question``, as for ``Runnable.as_tool``; it is
                then that method's tool.
            name: What the agent calls it.
            **about: ``description``, and what ``Runnable.as_tool`` takes beside it.
        """
        if args_schema is not None or "arg_types" in about:
            return super().as_tool(args_schema, name=name, **about)
        from langchain_skr.tool import tool_of

        given = about.get("description") or TOOL_DESCRIPTION
        return tool_of(self.graph, name or TOOL_NAME, given)

    def get_graph(self, config: RunnableConfig | None = None) -> Graph:
        """The state machine, for drawing."""
        return self.graph.get_graph(config)


class SKRChain(GraphChain[str]):
    """From a question to its answer's text; made by `create_skr_chain`."""

    @property
    def OutputType(self) -> type[str]:
        """The answer's text."""
        return str

    def invoke(self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Answer a question, given as `langchain_skr.inputs.Asked` says."""
        refuse_bound(kwargs)
        graph: Any = self.graph  # its overloads know no output keys
        # The text is the run's output too, where a history of messages looks for it.
        answer: str = graph.invoke(
            graph_input(input), config, context=context_of(config), output_keys="answer"
        )
        return answer

    async def ainvoke(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> str:
        """The same, awaited."""
        refuse_bound(kwargs)
        graph: Any = self.graph
        answer: str = await graph.ainvoke(
            graph_input(input), config, context=context_of(config), output_keys="answer"
        )
        return answer

    def stream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[str]:
        """Yield the final answer's tokens, and no others; closing it ends the model's reply."""
        refuse_bound(kwargs)
        asked = self._streamed(input, config)
        events: Any = self.graph.stream(**asked)
        with asked["context"].reading(events):
            for event in events:
                if event["type"] == "token":
                    yield event["text"]

    async def astream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[str]:
        """The same, awaited."""
        refuse_bound(kwargs)
        events: Any = self.graph.astream(**self._streamed(input, config))
        async with aclosing(events):
            async for event in events:
                if event["type"] == "token":
                    yield event["text"]

    def _streamed(self, input: Asked, config: RunnableConfig | None) -> dict[str, Any]:
        return {
            "input": graph_input(input),
            "config": config,
            "context": context_of(config, stream=True),
            "stream_mode": "custom",
            "output_keys": "answer",
        }


def refuse_bound(kwargs: Mapping[str, Any]) -> None:
    """What ``bind`` hands over would reach no model in silence."""
    if kwargs:
        raise TypeError(
            f"a chain takes no {', '.join(kwargs)}: bind it to the model, as in "
            "create_skr_chain(model.bind(stop=[...]), retriever)"
        )


def context_of(config: RunnableConfig | None, *, stream: bool | None = None) -> SKRContext:
    """What this run replaces of the graph's own."""
    given = ensure_config(config).get("configurable", {})
    chosen = {name: given[name] for name in CONFIGURABLE if given.get(name) is not None}
    return SKRContext(**chosen, stream=stream)
