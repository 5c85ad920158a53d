"""SKRQueryEngine: the state machine as a LlamaIndex query engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from llama_index.core import Settings as LlamaIndexSettings
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts import BasePromptTemplate, ChatPromptTemplate, PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores.types import MetadataFilters
from pydantic import BaseModel

from llamaindex_skr._compat import is_read_as_text
from llamaindex_skr.llms import ModelLike, as_language_model
from llamaindex_skr.messages import image_blocks
from llamaindex_skr.responses import astream_response, stream_response, to_response
from llamaindex_skr.runs import GraphRun, PerQuestion, PicklableGraph, per_question
from llamaindex_skr.sources import RetrieverLike, as_retriever, bundled
from skr_core import Budget, PromptTemplates, settings
from skr_core.errors import InputError
from skr_core.ports import AnswerArbiter, ReferenceStore
from skr_core.prompts.templates import DEFAULT_TEMPLATES, Template, as_format, template_of
from skr_core.types import Demonstration
from skr_graphs import SKRContext

if TYPE_CHECKING:
    from skr_graphs import CompiledGraph, SelfCompletionGraph

_NUMBER = "similarity_top_k is the number of nodes that an index finds"
_WORDS = (
    "the words before every answer are instructions=..., those of the prompts "
    "templates=PromptTemplates(...), or update_prompts(...)"
)
_CONVERSES = "SKRChatEngine.from_defaults(...) converses"


class SKRQueryEngine(PicklableGraph, BaseQueryEngine):
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
        callback_manager: The callback manager of LlamaIndex.

    Raises:
        InputError: The graph is no compiled graph.

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
        self._use_graph(graph)
        self._context = context or SKRContext()
        self._streaming = streaming

    @classmethod
    @settings.hinting(
        k=_NUMBER,
        top_k=_NUMBER,
        prompt=_WORDS,
        system_prompt=_WORDS,
        text_qa_template=_WORDS,
        memory=_CONVERSES,
        chat_history=_CONVERSES,
    )
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
            output_cls: The same, by LlamaIndex's name.

        Raises:
            InputError: The model or the retriever is none of the above, the retriever takes no
                `similarity_top_k` or no `filters`, or a setting is not what its name says.
        """
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
                "templates": templates,
                "instructions": instructions,
                "decompose": decompose,
                "metadata_keys": metadata_keys,
                "arbiter": arbiter,
                "response_format": as_schema(response_format, output_cls),
            },
        )
        engine = cls(
            parts.factory().compile(name="skr"),
            parts.context,
            streaming=streaming,
            callback_manager=parts.callback_manager,
        )
        engine._factory = parts.factory
        return engine

    from_args = from_defaults
    """The same, by the name that ``RetrieverQueryEngine`` has for it."""

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        run = self._run(query_bundle)
        payload: dict[str, Any] = {EventPayload.QUERY_STR: query_bundle.query_str}
        with self.callback_manager.event(CBEventType.QUERY, payload=payload) as event:
            if self._streaming:
                response: RESPONSE_TYPE = stream_response(run)
            else:
                response = to_response(run.complete(), run.response_format)
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        run = self._run(query_bundle)
        payload: dict[str, Any] = {EventPayload.QUERY_STR: query_bundle.query_str}
        with self.callback_manager.event(CBEventType.QUERY, payload=payload) as event:
            if self._streaming and not is_read_as_text():
                response: RESPONSE_TYPE = await astream_response(run)
            else:
                response = to_response(await run.acomplete(), run.response_format)
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    def _run(self, query_bundle: QueryBundle) -> GraphRun:
        context = self._context
        if context.retriever is not None:
            asked = bundled(context.retriever, query_bundle)
            # A run's settings are made anew for a context of its own.
            context = context if asked is context.retriever else replace(context, retriever=asked)
        images = image_blocks(query_bundle)
        return GraphRun(self._graph, query_bundle.query_str, context, images=images)

    def _get_prompts(self) -> PromptDictType:
        templates = self._context.templates or DEFAULT_TEMPLATES
        return {each.name: _as_prompt(getattr(templates, each.name)) for each in fields(templates)}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        templates = self._context.templates or DEFAULT_TEMPLATES
        names = [each.name for each in fields(templates)]
        if unknown := sorted(set(prompts) - set(names)):
            raise InputError(
                f"no prompt is called {', '.join(unknown)}: there are {', '.join(names)}"
            )
        given = {name: _as_template(prompt) for name, prompt in prompts.items()}
        self._context = replace(self._context, templates=_checked(replace(templates, **given)))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}


settings.answerer_of.register(SKRQueryEngine)(SKRQueryEngine._answerer)


def as_schema(
    response_format: settings.SchemaLike | None, output_cls: type[BaseModel] | None
) -> settings.SchemaLike | None:
    """The schema that was given under one of its two names."""
    if response_format is not None and output_cls is not None:
        raise InputError("response_format and output_cls are the same: give one of them")
    return output_cls if response_format is None else response_format


InstructionsLike = str | Callable[[], str] | BasePromptTemplate
"""Instructions: a text, a function that returns one, or a prompt template of LlamaIndex."""


@dataclass(frozen=True)
class EngineParts:
    """The parts that query engines and chat engines are made of.

    Attributes:
        factory: A function that makes the graph.
        context: The settings of every run that may differ from the graph's own.
        callback_manager: The callback manager of LlamaIndex.
    """

    factory: Callable[[], SelfCompletionGraph]
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
    source = None
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
    asked = {
        "scope": per_question(options["scope"]),
        "instructions": per_question(_as_words(options["instructions"])),
    }
    # Folders are read here, once, and not with each run's settings.
    made = settings.Settings.of(model, source, **{**options, **asked})
    _checked(made.templates)
    changing: dict[str, Any] = {
        name: each for name, each in asked.items() if isinstance(each, PerQuestion)
    }
    return EngineParts(
        partial(create_self_completion_graph, **vars(made)),
        SKRContext(retriever=source, templates=options["templates"], stream=streaming, **changing),
        manager,
    )


def _as_words(instructions: InstructionsLike | None) -> str | Callable[[], str] | None:
    """The instructions as a text, or as the function that makes it.

    Raises:
        InputError: A template has a variable that nothing fills.
    """
    if not isinstance(instructions, BasePromptTemplate):
        return instructions
    template = instructions
    filled = {*template.kwargs, *(template.function_mappings or {})}
    if unfilled := sorted({*template.template_vars} - filled):
        raise InputError(
            f"the template given as instructions names {', '.join(unfilled)}, which nothing fills: "
            "use partial_format(...) or function_mappings, or give a function"
        )
    return lambda: template.format()


# LlamaIndex fills {name} and leaves every other brace alone; str.format, which renders the
# project's templates, wants those doubled. LlamaIndex's own names for the parts of a prompt are
# understood too.

_PLACEHOLDERS: dict[str, Any] = {
    name: f"{{{name}}}" for name in ("demonstrations", "queries", "limit")
} | {
    "question": "{question}",
    "query_str": "{question}",
    "references": "{references}",
    "context_str": "{references}",
    "history": "{history}",
    "chat_history": "{history}",
}


def _as_prompt(template: Template) -> BasePromptTemplate:
    if isinstance(template, str):
        return PromptTemplate(_single_braces(template))
    said = [("system", template.system), ("user", template.user)]
    return ChatPromptTemplate.from_messages([(role, _single_braces(text)) for role, text in said])


def _single_braces(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")


def _checked(templates: PromptTemplates) -> PromptTemplates:
    """Refuse variables, because LlamaIndex has no config of a run that could fill them."""
    if variables := sorted(templates.variables):
        raise InputError(
            f"the prompts name {{{'}, {'.join(variables)}}}, which nothing fills: give "
            "partial_format(...) or function_mappings to the template"
        )
    return templates


def _as_template(prompt: BasePromptTemplate) -> Template:
    # Filled with placeholders, so that partial values and mappings of names are as in LlamaIndex.
    messages = prompt.format_messages(**_PLACEHOLDERS)
    return template_of([(each.role.value, as_format(each.content or "")) for each in messages])
