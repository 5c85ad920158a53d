"""create_skr_chain: stands where ``retriever | prompt | model | parser`` stood."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, closing
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.runnables.graph import Graph
from langchain_core.runnables.utils import ConfigurableFieldSpec

from langchain_skr.graph import create_skr_graph
from skr_core.errors import InputError
from skr_graphs import CompiledGraph, SKRContext, SKRInput

Asked = str | Mapping[str, Any]
"""A question, or a mapping that has one under ``question``."""

CONFIGURABLE = {
    "router": "Decides whether to retrieve.",
    "reflector": "Judges drafts.",
    "budget": "The limits of a question: a Budget, or its fields as a dict.",
    "when_insufficient": "What is answered when the references never sufficed.",
    "on_retriever_error": "What happens when the first searches all fail.",
    "decompose": "Whether the question is taken apart before the first search.",
}
"""What a run's config may replace; models and retrievers have ``configurable_fields`` for it."""


class SKRChain(Runnable[Asked, str]):
    """From a question to its answer's text; made by `create_skr_chain`.

    The graph's run is the chain's own in traces: callbacks, tags, metadata and the run name of a
    config are the graph's.

    Attributes:
        graph: The compiled graph, for those who want more than the text.
    """

    def __init__(self, graph: CompiledGraph) -> None:
        self.graph = graph
        self.name = graph.name

    @property
    def InputType(self) -> type[Asked]:
        """A question, or a mapping that has one; a schema tells under which key."""
        return str | SKRInput  # type: ignore[return-value]  # a union is no class

    @property
    def OutputType(self) -> type[str]:
        """The answer's text."""
        return str

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What ``with_config(configurable=...)`` may replace for a run."""
        return [
            ConfigurableFieldSpec(id=name, annotation=Any, name=name, description=about)
            for name, about in CONFIGURABLE.items()
        ]

    def get_graph(self, config: RunnableConfig | None = None) -> Graph:
        """The state machine, for drawing."""
        return self.graph.get_graph(config)

    def invoke(self, input: Asked, config: RunnableConfig | None = None, **_: Any) -> str:
        """Answer a question, given as text or as ``{"question": text}``."""
        answer: str = self.graph.invoke(_input(input), config, context=_context(config))["answer"]
        return answer

    async def ainvoke(self, input: Asked, config: RunnableConfig | None = None, **_: Any) -> str:
        """The same, awaited."""
        output = await self.graph.ainvoke(_input(input), config, context=_context(config))
        answer: str = output["answer"]
        return answer

    def stream(self, input: Asked, config: RunnableConfig | None = None, **_: Any) -> Iterator[str]:
        """Yield the final answer's tokens, and no others."""
        events: Any = self.graph.stream(
            _input(input), config, context=_context(config, stream=True), stream_mode="custom"
        )
        with closing(events):
            for event in events:
                if event["type"] == "token":
                    yield event["text"]

    async def astream(
        self, input: Asked, config: RunnableConfig | None = None, **_: Any
    ) -> AsyncIterator[str]:
        """The same, awaited."""
        events: Any = self.graph.astream(
            _input(input), config, context=_context(config, stream=True), stream_mode="custom"
        )
        async with aclosing(events):
            async for event in events:
                if event["type"] == "token":
                    yield event["text"]


def create_skr_chain(model: object, retriever: object, **options: Any) -> SKRChain:
    """Make a chain that retrieves only when needed and until the references suffice.

    Args:
        model: As for `create_skr_graph`.
        retriever: As for `create_skr_graph`.
        **options: The other options of `create_skr_graph`, ``review_queries`` excepted.

    Returns:
        A runnable: a string or ``{"question": str}`` in, the answer's text out. ``stream`` yields
        the final answer's tokens alone. ``with_config(configurable={"router": ...})`` replaces the
        router of a run; ``reflector``, ``budget`` and
        ``when_insufficient`` too.

    Raises:
        InputError: The model or the retriever is not usable, or ``review_queries`` is asked for.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_core.documents import Document
        >>> from langchain_core.runnables import RunnableLambda
        >>> chain = create_skr_chain(
        ...     FakeListChatModel(responses=["Paris [1]."]),
        ...     RunnableLambda(lambda query: [Document("Paris is the capital of France.")]),
        ... )
        >>> chain.invoke("What is the capital of France?")
        'Paris [1].'
    """
    if options.get("review_queries"):
        raise InputError(
            "a chain cannot stop for a person: use create_skr_graph for review_queries"
        )
    return SKRChain(create_skr_graph(model, retriever, **options))


def _input(question: Asked) -> Any:
    if isinstance(question, str):
        return {"question": question}
    if isinstance(question, Mapping) and isinstance(question.get("question"), str):
        return {"question": question["question"]}
    raise InputError('the chain takes a string or {"question": a string}')


def _context(config: RunnableConfig | None, *, stream: bool | None = None) -> SKRContext:
    """What this run replaces of the graph's own."""
    given = ensure_config(config).get("configurable", {})
    chosen = {name: given[name] for name in CONFIGURABLE if given.get(name) is not None}
    return SKRContext(**chosen, stream=stream)
