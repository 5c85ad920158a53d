"""SKRQueryEngine: the state machine as a LlamaIndex query engine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from llama_index.core import Settings
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import QueryBundle
from typing_extensions import Unpack

from llamaindex_skr import advice
from llamaindex_skr.adapters import ModelLike, RetrieverLike, as_language_model, as_retriever
from llamaindex_skr.bundles import bundled
from llamaindex_skr.graph_run import GraphRun
from llamaindex_skr.prompt_templates import as_prompts, replaced
from llamaindex_skr.remaking import RemadeGraph
from llamaindex_skr.responses import astream_response, stream_response, to_response
from skr_core.errors import InputError, OptionError
from skr_core.options import SettingsOptions, refuse_unknown
from skr_core.prompts.templates import DEFAULT_TEMPLATES
from skr_core.settings import as_arbiter, as_reflector, as_router, with_arbiter
from skr_graphs.context import SKRContext

if TYPE_CHECKING:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.vector_stores.types import MetadataFilters

    from skr_graphs import CompiledGraph


_OPTIONS = {
    *("retriever", "llm", "similarity_top_k", "filters", "node_postprocessors", "streaming"),
    *("callback_manager", *SettingsOptions.__annotations__),
}

READERS_OF_TEXT = (
    "llama_index.core.tools.",
    "llama_index.core.query_engine.sub_question_query_engine",
)
"""Modules of LlamaIndex that ask an engine and read the response as a string at once."""


class SKRQueryEngine(RemadeGraph, BaseQueryEngine):
    """Answers a query, retrieving only when needed and until the references suffice.

    A response's ``source_nodes`` are the references the answer was given, in the order of its [n]
    markers; its ``metadata`` hold ``decision``, ``rounds``, ``stop_reason``, ``grounded``,
    ``citations`` and ``usage``, and with an ``arbiter`` its ``verdict``. An answer that is not
    ``grounded`` rests on no reference. A question the model knows gets a direct answer and no
    source.

    ``get_prompts`` and ``update_prompts`` read and replace the words of the prompts, of this
    engine alone.

    Args:
        graph: A compiled self-completion graph.
        context: Of every run; what it leaves open is the graph's own.
        streaming: Whether responses stream the final answer's tokens.
        callback_manager: LlamaIndex's.

    Raises:
        InputError: The graph is none.

    Example:
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> engine = SKRQueryEngine.from_defaults(
        ...     MappingRetriever({"Capital?": ["Paris is the capital."]}),
        ...     llm=ScriptedModel(["Paris [1]."]),
        ... )
        >>> response = engine.query("Capital?")
        >>> response.metadata["stop_reason"], response.metadata["grounded"]
        ('sufficient', True)
    """

    def __init__(
        self,
        graph: CompiledGraph,
        context: SKRContext | None = None,
        *,
        streaming: bool = False,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager)
        self._use(graph)
        self._context = context or SKRContext()
        self._streaming = streaming

    @classmethod
    def from_defaults(
        cls,
        retriever: RetrieverLike | None = None,
        *,
        llm: ModelLike | None = None,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] = (),
        streaming: bool = False,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[SettingsOptions],
    ) -> SKRQueryEngine:
        """Build the engine over LlamaIndex objects.

        Args:
            retriever: A LlamaIndex retriever or index, or a `Retriever`; or several by name, which
                are asked side by side and fused by reciprocal rank (``found_by`` in a node's
                metadata lists those that found it). A router that never retrieves needs none.
            llm: A LlamaIndex LLM, an id such as ``openai:gpt-4.1-mini``, or a `LanguageModel`;
                ``Settings.llm`` where none is given.
            similarity_top_k: How many nodes an index finds for each query.
            filters: What the metadata of an index's nodes must be.
            node_postprocessors: Rerankers and filters, in their order. As in LlamaIndex's
                ``RetrieverQueryEngine`` they are given each search's nodes with its own query.
            streaming: Whether responses stream the final answer's tokens.
            callback_manager: LlamaIndex's; ``Settings.callback_manager`` where none is given.
            **options: The other settings, see `skr_core.settings.Settings`: ``router`` (also the
                folder of a saved one), ``reflector`` (likewise), ``store``, ``budget``,
                ``when_insufficient``, ``on_retriever_error``, ``demonstrations`` and
                ``templates``.

        Raises:
            InputError: The model or the retriever is none of the above.
            OptionError: The retriever takes no `similarity_top_k` or no `filters`, or there is no
                option of a name that was given.
        """
        refuse_unknown("SKRQueryEngine", options, _OPTIONS, advice.ENGINE)
        if retriever is None and not {"store", "router"} & options.keys():
            raise InputError(
                "there is nothing to retrieve from: give a retriever or an index, "
                "or a router that never retrieves"
            )
        if retriever is None and (similarity_top_k or filters or node_postprocessors):
            raise OptionError(
                "SKRQueryEngine takes similarity_top_k, filters and node_postprocessors with a "
                "retriever or an index alone: give one"
            )
        model = as_language_model(Settings.llm if llm is None else llm, streaming=streaming)
        from skr_graphs import create_self_completion_graph  # LangGraph is loaded when it is used

        source = None
        manager = callback_manager or Settings.callback_manager
        if retriever is not None:
            source = as_retriever(
                retriever,
                model=model,
                similarity_top_k=similarity_top_k,
                filters=filters,
                node_postprocessors=node_postprocessors,
            )
            for postprocessor in node_postprocessors:
                postprocessor.callback_manager = manager
        # Folders are read once, not with each run's settings.
        if (arbiter := with_arbiter(options).get("arbiter")) is not None:
            options["arbiter"] = as_arbiter(arbiter, model, source)
        if options.get("router") is not None:
            options["router"] = as_router(options["router"], model, source)
        if options.get("reflector") is not None:
            options["reflector"] = as_reflector(options["reflector"], model, source)
        factory = partial(create_self_completion_graph, model=model, retriever=source, **options)
        engine = cls(
            factory().compile(name="skr"),
            SKRContext(retriever=source, templates=options.get("templates"), stream=streaming),
            streaming=streaming,
            callback_manager=manager,
        )
        engine._factory = factory
        return engine

    from_args = from_defaults
    """The same, by the name that ``RetrieverQueryEngine`` has for it."""

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        run = self._run(query_bundle)
        payload: dict[str, Any] = {EventPayload.QUERY_STR: query_bundle.query_str}
        with self.callback_manager.event(CBEventType.QUERY, payload=payload) as event:
            response = stream_response(run) if self._streaming else to_response(run.complete())
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        run = self._run(query_bundle)
        payload: dict[str, Any] = {EventPayload.QUERY_STR: query_bundle.query_str}
        with self.callback_manager.event(CBEventType.QUERY, payload=payload) as event:
            if self._streaming and not _is_read_as_text():
                response: RESPONSE_TYPE = await astream_response(run)
            else:
                response = to_response(await run.acomplete())
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    def _run(self, query_bundle: QueryBundle) -> GraphRun:
        context = self._context
        if context.retriever is not None:
            asked = bundled(context.retriever, query_bundle)
            # A run's settings are made anew for a context of its own.
            context = context if asked is context.retriever else replace(context, retriever=asked)
        return GraphRun(self._graph, query_bundle.query_str, context)

    def _get_prompts(self) -> PromptDictType:
        return as_prompts(self._context.templates or DEFAULT_TEMPLATES)

    def _update_prompts(self, prompts: PromptDictType) -> None:
        before = self._context.templates or DEFAULT_TEMPLATES
        self._context = replace(self._context, templates=replaced(before, prompts))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}


def _is_read_as_text() -> bool:
    """Whether one of LlamaIndex's tools waits for the answer, or its engine of sub-questions.

    They turn a response into a string at once, where nothing can be awaited any more, so they need
    it whole. Nothing but the calls that are under way says that they ask.
    """
    frame = sys._getframe().f_back
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(READERS_OF_TEXT):
            return True
        frame = frame.f_back
    return False
