"""The chains: runnables over the graph, from a question to its answer, without or with its sources.

Example:
    >>> graph_input({"input": "Its river?", "chat_history": [("user", "Paris?")]})["history"]
    [('user', 'Paris?')]
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain
from typing import Any, Self, TypeVar, cast

from langchain_core.messages import BaseMessage, MessageLikeRepresentation
from langchain_core.runnables import (
    ConfigurableField,
    ConfigurableFieldSingleOption,
    Runnable,
    RunnableBinding,
    RunnableConfig,
    RunnableSerializable,
    ensure_config,
)
from langchain_core.runnables.config import DEFAULT_RECURSION_LIMIT
from langchain_core.runnables.graph import Graph
from langchain_core.runnables.utils import ConfigurableFieldSpec
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from skr_core.errors import InputError
from skr_core.prompts.templates import TOOL_DESCRIPTION, TOOL_NAME
from skr_core.settings import ActionAnswerer, answerer_of
from skr_graphs import CompiledGraph, SKRContext, SKRInput
from skr_graphs.graph import RECURSION_LIMIT, answerer_of_graph
from skr_graphs.node import context_around

Result = TypeVar("Result")

Asked = str | Mapping[str, Any] | Sequence[MessageLikeRepresentation]
"""A question; messages whose latest of the user is one; or a mapping of `KEYS`."""

_ASKING = ("question", "messages", "input")
_TOLD = ("history", "chat_history")
KEYS = (*_ASKING, *_TOLD)
"""The keys that are read of a mapping: those of `skr_graphs.SKRInput`, and those of LangChain's own
``create_retrieval_chain`` for question and history."""

CONFIGURABLE = {
    "router": "Decides whether to retrieve; a ladder also how far, and which answer is served.",
    "reflector": "Judges drafts.",
    "arbiter": "Decides whether the answer from references is served or the model's own.",
    "budget": "The limits of a question: a Budget, or its fields as a dict.",
    "when_insufficient": "What is answered when the references never sufficed.",
    "on_retriever_error": "What happens when the first searches all fail.",
    "abstain_below": "The chance to be right below which an answer is not served.",
    "decompose": "Whether the question is taken apart before the first search.",
    "instructions": "The words that stand before every prompt for an answer.",
}
"""What a run's config may replace; models and retrievers have ``configurable_fields`` for it."""

_OTHER_NAMES = {"input": "question", "chat_history": "history"}


class GraphChain(Runnable[Asked, Result]):
    """The common part of both chains: the graph, what a run may replace of it, and its input.

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
        self._untyped: Any = graph  # the overloads of its methods do not know output keys
        self.name = graph.name
        self._made_of: tuple[Any, ...] | None = None
        self._fields: dict[str, ConfigurableField | ConfigurableFieldSingleOption] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """The arguments it was made of, for a pickle: a compiled graph cannot be in one."""
        if self._made_of is None:
            raise TypeError(
                "this chain's graph is your own and cannot be pickled: make the chain where it is "
                "needed, or by create_skr_chain"
            )
        return *self._made_of, {"_fields": self._fields}

    def _call(
        self, asked: Asked, config: RunnableConfig | None, bound: Mapping[str, Any], **options: Any
    ) -> dict[str, Any]:
        """The graph's arguments, with what this run replaces of the graph's own.

        Raises:
            InputError: The question is refused, see `graph_input`.
            TypeError: Something was bound to the chain, which would reach no model.
        """
        if bound:
            raise TypeError(
                f"a chain takes no {', '.join(bound)}: bind it to the model, as in "
                "create_skr_chain(model.bind(stop=[...]), retriever)"
            )
        given = graph_input(asked)
        context = self._context(config, stream=True if "stream_mode" in options else None)
        # A graph's input has no keys of the app's own: those of a chain's fill its variables.
        context = replace(context, around=context_around(config), variables=given)
        if config and config.get("recursion_limit") == DEFAULT_RECURSION_LIMIT:
            # Nobody has chosen it: a sequence gives it to each of its steps.
            config = {**config, "recursion_limit": RECURSION_LIMIT}
        return {"input": given, "config": config, "context": context, **options}

    @property
    def InputType(self) -> type[Asked]:
        """A question, with or without its conversation; the schema shows under which keys."""
        return str | SKRInput | list[MessageLikeRepresentation]  # type: ignore[return-value]  # a union is no class

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What ``with_config(configurable=...)`` may replace for a run."""
        from langchain_core.runnables.configurable import make_options_spec

        specs = []
        for name, about in CONFIGURABLE.items():
            field = self._fields.get(name) or ConfigurableField(id=name, name=name)
            if isinstance(field, ConfigurableFieldSingleOption):
                spec = make_options_spec(field, about)
            else:
                spec = ConfigurableFieldSpec(
                    id=field.id,
                    annotation=field.annotation or Any,
                    name=field.name,
                    description=field.description or about,
                )
            specs.append(spec)
        return specs

    def configurable_fields(
        self, **fields: ConfigurableField | ConfigurableFieldSingleOption
    ) -> Self:
        """Choose the key under which a run's config replaces a setting, and what it may be.

        Args:
            **fields: The key by the name of the setting, which is one of `CONFIGURABLE`; or the key
                with the options among which alone a run may choose by their names.

        Raises:
            InputError: The chain has no such setting, or it takes more than one value.

        Example:
            >>> from langchain_skr import create_skr_chain
            >>> from skr_core.routers import AlwaysRetrieve, NeverRetrieve
            >>> from skr_core.testing import MappingRetriever, ScriptedModel
            >>> search = {"always": AlwaysRetrieve(), "never": NeverRetrieve()}
            >>> chain = create_skr_chain(ScriptedModel(["Paris."]), MappingRetriever({}))
            >>> chain = chain.configurable_fields(
            ...     router=ConfigurableFieldSingleOption("search", search, default="always")
            ... )
            >>> chain.with_config(configurable={"search": "never"}).invoke("Capital of France?")
            'Paris.'
        """
        for name, field in fields.items():
            if name in ("model", "retriever"):
                raise InputError(
                    f"the {name} has configurable fields and alternatives of its own: give the "
                    f"chain {name}.configurable_alternatives(...)"
                )
            if name not in CONFIGURABLE:
                raise InputError(f"a run replaces {', '.join(CONFIGURABLE)}, and not {name}")
            if not isinstance(field, ConfigurableField | ConfigurableFieldSingleOption):
                raise InputError(
                    f"{name} takes one value, and not {type(field).__name__}: give a "
                    "ConfigurableField or a ConfigurableFieldSingleOption"
                )
        chain = type(self)(self.graph)
        vars(chain).update(vars(self), _fields={**self._fields, **fields})
        return chain

    def configurable_alternatives(
        self,
        which: ConfigurableField,
        *,
        default_key: str = "default",
        prefix_keys: bool = False,
        **alternatives: Any,
    ) -> RunnableSerializable[Asked, Result]:
        """Let a run's config choose between this chain and others, as LangChain's runnables do."""
        bound = cast("RunnableBinding[Asked, Result]", self.with_config())
        return bound.configurable_alternatives(
            which, default_key=default_key, prefix_keys=prefix_keys, **alternatives
        )

    def _context(self, config: RunnableConfig | None, stream: bool | None = None) -> SKRContext:
        """What a run's config replaces of the graph's own settings."""
        given = ensure_config(config).get("configurable", {})
        chosen = {}
        for name in CONFIGURABLE:
            field = self._fields.get(name)
            value = given.get(field.id if field else name)
            if isinstance(field, ConfigurableFieldSingleOption):
                key = value or field.default
                if not isinstance(key, str) or key not in field.options:
                    options = ", ".join(field.options)
                    raise InputError(f"{field.id} is {key!r}: give one of {options}")
                value = field.options[key]
            if value is not None:
                chosen[name] = value
        return SKRContext(**chosen, stream=stream)

    def as_tool(
        self, args_schema: type[BaseModel] | None = None, *, name: str | None = None, **about: Any
    ) -> BaseTool:
        """Make a tool of the chain, for LangChain's agents: see `create_skr_tool`.

        Args:
            args_schema: A schema of other arguments than ``question``, as for
                ``Runnable.as_tool``; it is then that method's tool.
            name: The name by which the agent calls it.
            **about: The ``description``, and the other options of ``Runnable.as_tool``.
        """
        if args_schema is not None or "arg_types" in about:
            return super().as_tool(args_schema, name=name, **about)
        from langchain_skr.tool import tool_of  # with LangGraph's agents

        description = about.get("description") or TOOL_DESCRIPTION
        return tool_of(self.graph, name or TOOL_NAME, description)

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
        """Answer a question, given as `Asked` says."""
        answer: str = self._untyped.invoke(
            **self._call(input, config, kwargs, output_keys="answer")
        )
        return answer

    async def ainvoke(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> str:
        """Async version of `invoke`."""
        answer: str = await self._untyped.ainvoke(
            **self._call(input, config, kwargs, output_keys="answer")
        )
        return answer

    def stream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[str]:
        """Yield the final answer's tokens, and no others; closing it ends the model's reply."""
        call = self._call(input, config, kwargs, stream_mode="custom", output_keys="answer")
        events: Any = self._untyped.stream(**call)
        with call["context"].reading(events):
            for event in events:
                if event["type"] == "token":
                    yield event["text"]

    async def astream(
        self, input: Asked, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[str]:
        """Async version of `stream`."""
        call = self._call(input, config, kwargs, stream_mode="custom", output_keys="answer")
        async with aclosing(self._untyped.astream(**call)) as events:
            async for event in events:
                if event["type"] == "token":
                    yield event["text"]


def graph_input(asked: Asked) -> dict[str, Any]:
    """Make the graph's input of a chain's.

    The caller's own keys stay, for a listener to the run may look for them; the graph reads its own
    alone. So a chain may stand in ``RunnablePassthrough.assign``, as LangChain's own do.

    Raises:
        InputError: It is none of `Asked`, has no question, or a key that looks like a misspelt one.
    """
    given = as_mapping(asked)
    # What is there already cannot be what another key of a similar name was meant for.
    lacking = [each for each in (_ASKING, _TOLD) if given.keys().isdisjoint(each)]
    for key in given.keys() - set(KEYS):
        if close := get_close_matches(str(key), chain(*lacking), n=1, cutoff=0.85):
            raise _refused(f"there is no {key!r}: {close[0]!r} is meant, perhaps")
    if given and _ASKING in lacking:
        raise _refused(f"there is no question among {', '.join(map(repr, given))}")
    for other, own in _OTHER_NAMES.items():
        if other in given:
            given.setdefault(own, given[other])
    question = given.get("question", "")
    if not isinstance(question, str | BaseMessage):
        raise _refused(f"the question is {type(question).__name__}")
    return given


def as_mapping(asked: Asked) -> dict[str, Any]:
    """The question under its key, as the caller wrote it."""
    if isinstance(asked, str):
        return {"question": asked}
    if isinstance(asked, Mapping):
        return dict(asked)
    given: object = asked  # callers without a type checker may give anything
    if isinstance(asked, Sequence) and not isinstance(given, bytes):
        return {"messages": list(asked)}
    raise _refused(f"this is {type(asked).__name__}")


def _refused(why: str) -> InputError:
    return InputError(
        "the chain takes a string, messages, or a mapping with question (or input) or messages, "
        f"and history (or chat_history) beside it: {why}"
    )


@answerer_of.register(GraphChain)
def _answerer_of_chain(
    chain: GraphChain[Any], config: RunnableConfig | None = None
) -> ActionAnswerer:
    return answerer_of_graph(chain.graph, chain._context(config), config)


@answerer_of.register(RunnableBinding)
def _answerer_of_bound(bound: RunnableBinding[Any, Any]) -> ActionAnswerer:
    """Of ``chain.with_config(...)``: with what that config replaces."""
    if isinstance(bound.bound, GraphChain):
        return _answerer_of_chain(bound.bound, bound.config)
    return answerer_of.dispatch(object)(bound)
