"""create_skr_chain: stands where ``retriever | prompt | model | parser`` stood."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, Literal, TypeVar, overload

from langchain_core.messages import MessageLikeRepresentation
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.runnables.graph import Graph
from langchain_core.runnables.utils import ConfigurableFieldSpec
from langchain_core.tools import BaseTool
from pydantic import BaseModel
from typing_extensions import Unpack

from langchain_skr import advice
from langchain_skr.adapters import ModelLike, RetrieverLike
from langchain_skr.documents import to_document
from langchain_skr.graph import CHAIN_OPTIONS, ChainOptions, create_skr_graph
from langchain_skr.inputs import Asked, as_mapping, graph_input
from langchain_skr.sources import AnswerWithSources, SourcesChunk
from skr_core.errors import InputError
from skr_core.options import refuse_unknown
from skr_core.plain import from_plain
from skr_core.types import Reference
from skr_graphs import CompiledGraph, SKRContext, SKRInput
from skr_graphs.sources import StreamedSources
from skr_graphs.state import OUTPUT_KEYS

Given = TypeVar("Given")

CONFIGURABLE = {
    "router": "Decides whether to retrieve.",
    "reflector": "Judges drafts.",
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

    Attributes:
        graph: The compiled graph, for those who want more.
    """

    def __init__(self, graph: CompiledGraph) -> None:
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
        from langchain_skr.tool import DESCRIPTION, NAME, tool_of

        return tool_of(self.graph, name or NAME, about.get("description") or DESCRIPTION)

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
        _refuse(kwargs)
        graph: Any = self.graph  # its overloads know no output keys
        # The text is the run's output too, where a history of messages looks for it.
        answer: str = graph.invoke(
            graph_input(input), config, context=_context(config), output_keys="answer"
        )
        return answer

    async def ainvoke(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> str:
        """The same, awaited."""
        _refuse(kwargs)
        graph: Any = self.graph
        answer: str = await graph.ainvoke(
            graph_input(input), config, context=_context(config), output_keys="answer"
        )
        return answer

    def stream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[str]:
        """Yield the final answer's tokens, and no others; closing it ends the model's reply."""
        _refuse(kwargs)
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
        _refuse(kwargs)
        events: Any = self.graph.astream(**self._streamed(input, config))
        async with aclosing(events):
            async for event in events:
                if event["type"] == "token":
                    yield event["text"]

    def _streamed(self, input: Asked, config: RunnableConfig | None) -> dict[str, Any]:
        return {
            "input": graph_input(input),
            "config": config,
            "context": _context(config, stream=True),
            "stream_mode": "custom",
            "output_keys": "answer",
        }


class SKRSourcesChain(GraphChain[AnswerWithSources]):
    """From a question to its answer with sources; made with ``return_sources=True``.

    What it was asked with is in the output too, as in that of LangChain's
    ``create_retrieval_chain``.
    """

    @property
    def OutputType(self) -> type[AnswerWithSources]:
        """The answer and its sources."""
        return AnswerWithSources

    def invoke(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AnswerWithSources:
        """Answer a question, given as `langchain_skr.inputs.Asked` says."""
        _refuse(kwargs)
        output = self.graph.invoke(graph_input(input), config, context=_context(config))
        return _with_sources(input, output)

    async def ainvoke(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AnswerWithSources:
        """The same, awaited."""
        _refuse(kwargs)
        output = await self.graph.ainvoke(graph_input(input), config, context=_context(config))
        return _with_sources(input, output)

    def stream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Yield the input, the context, the final answer's tokens, then what is known at the end.

        The pieces are `SourcesChunk`: they add up to what `invoke` gives. Closing it ends the
        model's reply.
        """
        _refuse(kwargs)
        pieces = _Pieces(input)
        yield pieces.asked
        asked = self._streamed(input, config)
        events: Any = self.graph.stream(**asked)
        with asked["context"].reading(events):
            for mode, event in events:
                if piece := pieces.take(mode, event):
                    yield piece
        yield pieces.rest()

    async def astream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """The same, awaited."""
        _refuse(kwargs)
        pieces = _Pieces(input)
        yield pieces.asked
        events: Any = self.graph.astream(**self._streamed(input, config))
        async with aclosing(events):
            async for mode, event in events:
                if piece := pieces.take(mode, event):
                    yield piece
        yield pieces.rest()

    def _streamed(self, input: Asked, config: RunnableConfig | None) -> dict[str, Any]:
        return {
            "input": graph_input(input),
            "config": config,
            "context": _context(config, stream=True),
            "stream_mode": ["custom", "values"],
            "output_keys": list(OUTPUT_KEYS),
        }


class _Pieces:
    """Makes the pieces of an answer with sources of what the graph tells while it runs."""

    def __init__(self, asked: Asked) -> None:
        self.asked = SourcesChunk(as_mapping(asked))
        self._so_far = SourcesChunk()
        self._sources = StreamedSources()
        self._output: Any = {}

    def take(self, mode: str, event: Any) -> SourcesChunk | None:
        """The piece that an event makes, where it makes one."""
        if mode == "values":
            self._output = event
            return None
        piece: dict[str, Any] | None = None
        if event["type"] == "token":
            piece = {"answer": event["text"]}
        elif event["type"] == "retract":
            piece = {"retract": True}
        elif (references := self._sources.take(event)) is not None:
            piece = {"context": [to_document(reference) for reference in references]}
        if piece is None:
            return None
        self._so_far += SourcesChunk(piece)
        return SourcesChunk(piece)

    def rest(self) -> SourcesChunk:
        """What was not told yet, or otherwise."""
        whole = _with_sources(self.asked, self._output)
        told = self.asked + self._so_far
        new = {key: each for key, each in whole.items() if key not in told or told[key] != each}
        return SourcesChunk(new)


@overload
def create_skr_chain(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    return_sources: Literal[False] = False,
    **options: Unpack[ChainOptions],
) -> SKRChain: ...


@overload
def create_skr_chain(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    return_sources: Literal[True],
    **options: Unpack[ChainOptions],
) -> SKRSourcesChain: ...


def create_skr_chain(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    return_sources: bool = False,
    **options: Unpack[ChainOptions],
) -> SKRChain | SKRSourcesChain:
    """Make a chain that retrieves only when needed and until the references suffice.

    Args:
        model: As for `create_skr_graph`.
        retriever: As for `create_skr_graph`.
        return_sources: Give the answer with its sources, see `AnswerWithSources`, in place of its
            text.
        **options: The other options of `create_skr_graph`, ``review_queries`` excepted.

    Returns:
        A runnable: a string, messages, ``{"question": str, "history": [messages]}`` or
        ``{"messages": [messages]}`` in, the answer's text out, or with `return_sources` a dict.
        ``stream`` yields the final answer's tokens alone, or pieces of the dict that add up to it.
        ``with_config(configurable={"router": ...})`` replaces the
        router of a run; ``reflector``, ``budget`` and ``when_insufficient`` too.

    Raises:
        InputError: The model or the retriever is not usable, or ``review_queries`` is asked for.
        OptionError: There is no option of a name that was given.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_core.documents import Document
        >>> from langchain_core.runnables import RunnableLambda
        >>> model = FakeListChatModel(responses=["Paris [1]."])
        >>> search = RunnableLambda(lambda query: [Document("Paris is the capital of France.")])
        >>> create_skr_chain(model, search).invoke("What is the capital of France?")
        'Paris [1].'
        >>> chain = create_skr_chain(model, search, return_sources=True)
        >>> answer = chain.invoke("What is the capital of France?")
        >>> answer["answer"], answer["context"][0].page_content, answer["grounded"]
        ('Paris [1].', 'Paris is the capital of France.', True)
    """
    if "review_queries" in options:
        raise InputError(
            "a chain cannot stop for a person: use create_skr_graph for review_queries"
        )
    known = CHAIN_OPTIONS | {"return_sources"}
    refuse_unknown("create_skr_chain", options, known, advice.CHAIN)
    graph = create_skr_graph(model, retriever, **options)
    chain = SKRSourcesChain(graph) if return_sources else SKRChain(graph)
    again = partial(create_skr_chain, return_sources=return_sources, **options)
    chain._made_of = again, (model, retriever)
    return chain


def _with_sources(asked: Asked, output: Any) -> AnswerWithSources:
    """The graph's output, with what it was asked with."""
    context = [to_document(from_plain(Reference, each)) for each in output["references"]]
    citations = [
        {**each, "reference_id": context[each["marker"] - 1].id or each["reference_id"]}
        for each in output["citations"]
    ]
    told = {key: output[key] for key in ("stop_reason", "grounded", "verdict") if key in output}
    answered = {"context": context, "answer": output["answer"], "citations": citations}
    whole: Any = {**as_mapping(asked), **answered, **told}
    answer: AnswerWithSources = whole
    return answer


def _refuse(kwargs: Mapping[str, Any]) -> None:
    """What ``bind`` hands over would reach no model in silence."""
    if kwargs:
        raise TypeError(
            f"a chain takes no {', '.join(kwargs)}: bind it to the model, as in "
            "create_skr_chain(model.bind(stop=[...]), retriever)"
        )


def _context(config: RunnableConfig | None, *, stream: bool | None = None) -> SKRContext:
    """What this run replaces of the graph's own."""
    given = ensure_config(config).get("configurable", {})
    chosen = {name: given[name] for name in CONFIGURABLE if given.get(name) is not None}
    return SKRContext(**chosen, stream=stream)
