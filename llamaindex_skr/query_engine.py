"""SKRQueryEngine: the state machine as a LlamaIndex query engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from llama_index.core import Settings as LlamaIndexSettings
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import RESPONSE_TYPE, AsyncStreamingResponse
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.llms import LLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts import BasePromptTemplate
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle, QueryType
from llama_index.core.vector_stores.types import MetadataFilters
from pydantic import BaseModel

from llamaindex_skr._compat import is_read_as_text, streams
from llamaindex_skr.llms import ModelLike, as_language_model
from llamaindex_skr.messages import image_blocks
from llamaindex_skr.nodes import to_node
from llamaindex_skr.options import OptionsOfRequests, check_filters
from llamaindex_skr.prompts import (
    InstructionsLike,
    as_prompt,
    as_template,
    as_words,
    checked,
    with_text_qa,
)
from llamaindex_skr.responses import (
    astream_response,
    atold,
    stream_response,
    to_response,
    told,
    with_answer,
)
from llamaindex_skr.runs import GraphRun, PerQuestion, per_question
from llamaindex_skr.sources import RetrieverLike, as_retriever
from skr_core import Budget, PromptTemplates, flow, settings
from skr_core.errors import InputError
from skr_core.flow import Flow
from skr_core.ports import AnswerArbiter, ReferenceStore, Retriever
from skr_core.prompts.templates import DEFAULT_TEMPLATES
from skr_core.replies.queries import AllowQuery
from skr_core.replies.refusals import is_refusal, without_notice
from skr_core.types import Demonstration
from skr_graphs import SKRContext

if TYPE_CHECKING:
    from skr_graphs import CompiledGraph, SelfCompletionGraph

_NUMBER = "similarity_top_k is the number of nodes that an index finds"
_WORDS = (
    "the words before every answer are instructions=..., those of the prompts "
    "templates=PromptTemplates(...), or update_prompts(...)"
)
_SYNTHESIZES = (
    "give response_synthesizer=get_response_synthesizer(response_mode=...), which then writes the "
    "answer from the nodes that the loop finds"
)
_OF_SYNTHESIZERS = ("response_mode", "refine_template", "summary_template", "simple_template")
_SEARCHES = "give index.as_retriever(...), made with it, in place of the index"
_CONVERSES = "SKRChatEngine.from_defaults(...) converses"


class SKRQueryEngine(OptionsOfRequests, BaseQueryEngine):
    """Answers a query, retrieving only when needed and until the references suffice.

    A response's ``source_nodes`` are the references that the answer was given, in the order of its
    [n] markers; its ``metadata`` hold ``decision``, ``rounds``, ``stop_reason``, ``grounded``,
    ``citations`` and ``usage``, and with an ``arbiter`` its ``verdict``. An answer that is not
    ``grounded`` rests on no reference. A question that the model knows gets a direct answer and no
    source.

    ``get_prompts`` and ``update_prompts`` read and replace the words of the prompts, of this
    engine alone.

    Args:
        graph: A compiled self-completion graph.
        context: The settings of every run that differ from the graph's own.
        streaming: Whether responses stream the final answer's tokens.
        response_synthesizer: The synthesizer that writes the answer, see `from_defaults`.
        callback_manager: The callback manager of LlamaIndex.

    Raises:
        InputError: The graph is no compiled graph, or the synthesizer is none or does not stream.

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
        response_synthesizer: BaseSynthesizer | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager)
        if not isinstance(streaming, bool):
            raise InputError(f"streaming is {streaming!r}: give True or False")
        self._use_graph(graph)
        self._context = context or SKRContext()
        self._synthesizer = response_synthesizer
        self._streaming = streaming
        if response_synthesizer is not None:
            given: object = response_synthesizer  # callers without a type checker give anything
            if not isinstance(given, BaseSynthesizer):
                raise InputError(f"a synthesizer is wanted, not {type(given).__name__}")
            self._streaming = streams(given)
            if streaming and not self._streaming:
                raise InputError(
                    "this response_synthesizer does not stream: make it by "
                    "get_response_synthesizer(streaming=True)"
                )

    @classmethod
    @settings.hinting(
        k=_NUMBER,
        top_k=_NUMBER,
        prompt=_WORDS,
        system_prompt=_WORDS,
        **dict.fromkeys(_OF_SYNTHESIZERS, _SYNTHESIZES),
        memory=_CONVERSES,
        chat_history=_CONVERSES,
        vector_store_query_mode=_SEARCHES,
        use_async="aquery(...) is the async form of query(...)",
        verbose="LlamaIndex's handlers are told of each step, see llamaindex_skr.SKREvent",
    )
    def from_defaults(
        cls,
        retriever: RetrieverLike | None = None,
        llm: ModelLike | None = None,
        *,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] = (),
        streaming: bool = False,
        text_qa_template: BasePromptTemplate | None = None,
        response_synthesizer: BaseSynthesizer | None = None,
        callback_manager: CallbackManager | None = None,
        router: settings.RouterLike | None = None,
        reflector: settings.ReflectorLike | None = None,
        reference_store: ReferenceStore | None = None,
        scope: str | Callable[[], str] | None = None,
        ttl: float | None = None,
        budget: Budget | None = None,
        when_insufficient: settings.WhenInsufficient | None = None,
        on_retriever_error: settings.OnRetrieverError | None = None,
        demonstrations: Sequence[Demonstration] | None = None,
        templates: PromptTemplates | None = None,
        instructions: InstructionsLike | None = None,
        decompose: bool | None = None,
        metadata_keys: Sequence[str] | None = None,
        arbiter: AnswerArbiter | None = None,
        response_format: settings.SchemaLike | None = None,
        abstain_below: float | None = None,
        abstention: str | None = None,
        allow_query: AllowQuery | None = None,
        output_cls: type[BaseModel] | None = None,
    ) -> SKRQueryEngine:
        """Build the engine over LlamaIndex objects.

        Args:
            retriever: A LlamaIndex retriever or index, or a `Retriever`; or several by name, which
                are asked side by side and fused by reciprocal rank (``found_by`` in a node's
                metadata lists those that found it). A router that never retrieves needs none.
            llm: A LlamaIndex LLM, an id such as ``openai:gpt-4.1-mini``, or a `LanguageModel`; by
                default ``Settings.llm`` of LlamaIndex.
            similarity_top_k: The number of nodes that an index finds for each query.
            filters: The conditions that the metadata of an index's nodes must meet.
            node_postprocessors: The rerankers and filters, in their order. As in LlamaIndex's
                ``RetrieverQueryEngine`` they are given each search's nodes with its own query.
            streaming: Whether responses stream the final answer's tokens.
            text_qa_template: The user's own prompt for an answer from references, with
                ``{context_str}`` and ``{query_str}``. What the loop needs, such as the verdict, is
                asked for behind it.
            response_synthesizer: The synthesizer of LlamaIndex that writes the answer from the
                nodes, with its own words, model and way of streaming. The loop finds them, with one
                call a round for its verdict. What needs no node is told by the loop: a known
                question's answer, and a refusal.
            callback_manager: The callback manager; by default ``Settings.callback_manager`` of
                LlamaIndex.
            router: The router, or the file of a saved one; retrieves always by default.
            reflector: The reflector, or the file of a learned one; by default the verdict is read
                from the model's reply.
            reference_store: The store that remembers the references found, and is searched beside
                the retriever.
            scope: The scope in which it remembers and searches: a text, ``"shared"`` for all users
                alike, or a function that returns the asking user's, such as the ``get`` of a
                ``ContextVar``; it is called once, when the question is asked. Must be given beside
                a retriever.
            ttl: The seconds for which a passage is remembered; for ever by default.
            budget: The limits of a question.
            when_insufficient: The answer where the references never sufficed, see
                `skr_core.settings.WhenInsufficient`.
            on_retriever_error: The reaction where every first search fails, see
                `skr_core.settings.OnRetrieverError`.
            demonstrations: The worked examples for the answer prompts.
            templates: The words of the prompts.
            instructions: The words that stand before them where an answer is asked for: a text, a
                prompt template whose variables are all filled (``partial_format``, function
                mappings), or a function that returns a text, called once for each question.
            decompose: Whether the model is asked for the parts of a question before the first
                search, with one call more.
            metadata_keys: The keys of a reference's metadata that the model sees beside its title.
            arbiter: The arbiter between the model's own answer and the one from references; a
                router that is one brings it along, see `skr_core.settings.Settings`.
            response_format: The schema of the answer's object: a pydantic model, whose instance is
                then the response's, or another class or a JSON Schema, whose plain values are
                ``metadata["structured_response"]``.
            abstain_below: The chance to be right, from 0 to 1, below which an answer is not served;
                the router has to be calibrated as a ladder or an arbiter.
            abstention: The text that is served in its place.
            allow_query: The rule of which queries may be searched, as passages may bring the model
                to write others: a function of a query and its question that returns a bool.
            output_cls: The same as `response_format`, by LlamaIndex's name.

        Raises:
            InputError: The model or the retriever is none of the above, the retriever takes no
                `similarity_top_k` or no `filters`, or a setting is not what its name says.
        """
        schema = as_schema(response_format, output_cls)
        if response_synthesizer is not None and (
            schema is not None or text_qa_template is not None
        ):
            raise InputError(
                "the response_synthesizer writes the answer: give schema and template to it, by "
                "get_response_synthesizer(output_cls=..., text_qa_template=...)"
            )
        if response_synthesizer is not None and when_insufficient == "own_knowledge":
            raise InputError(
                'when_insufficient="own_knowledge" asks the model for an answer, which the '
                'response_synthesizer writes here: give "best_draft" or "refuse"'
            )
        parts = engine_parts(
            retriever,
            llm,
            similarity_top_k=similarity_top_k,
            filters=filters,
            node_postprocessors=node_postprocessors,
            streaming=streaming,
            callback_manager=callback_manager,
            options={
                "router": router,
                "reflector": reflector,
                "reference_store": reference_store,
                "scope": scope,
                "ttl": ttl,
                "budget": budget,
                "when_insufficient": when_insufficient,
                "on_retriever_error": on_retriever_error,
                "demonstrations": demonstrations,
                "templates": with_text_qa(templates, text_qa_template),
                "instructions": instructions,
                "decompose": decompose,
                "metadata_keys": metadata_keys,
                "arbiter": arbiter,
                "response_format": schema,
                "abstain_below": abstain_below,
                "abstention": abstention,
                "allow_query": allow_query,
            },
        )
        engine = cls(
            parts.factory().compile(name="skr"),
            parts.context,
            streaming=streaming,
            response_synthesizer=response_synthesizer,
            callback_manager=parts.callback_manager,
        )
        engine._factory, engine._source = parts.factory, parts.source
        return engine

    from_args = from_defaults
    """The same, by the name that ``RetrieverQueryEngine`` has for it."""

    def retrieve(self, query_bundle: QueryType) -> list[NodeWithScore]:
        """Route and search once, and answer nothing.

        Args:
            query_bundle: The query.

        Returns:
            The nodes that the first prompt would show, in that order; none where the router says
            that the model knows.
        """
        found = self._run(as_bundle(query_bundle)).found()
        return [to_node(reference) for reference in found]

    async def aretrieve(self, query_bundle: QueryType) -> list[NodeWithScore]:
        """Async version of `retrieve`."""
        found = await self._run(as_bundle(query_bundle)).afound()
        return [to_node(reference) for reference in found]

    def synthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
    ) -> RESPONSE_TYPE:
        """Let the response synthesizer answer from nodes of the caller's own.

        Raises:
            InputError: The engine has no `response_synthesizer`.
        """
        return self._given_synthesizer().synthesize(query_bundle, nodes, additional_source_nodes)

    async def asynthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
    ) -> RESPONSE_TYPE:
        """Async version of `synthesize`."""
        synthesizer = self._given_synthesizer()
        return await synthesizer.asynthesize(query_bundle, nodes, additional_source_nodes)

    def _given_synthesizer(self) -> BaseSynthesizer:
        if self._synthesizer is None:
            raise InputError(
                "this engine answers from what its own loop finds: ask query(...), or give it a "
                "response_synthesizer=... that answers from nodes of yours"
            )
        return self._synthesizer

    def _answerer(self) -> settings.ActionAnswerer:
        if self._synthesizer is not None:
            raise InputError(
                "the loop cannot be asked for what a response_synthesizer writes: collect over the "
                "same engine without response_synthesizer=..., whose answers are the loop's own"
            )
        return super()._answerer()

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        run = self._run(query_bundle)
        payload: dict[str, Any] = {EventPayload.QUERY_STR: query_bundle.query_str}
        with self.callback_manager.event(CBEventType.QUERY, payload=payload) as event:
            if self._synthesizer is not None:
                response = flow.run(self._synthesized(self._synthesizer, query_bundle, run))
            elif self._streaming:
                response = stream_response(run)
            else:
                response = to_response(run.complete(), run.response_format)
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        run = self._run(query_bundle)
        payload: dict[str, Any] = {EventPayload.QUERY_STR: query_bundle.query_str}
        with self.callback_manager.event(CBEventType.QUERY, payload=payload) as event:
            is_text = is_read_as_text()
            if self._synthesizer is not None:
                response = await flow.arun(self._synthesized(self._synthesizer, query_bundle, run))
                if is_text and isinstance(response, AsyncStreamingResponse):
                    response = await response.get_response()
            elif self._streaming and not is_text:
                response = await astream_response(run)
            else:
                response = to_response(await run.acomplete(), run.response_format)
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    def _synthesized(
        self, synthesizer: BaseSynthesizer, query: QueryBundle, run: GraphRun
    ) -> Flow[RESPONSE_TYPE]:
        """The synthesizer's response; what the loop says itself where that needs no node."""
        answer = yield from flow.call(run.complete, run.acomplete)
        if answer.references and not is_refusal(without_notice(answer.text)):
            nodes = [to_node(reference) for reference in answer.references]
            made = yield from flow.call(
                synthesizer.synthesize, synthesizer.asynthesize, query, nodes
            )
            return with_answer(made, answer)
        if not self._streaming:
            return to_response(answer)
        as_stream: RESPONSE_TYPE = yield from flow.call(told, cast(Any, atold), answer)
        return as_stream

    def _run(self, query_bundle: QueryBundle) -> GraphRun:
        context, images = self._context_of(query_bundle), image_blocks(query_bundle)
        stream = False if self._synthesizer else None
        return GraphRun(self._graph, query_bundle.query_str, context, images=images, stream=stream)

    def update_prompts(self, prompts_dict: PromptDictType) -> None:
        """Replace prompts of this engine, by their names in ``get_prompts``.

        ``text_qa_template``, with or without ``response_synthesizer:`` before it as LlamaIndex's
        own engines have it, is taken as by `from_defaults`.

        Raises:
            InputError: There is no prompt of a name, or a template lacks what it needs.
        """
        if self._synthesizer is None:
            prompts_dict = {
                name.removeprefix("response_synthesizer:"): each
                for name, each in prompts_dict.items()
            }
        super().update_prompts(prompts_dict)

    def _get_prompts(self) -> PromptDictType:
        templates = self._context.templates or DEFAULT_TEMPLATES
        return {each.name: as_prompt(getattr(templates, each.name)) for each in fields(templates)}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        templates = self._context.templates or DEFAULT_TEMPLATES
        names = [each.name for each in fields(templates)]
        if self._synthesizer is not None:  # whose own LlamaIndex hands over here too
            theirs = "response_synthesizer:"
            prompts = {name: each for name, each in prompts.items() if not name.startswith(theirs)}
        elif "text_qa_template" in prompts:
            prompts = {**prompts}
            templates = templates.worded(as_template(prompts.pop("text_qa_template")))
        if unknown := sorted(set(prompts) - set(names)):
            raise InputError(
                f"no prompt is called {', '.join(unknown)}: there are {', '.join(names)}"
            )
        given = {name: as_template(prompt) for name, prompt in prompts.items()}
        self._context = replace(self._context, templates=checked(replace(templates, **given)))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {} if self._synthesizer is None else {"response_synthesizer": self._synthesizer}


def as_bundle(query: QueryType) -> QueryBundle:
    """What a caller asks, as a bundle."""
    given: object = query  # callers without a type checker give anything
    if not isinstance(given, str | QueryBundle):
        raise InputError(f"a question is a text or a QueryBundle, not {type(given).__name__}")
    return QueryBundle(given) if isinstance(given, str) else given


settings.answerer_of.register(SKRQueryEngine)(SKRQueryEngine._answerer)


def as_schema(
    response_format: settings.SchemaLike | None, output_cls: type[BaseModel] | None
) -> settings.SchemaLike | None:
    """The schema that was given under one of its two names."""
    if response_format is not None and output_cls is not None:
        raise InputError("response_format and output_cls are the same: give one of them")
    return output_cls if response_format is None else response_format


@dataclass(frozen=True)
class EngineParts:
    """The parts that query engines and chat engines are made of.

    Attributes:
        factory: A function that makes the graph.
        source: A function that makes the retriever, for `OptionsOfRequests.with_options`; None
            where there is none.
        context: The settings of every run that may differ from the graph's own.
        callback_manager: The callback manager of LlamaIndex.
    """

    factory: Callable[[], SelfCompletionGraph]
    source: Callable[..., Retriever] | None
    context: SKRContext
    callback_manager: CallbackManager


def engine_parts(
    retriever: RetrieverLike | None,
    llm: ModelLike | None,
    *,
    similarity_top_k: int | None,
    filters: MetadataFilters | None,
    node_postprocessors: Sequence[BaseNodePostprocessor],
    streaming: bool,
    callback_manager: CallbackManager | None,
    options: Mapping[str, Any],
) -> EngineParts:
    """Make the parts of an engine, with the arguments of `SKRQueryEngine.from_defaults`.

    Args:
        options: The settings, by the names of `skr_core.settings.Settings`.
    """
    if retriever is None and options["reference_store"] is None and options["router"] is None:
        raise InputError(
            "there is nothing to retrieve from: give a retriever or an index, "
            "or a router that never retrieves"
        )
    if retriever is None and (similarity_top_k or filters or node_postprocessors):
        raise InputError(
            "similarity_top_k, filters and node_postprocessors belong to a retriever or an index: "
            "give one"
        )
    from skr_graphs import create_self_completion_graph  # LangGraph is loaded when it is used

    model = as_language_model(LlamaIndexSettings.llm if llm is None else llm, streaming=streaming)
    manager = callback_manager or LlamaIndexSettings.callback_manager
    llm_of_its_own: Any = getattr(model, "llm", None)
    if callback_manager is not None and isinstance(llm_of_its_own, LLM):
        llm_of_its_own.callback_manager = callback_manager
    source = make = None
    if retriever is not None:
        make = partial(
            as_retriever,
            retriever,
            model=model,
            similarity_top_k=similarity_top_k,
            filters=filters,
            node_postprocessors=node_postprocessors,
            callback_manager=callback_manager,
        )
        source = make()
        for postprocessor in node_postprocessors:
            postprocessor.callback_manager = manager
    asked = {
        "scope": per_question(options["scope"]),
        "instructions": per_question(as_words(options["instructions"])),
    }
    # Folders are read here, once, and not with each run's settings.
    made = settings.Settings.of(model, source, **{**options, **asked})
    check_filters(filters, options["scope"], made)
    checked(made.templates)
    changing: dict[str, Any] = {
        name: each for name, each in asked.items() if isinstance(each, PerQuestion)
    }
    return EngineParts(
        partial(create_self_completion_graph, **vars(made)),
        make,
        SKRContext(retriever=source, templates=options["templates"], stream=streaming, **changing),
        manager,
    )
