"""What one request changes of an engine, such as the filters of its index or its scope.

LlamaIndex's runs have no config that could hold it: an app makes an engine once, and for each
request an engine like it, which runs the same compiled graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

from llama_index.core.callbacks import CallbackManager
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores.types import MetadataFilters

from llamaindex_skr.prompts import InstructionsLike, as_words
from llamaindex_skr.runs import PicklableGraph, per_question
from llamaindex_skr.sources import bundled
from skr_core import Budget, Settings
from skr_core.errors import InputError
from skr_core.ports import Retriever
from skr_core.settings import RouterLike, as_router, hinting
from skr_graphs import SKRContext

_NUMBER = "similarity_top_k is the number of nodes that an index finds"


def check_filters(filters: MetadataFilters | None, scope: object, system: Settings) -> None:
    """Refuse filters in a scope of others: what a store remembers there is searched without them.

    Args:
        filters: The filters.
        scope: The scope that was given with them.
        system: The settings, with the reference store.
    """
    if filters is not None and system.remembers and scope in (None, "shared"):
        raise InputError(
            "filters do not hold for what the reference_store remembers: give with them a scope of "
            'their own, such as scope="amber" for the tenant amber, or no reference_store'
        )


class OptionsOfRequests(PicklableGraph):
    """A mixin for engines: `with_options` gives the engine of one request."""

    callback_manager: CallbackManager
    _source: Callable[..., Retriever] | None = None

    @hinting(k=_NUMBER, top_k=_NUMBER)
    def with_options(
        self,
        *,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] | None = None,
        router: RouterLike | None = None,
        scope: str | Callable[[], str] | None = None,
        instructions: InstructionsLike | None = None,
        budget: Budget | None = None,
    ) -> Self:
        """Return an engine for one request, which runs the same compiled graph.

        What is given takes the place of the engine's own; this engine stays as it is. Nothing is
        compiled, so that it costs next to nothing.

        Args:
            similarity_top_k: The number of nodes that an index finds for each query.
            filters: The conditions that the metadata of its nodes must meet, such as the tenant's.
                They reach each of several retrievers, or are refused. What a reference store
                remembers is under no filter: beside one, give the scope of these filters too.
            node_postprocessors: The rerankers and filters, in their order.
            router: The router, such as one that was learnt for a tenant.
            scope: The scope in which the reference store remembers and searches.
            instructions: The words that stand before the prompts.
            budget: The limits of a question.

        Raises:
            InputError: A retriever takes no `similarity_top_k` or no `filters`, the engine was made
                of a graph, whose retriever is not known, a reference store remembers beside
                `filters` without a `scope`, or a setting is not what its name says.

        Example:
            >>> from llamaindex_skr import SKRQueryEngine
            >>> from skr_core.testing import MappingRetriever, ScriptedModel
            >>> engine = SKRQueryEngine.from_defaults(
            ...     MappingRetriever({"Capital?": ["Paris is the capital."]}),
            ...     llm=ScriptedModel(["INSUFFICIENT\\nSearch: France"]),
            ... )
            >>> once = engine.with_options(budget=Budget(max_rounds=1))
            >>> once.query("Capital?").metadata["stop_reason"]
            'max_rounds'
        """
        searching = {
            "similarity_top_k": similarity_top_k,
            "filters": filters,
            "node_postprocessors": node_postprocessors,
        }
        searching = {name: each for name, each in searching.items() if each is not None}
        changed: dict[str, Any] = {} if budget is None else {"budget": budget}
        if isinstance(scope, str) and not scope.strip():
            raise InputError("the scope is an empty text: give the name of one")
        if scope is not None:  # a context takes functions alone, because clients send contexts
            said = partial(str, scope) if isinstance(scope, str) else scope
            changed["scope"] = per_question(said)
        if instructions is not None:
            changed["instructions"] = per_question(as_words(instructions))
        made = object.__new__(type(self))  # no copy: that would make the graph again
        vars(made).update(vars(self))
        if searching:
            if self._source is None:
                raise InputError(
                    f"{', '.join(searching)} belong to a retriever or an index, and this engine "
                    "was made without one: make it by from_defaults"
                )
            made._source = partial(self._source, **searching)
            changed["retriever"] = made._source()
        for each in node_postprocessors or ():
            each.callback_manager = self.callback_manager
        context = replace(self._context, **changed)
        # A graph of the caller's own around ours has no settings.
        defaults = getattr(getattr(self._graph, "builder", None), "defaults", None)
        system: Settings | None = defaults and defaults.of(context)  # refuses what is wrong
        if system is not None:
            check_filters(filters, scope, system)
        if router is not None:
            parts = (system.model, system.retriever) if system else ()
            context = replace(context, router=as_router(router, *parts))
            if defaults is not None:
                defaults.of(context)  # warns of a router that was made for another system
        made._context = context
        return made

    # An error of its call names the method, and no class that a caller has never seen.
    vars(with_options)["__wrapped__"].__qualname__ = "with_options"

    def _context_of(self, question: QueryBundle) -> SKRContext:
        """The context of a run that searches the question with the whole bundle."""
        context = self._context
        if context.retriever is None:
            return context
        asked = bundled(context.retriever, question)
        # A run's settings are made anew for a context of its own.
        return context if asked is context.retriever else replace(context, retriever=asked)
