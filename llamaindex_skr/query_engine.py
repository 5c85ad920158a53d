"""SKRQueryEngine: the state machine as a LlamaIndex query engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llama_index.core import Settings
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import QueryBundle
from typing_extensions import Unpack

from llamaindex_skr.adapters import ModelLike, RetrieverLike, as_language_model, as_retriever
from llamaindex_skr.graph_run import GraphRun
from llamaindex_skr.prompt_templates import as_prompts, replaced
from llamaindex_skr.responses import astream_response, stream_response, to_response
from skr_core.errors import InputError
from skr_core.prompts.templates import DEFAULT_TEMPLATES
from skr_core.settings import SettingsOptions
from skr_graphs.context import SKRContext

if TYPE_CHECKING:
    from skr_graphs import CompiledGraph


class SKRQueryEngine(BaseQueryEngine):
    """Answers a query, retrieving only when needed and until the references suffice.

    A response's ``source_nodes`` are the references the answer was given, in the order of its [n]
    markers; its ``metadata`` hold ``decision``, ``rounds``, ``stop_reason``, ``grounded``,
    ``citations`` and ``usage``. An answer that is not ``grounded`` rests on no reference. A
    question the model knows gets a direct answer and no source.

    ``get_prompts`` and ``update_prompts`` read and replace the words of the prompts, of this
    engine alone.

    Args:
        graph: A compiled self-completion graph.
        context: Of every run; what it leaves open is the graph's own.
        streaming: Whether responses stream the final answer's tokens.
        callback_manager: LlamaIndex's.

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
        self._graph = graph
        self._context = context or SKRContext()
        self._streaming = streaming

    @classmethod
    def from_defaults(
        cls,
        retriever: RetrieverLike | None = None,
        *,
        llm: ModelLike | None = None,
        streaming: bool = False,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[SettingsOptions],
    ) -> SKRQueryEngine:
        """Build the engine over LlamaIndex objects.

        Args:
            retriever: A LlamaIndex retriever or index, or a `Retriever`. A router that never
                retrieves needs none.
            llm: A LlamaIndex LLM, an id such as ``openai:gpt-4.1-mini``, or a `LanguageModel`;
                ``Settings.llm`` where none is given.
            streaming: Whether responses stream the final answer's tokens.
            callback_manager: LlamaIndex's; ``Settings.callback_manager`` where none is given.
            **options: The other settings, see `skr_core.settings.Settings`: ``router`` (also the
                folder of a saved one), ``reflector``, ``store``, ``budget``,
                ``when_insufficient``, ``on_retriever_error``, ``demonstrations`` and
                ``templates``.

        Raises:
            InputError: The model or the retriever is none of the above.
        """
        if retriever is None and not {"store", "router"} & options.keys():
            raise InputError(
                "there is nothing to retrieve from: give a retriever or an index, "
                "or a router that never retrieves"
            )
        model = as_language_model(Settings.llm if llm is None else llm, streaming=streaming)
        from skr_graphs import create_self_completion_graph  # LangGraph is loaded when it is used

        graph = create_self_completion_graph(
            model=model,
            retriever=None if retriever is None else as_retriever(retriever, model=model),
            **options,
        )
        return cls(
            graph.compile(name="skr"),
            SKRContext(templates=options.get("templates"), stream=streaming),
            streaming=streaming,
            callback_manager=callback_manager or Settings.callback_manager,
        )

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
            if self._streaming:
                response: RESPONSE_TYPE = await astream_response(run)
            else:
                response = to_response(await run.acomplete())
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    def _run(self, query_bundle: QueryBundle) -> GraphRun:
        return GraphRun(self._graph, query_bundle.query_str, self._context)

    def _get_prompts(self) -> PromptDictType:
        return as_prompts(self._context.templates or DEFAULT_TEMPLATES)

    def _update_prompts(self, prompts: PromptDictType) -> None:
        before = self._context.templates or DEFAULT_TEMPLATES
        self._context = replace(self._context, templates=replaced(before, prompts))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}
