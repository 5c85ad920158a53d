"""What a model and a retriever are made into: a graph, a chain, or a tool of an agent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from langchain_core.documents import BaseDocumentCompressor
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from langchain_skr.chain import SKRChain
from langchain_skr.documents import RetrieverLike, as_retriever, is_filtered_by_runs
from langchain_skr.models import ModelLike, as_language_model
from skr_core.budget import Budget
from skr_core.errors import InputError
from skr_core.ports import AnswerArbiter, ReferenceStore
from skr_core.prompts.templates import TOOL_DESCRIPTION, TOOL_NAME, PromptTemplates
from skr_core.replies.queries import AllowQuery
from skr_core.settings import (
    Instructions,
    OnRetrieverError,
    ReflectorLike,
    RouterLike,
    SchemaLike,
    Scope,
    WhenInsufficient,
    hinting,
)
from skr_core.types import Demonstration
from skr_graphs import CompiledGraph, create_self_completion_graph
from skr_graphs.state import NAME

if TYPE_CHECKING:
    from langchain_core.prompts import BasePromptTemplate

    from langchain_skr.sourced import SKRSourcesChain
    from langchain_skr.structured import SKRObjectChain

Checkpointer = BaseCheckpointSaver[Any] | bool | None
"""LangGraph's, with its parameter: without, strict type checkers do not know what it is."""

_NUMBER = (
    "give it to the retriever, store.as_retriever(search_kwargs={'k': 5}), or limit what the model "
    "reads with budget=Budget(max_references=5)"
)
_WORDS = (
    "the words before every answer are instructions=..., those of your own prompt "
    "templates=as_templates(prompt), those of a document document_prompt=..."
)
_MEMORY = (
    'a checkpointer keeps the conversation; or ask with {"question": ..., "history": [messages]}'
)
_CACHE = (
    "LangGraph's cache knows a node's input, and neither the context nor the config of a run, so "
    "that one tenant would read another's answer: cache the model's replies, set_llm_cache(...)"
)
_HINTS = {
    "cache": _CACHE,
    **dict.fromkeys(("k", "top_k", "similarity_top_k", "search_kwargs"), _NUMBER),
    **dict.fromkeys(("prompt", "system_prompt", "text_qa_template"), _WORDS),
    **dict.fromkeys(("memory", "chat_history"), _MEMORY),
}
_NO_REVIEW = "a chain cannot stop for a person: use create_skr_graph"


@hinting(**_HINTS)
def create_skr_graph(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    compressor: BaseDocumentCompressor | None = None,
    document_prompt: BasePromptTemplate[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    name: str = NAME,
    review_queries: bool = False,
    router: RouterLike | None = None,
    reflector: ReflectorLike | None = None,
    reference_store: ReferenceStore | None = None,
    scope: Scope | None = None,
    ttl: float | None = None,
    budget: Budget | None = None,
    when_insufficient: WhenInsufficient | None = None,
    on_retriever_error: OnRetrieverError | None = None,
    demonstrations: Sequence[Demonstration] | None = None,
    templates: PromptTemplates | None = None,
    instructions: Instructions | BasePromptTemplate[Any] | None = None,
    decompose: bool | None = None,
    metadata_keys: Sequence[str] | None = None,
    arbiter: AnswerArbiter | None = None,
    response_format: SchemaLike | None = None,
    abstain_below: float | None = None,
    abstention: str | None = None,
    allow_query: AllowQuery | None = None,
) -> CompiledGraph:
    """Build and compile the graph of routing, retrieval and self-completion.

    Args:
        model: A LangChain chat model, an id for ``init_chat_model`` such as
            ``openai:gpt-4.1-mini``, or a `LanguageModel`.
        retriever: A LangChain retriever or vector store, or a `Retriever`. Several by name are
            asked side by side and fused by reciprocal rank; ``found_by`` in a document's metadata
            lists which of them found it.
        compressor: A reranker, filter or extractor of LangChain's, for the documents of each
            search. As with ``ContextualCompressionRetriever`` it is given that search's own query.
        document_prompt: The template by which the model is shown a document, as of LangChain's
            ``create_stuff_documents_chain``; by default its title, or source, and its content.
        checkpointer: A checkpointer of LangGraph: a thread then keeps its conversation. As a
            sub-graph this graph uses its parent's.
        store: A store of LangGraph, for retrievers that call its ``get_store()``. As a sub-graph, a
            chain or a tool, the graph finds its parent's. Its passages are not searched.
        name: The name of the graph and of its messages, by which a graph of several agents tells
            who spoke.
        review_queries: Whether to stop before every retrieval until a person approves the queries;
            resume with ``Command(resume=[queries])``. Needs a checkpointer.
        router: The router, or the file of a saved one; by default every question is retrieved
            for. This and the others are the settings of the system, see `Settings`.
        reflector: The judge of drafts, or the file of a saved one; by default the verdict is read
            from the model's reply.
        reference_store: A store that keeps what the retriever found, and is searched beside it; see
            `ReferenceStore`.
        scope: The scope in which it keeps and finds: a text, ``"shared"`` for all users alike, or a
            function of the run's config, such as ``lambda config:
            config["configurable"]["tenant"]``. Must be given beside a retriever.
        ttl: The seconds for which a passage is kept; for ever by default.
        budget: The limits of a question.
        when_insufficient: The answer where the references never sufficed, see `WhenInsufficient`.
        on_retriever_error: The outcome where the first searches all fail, see `OnRetrieverError`.
        demonstrations: Worked examples for the answer prompts.
        templates: The words of the prompts.
        instructions: The words that stand before them where an answer is asked for, such as a
            persona, a policy or a language: a text, a function of the run's config, or a prompt
            template, whose variables a run's ``configurable`` fills, and in a chain the other keys
            of the input.
        decompose: Whether to ask for the parts of a question before the first search; one call
            more.
        metadata_keys: The metadata of a document that the model sees beside its title.
        arbiter: The judge of whether the answer from references is served or the model's own; a
            router that is one brings it along.
        response_format: The schema of the answer's object, as for ``create_agent``: a pydantic
            model, a dataclass, a ``TypedDict`` or a JSON Schema. The output then has the object's
            plain values as ``structured_response``, and its JSON as ``answer``.
        abstain_below: The chance to be right, from 0 to 1, below which an answer is not served; the
            router has to be calibrated as a ladder or an arbiter.
        abstention: The text that is served in its place.
        allow_query: The rule of which queries may be searched, as passages may bring the model to
            write others: a function of a query and its question that returns a bool.

    Returns:
        A compiled graph: ``{"question": str, "history": [messages]}`` or ``{"messages":
        [messages]}`` in, `skr_graphs.SKROutput` out.

    Raises:
        InputError: The model or the retriever is none of the above, a setting is not what its name
            says, or one scope holds what is found with the ``search_kwargs`` of many runs.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_core.documents import Document
        >>> from langchain_core.runnables import RunnableLambda
        >>> graph = create_skr_graph(
        ...     FakeListChatModel(responses=["Paris [1]."]),
        ...     RunnableLambda(lambda query: [Document("Paris is the capital of France.")]),
        ... )
        >>> graph.invoke({"question": "What is the capital of France?"})["answer"]
        'Paris [1].'
    """
    if hasattr(templates, "format_prompt"):
        given = type(templates).__name__
        raise InputError(f"templates is {given}: give templates=as_templates(prompt)")
    if reference_store is not None and isinstance(scope, str) and is_filtered_by_runs(retriever):
        raise InputError(
            "the search_kwargs of a run's config do not hold for what a reference_store remembers "
            "in one scope: give scope=function of the config, which returns whose a run is, or no "
            "reference_store"
        )
    graph = create_self_completion_graph(
        model=as_language_model(model),
        retriever=as_retriever(retriever, compressor=compressor, document_prompt=document_prompt),
        review_queries=review_queries,
        router=router,
        reflector=reflector,
        reference_store=reference_store,
        scope=scope,
        ttl=ttl,
        budget=budget,
        when_insufficient=when_insufficient,
        on_retriever_error=on_retriever_error,
        demonstrations=demonstrations,
        templates=templates,
        instructions=as_instructions(instructions),
        decompose=decompose,
        metadata_keys=metadata_keys,
        arbiter=arbiter,
        response_format=response_format,
        abstain_below=abstain_below,
        abstention=abstention,
        allow_query=allow_query,
    )
    return graph.compile(checkpointer=checkpointer, store=store, name=name)


@overload
def create_skr_chain(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    return_sources: Literal[False] = False,
    compressor: BaseDocumentCompressor | None = None,
    document_prompt: BasePromptTemplate[Any] | None = None,
    checkpointer: Checkpointer = None,
    router: RouterLike | None = None,
    reflector: ReflectorLike | None = None,
    reference_store: ReferenceStore | None = None,
    scope: Scope | None = None,
    ttl: float | None = None,
    budget: Budget | None = None,
    when_insufficient: WhenInsufficient | None = None,
    on_retriever_error: OnRetrieverError | None = None,
    demonstrations: Sequence[Demonstration] | None = None,
    templates: PromptTemplates | None = None,
    instructions: Instructions | BasePromptTemplate[Any] | None = None,
    decompose: bool | None = None,
    metadata_keys: Sequence[str] | None = None,
    arbiter: AnswerArbiter | None = None,
    response_format: None = None,
    abstain_below: float | None = None,
    abstention: str | None = None,
    allow_query: AllowQuery | None = None,
) -> SKRChain: ...


@overload
def create_skr_chain(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    return_sources: Literal[False] = False,
    compressor: BaseDocumentCompressor | None = None,
    document_prompt: BasePromptTemplate[Any] | None = None,
    checkpointer: Checkpointer = None,
    router: RouterLike | None = None,
    reflector: ReflectorLike | None = None,
    reference_store: ReferenceStore | None = None,
    scope: Scope | None = None,
    ttl: float | None = None,
    budget: Budget | None = None,
    when_insufficient: WhenInsufficient | None = None,
    on_retriever_error: OnRetrieverError | None = None,
    demonstrations: Sequence[Demonstration] | None = None,
    templates: PromptTemplates | None = None,
    instructions: Instructions | BasePromptTemplate[Any] | None = None,
    decompose: bool | None = None,
    metadata_keys: Sequence[str] | None = None,
    arbiter: AnswerArbiter | None = None,
    response_format: SchemaLike,
    abstain_below: float | None = None,
    abstention: str | None = None,
    allow_query: AllowQuery | None = None,
) -> SKRObjectChain: ...


@overload
def create_skr_chain(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    return_sources: Literal[True],
    compressor: BaseDocumentCompressor | None = None,
    document_prompt: BasePromptTemplate[Any] | None = None,
    checkpointer: Checkpointer = None,
    router: RouterLike | None = None,
    reflector: ReflectorLike | None = None,
    reference_store: ReferenceStore | None = None,
    scope: Scope | None = None,
    ttl: float | None = None,
    budget: Budget | None = None,
    when_insufficient: WhenInsufficient | None = None,
    on_retriever_error: OnRetrieverError | None = None,
    demonstrations: Sequence[Demonstration] | None = None,
    templates: PromptTemplates | None = None,
    instructions: Instructions | BasePromptTemplate[Any] | None = None,
    decompose: bool | None = None,
    metadata_keys: Sequence[str] | None = None,
    arbiter: AnswerArbiter | None = None,
    response_format: SchemaLike | None = None,
    abstain_below: float | None = None,
    abstention: str | None = None,
    allow_query: AllowQuery | None = None,
) -> SKRSourcesChain: ...


@overload
def create_skr_chain(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    return_sources: bool,
    compressor: BaseDocumentCompressor | None = None,
    document_prompt: BasePromptTemplate[Any] | None = None,
    checkpointer: Checkpointer = None,
    router: RouterLike | None = None,
    reflector: ReflectorLike | None = None,
    reference_store: ReferenceStore | None = None,
    scope: Scope | None = None,
    ttl: float | None = None,
    budget: Budget | None = None,
    when_insufficient: WhenInsufficient | None = None,
    on_retriever_error: OnRetrieverError | None = None,
    demonstrations: Sequence[Demonstration] | None = None,
    templates: PromptTemplates | None = None,
    instructions: Instructions | BasePromptTemplate[Any] | None = None,
    decompose: bool | None = None,
    metadata_keys: Sequence[str] | None = None,
    arbiter: AnswerArbiter | None = None,
    response_format: SchemaLike | None = None,
    abstain_below: float | None = None,
    abstention: str | None = None,
    allow_query: AllowQuery | None = None,
) -> SKRChain | SKRSourcesChain: ...


@hinting(review_queries=_NO_REVIEW, **_HINTS)
def create_skr_chain(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    return_sources: bool = False,
    compressor: BaseDocumentCompressor | None = None,
    document_prompt: BasePromptTemplate[Any] | None = None,
    checkpointer: Checkpointer = None,
    router: RouterLike | None = None,
    reflector: ReflectorLike | None = None,
    reference_store: ReferenceStore | None = None,
    scope: Scope | None = None,
    ttl: float | None = None,
    budget: Budget | None = None,
    when_insufficient: WhenInsufficient | None = None,
    on_retriever_error: OnRetrieverError | None = None,
    demonstrations: Sequence[Demonstration] | None = None,
    templates: PromptTemplates | None = None,
    instructions: Instructions | BasePromptTemplate[Any] | None = None,
    decompose: bool | None = None,
    metadata_keys: Sequence[str] | None = None,
    arbiter: AnswerArbiter | None = None,
    response_format: SchemaLike | None = None,
    abstain_below: float | None = None,
    abstention: str | None = None,
    allow_query: AllowQuery | None = None,
) -> SKRChain | SKRSourcesChain:
    """Make a chain that retrieves only when needed and until the references suffice.

    Args:
        model: The model, as for `create_skr_graph`.
        retriever: The retriever, as for `create_skr_graph`; so are all the arguments below.
        return_sources: Whether to give the answer with its sources, see `AnswerWithSources`, in
            place of its text.
        compressor: A reranker, filter or extractor for the documents of each search.
        document_prompt: The template by which the model is shown a document.
        checkpointer: A checkpointer of LangGraph: a thread then keeps its conversation.
        router: The router, or the file of a saved one.
        reflector: The judge of drafts, or the file of a saved one.
        reference_store: A store that keeps what the retriever found, and is searched beside it.
        scope: The scope in which it keeps and finds, as text or as a function of the run's config.
        ttl: The seconds for which a passage is kept.
        budget: The limits of a question.
        when_insufficient: The answer where the references never sufficed.
        on_retriever_error: The outcome where the first searches all fail.
        demonstrations: Worked examples for the answer prompts.
        templates: The words of the prompts.
        instructions: The words that stand before them where an answer is asked for.
        decompose: Whether to ask for the parts of a question before the first search.
        metadata_keys: The metadata of a document that the model sees beside its title.
        arbiter: The judge of which answer is served; a router that is one brings it along.
        response_format: The schema of an object that is given in place of a text, or with
            `return_sources` beside it, as ``structured_response``.
        abstain_below: The chance to be right, from 0 to 1, below which an answer is not served; the
            router has to be calibrated as a ladder or an arbiter.
        abstention: The text that is served in its place.
        allow_query: The rule of which queries may be searched, as passages may bring the model to
            write others: a function of a query and its question that returns a bool.

    Returns:
        A runnable: a string, messages, ``{"question": str, "history": [messages]}`` or
        ``{"messages": [messages]}`` in, the answer's text out, or with `return_sources` a dict.
        ``stream`` yields the final answer's tokens alone, or pieces of the dict that add up to it.
        ``with_config(configurable={"router": ...})`` replaces the router of a run; ``reflector``,
        ``budget`` and ``when_insufficient`` too.

    Raises:
        InputError: The model or the retriever is not usable, or a setting is not what its name
            says.

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
    options: dict[str, Any] = {
        "compressor": compressor,
        "document_prompt": document_prompt,
        "checkpointer": checkpointer,
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
        "instructions": as_instructions(instructions),
        "decompose": decompose,
        "metadata_keys": metadata_keys,
        "arbiter": arbiter,
        "response_format": response_format,
        "abstain_below": abstain_below,
        "abstention": abstention,
        "allow_query": allow_query,
    }
    graph = create_skr_graph(model, retriever, **options)
    chain: SKRChain | SKRSourcesChain
    if return_sources:
        from langchain_skr.sourced import SKRSourcesChain  # answers that are texts need none

        chain = SKRSourcesChain(graph)
    elif response_format is None:
        chain = SKRChain(graph)
    else:
        from langchain_skr.structured import SKRObjectChain  # answers that are texts need none

        chain = SKRObjectChain(graph)
    again = partial(create_skr_chain, return_sources=return_sources, **options)
    chain._made_of = again, (model, retriever)
    return chain


@hinting(**_HINTS)
def create_skr_tool(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    name: str = TOOL_NAME,
    description: str = TOOL_DESCRIPTION,
    compressor: BaseDocumentCompressor | None = None,
    document_prompt: BasePromptTemplate[Any] | None = None,
    checkpointer: Checkpointer = None,
    review_queries: bool = False,
    router: RouterLike | None = None,
    reflector: ReflectorLike | None = None,
    reference_store: ReferenceStore | None = None,
    scope: Scope | None = None,
    ttl: float | None = None,
    budget: Budget | None = None,
    when_insufficient: WhenInsufficient | None = None,
    on_retriever_error: OnRetrieverError | None = None,
    demonstrations: Sequence[Demonstration] | None = None,
    templates: PromptTemplates | None = None,
    instructions: Instructions | BasePromptTemplate[Any] | None = None,
    decompose: bool | None = None,
    metadata_keys: Sequence[str] | None = None,
    arbiter: AnswerArbiter | None = None,
    response_format: SchemaLike | None = None,
    abstain_below: float | None = None,
    abstention: str | None = None,
    allow_query: AllowQuery | None = None,
) -> BaseTool:
    """Make a tool that retrieves until the references suffice, for ``create_agent``.

    Args:
        model: The model, as for `create_skr_graph`.
        retriever: The retriever, as for `create_skr_graph`; so are all the arguments below the
            description.
        name: The name by which the agent calls it.
        description: The text from which the agent learns when to call it.
        compressor: A reranker, filter or extractor for the documents of each search.
        document_prompt: The template by which the model is shown a document.
        checkpointer: A checkpointer of LangGraph.
        review_queries: Whether to stop before every retrieval until a person approves the queries.
        router: The router, or the file of a saved one.
        reflector: The judge of drafts, or the file of a saved one.
        reference_store: A store that keeps what the retriever found, and is searched beside it.
        scope: The scope in which it keeps and finds, as text or as a function of the run's config.
        ttl: The seconds for which a passage is kept.
        budget: The limits of a question.
        when_insufficient: The answer where the references never sufficed.
        on_retriever_error: The outcome where the first searches all fail.
        demonstrations: Worked examples for the answer prompts.
        templates: The words of the prompts.
        instructions: The words that stand before them where an answer is asked for.
        decompose: Whether to ask for the parts of a question before the first search.
        metadata_keys: The metadata of a document that the model sees beside its title.
        arbiter: The judge of which answer is served; a router that is one brings it along.
        response_format: The schema of an object, whose JSON is then the content.
        abstain_below: The chance to be right, from 0 to 1, below which an answer is not served; the
            router has to be calibrated as a ladder or an arbiter.
        abstention: The text that is served in its place.
        allow_query: The rule of which queries may be searched, as passages may bring the model to
            write others: a function of a query and its question that returns a bool.

    Returns:
        A tool whose content is the answer's text with its numbered sources, and whose artifact is
        the graph's output, `ToolArtifact`: plain values, which every checkpointer can save.
        ``answer_of(message.artifact)`` makes an `Answer` of it, whose own markers count from 1.
        Where references were searched for and the answer rests on none, the content says so. Called
        without a question it says what is wanted, so that the agent's model can call it again.

    Raises:
        InputError: The model or the retriever is not usable, or a setting is not what its name
            says.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_core.documents import Document
        >>> from langchain_core.runnables import RunnableLambda
        >>> tool = create_skr_tool(
        ...     FakeListChatModel(responses=["Paris [1]."]),
        ...     RunnableLambda(lambda query: [Document("Paris is the capital of France.")]),
        ... )
        >>> print(tool.invoke({"question": "What is the capital of France?"}))
        Paris [1].
        <BLANKLINE>
        Sources:
        [1] "Paris is the capital of France."
    """
    graph = create_skr_graph(
        model,
        retriever,
        compressor=compressor,
        document_prompt=document_prompt,
        checkpointer=checkpointer,
        review_queries=review_queries,
        router=router,
        reflector=reflector,
        reference_store=reference_store,
        scope=scope,
        ttl=ttl,
        budget=budget,
        when_insufficient=when_insufficient,
        on_retriever_error=on_retriever_error,
        demonstrations=demonstrations,
        templates=templates,
        instructions=instructions,
        decompose=decompose,
        metadata_keys=metadata_keys,
        arbiter=arbiter,
        response_format=response_format,
        abstain_below=abstain_below,
        abstention=abstention,
        allow_query=allow_query,
    )
    from langchain_skr.tool import tool_of  # with LangGraph's agents

    return tool_of(graph, name, description)


def as_instructions(instructions: Instructions | BasePromptTemplate[Any] | None) -> Any:
    """A prompt template as a function of a run's config, anything else as it is."""
    if not hasattr(instructions, "format_prompt"):
        return instructions
    from langchain_skr.prompt_templates import TemplatedInstructions

    return TemplatedInstructions(instructions)
