"""create_skr_graph: the state machine over LangChain objects, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from typing_extensions import Unpack

from langchain_skr import advice
from langchain_skr.adapters import ModelLike, RetrieverLike, as_language_model, as_retriever
from skr_core.options import SettingsOptions, refuse_unknown
from skr_graphs import CompiledGraph, create_self_completion_graph

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.prompts import BasePromptTemplate

Checkpointer = BaseCheckpointSaver[Any] | bool | None
"""LangGraph's, with its parameter: without, strict type checkers do not know what it is."""


class ChainOptions(SettingsOptions, total=False):
    """The options of `create_skr_graph` that a chain takes too."""

    compressor: BaseDocumentCompressor | None
    document_prompt: BasePromptTemplate[Any] | None
    checkpointer: Checkpointer


class GraphOptions(ChainOptions, total=False):
    """All options of `create_skr_graph`."""

    review_queries: bool


CHAIN_OPTIONS = frozenset(ChainOptions.__annotations__)
GRAPH_OPTIONS = CHAIN_OPTIONS | {"review_queries"}


def create_skr_graph(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    compressor: BaseDocumentCompressor | None = None,
    document_prompt: BasePromptTemplate[Any] | None = None,
    review_queries: bool = False,
    checkpointer: Checkpointer = None,
    **options: Unpack[SettingsOptions],
) -> CompiledGraph:
    """Build and compile the graph of routing, retrieval and self-completion.

    Args:
        model: A LangChain chat model, an id for ``init_chat_model`` such as
            ``openai:gpt-4.1-mini``, or a `LanguageModel`.
        retriever: A LangChain retriever or vector store, or a `Retriever`. Several by name are
            asked side by side and fused by reciprocal rank; ``found_by`` in a document's metadata
            lists which of them found it.
        compressor: A reranker, filter or extractor of LangChain's, for what each search finds. As
            with ``ContextualCompressionRetriever`` it is given that search's own query.
        document_prompt: How the model is shown a document, as of LangChain's
            ``create_stuff_documents_chain``; by default its title, or source, and its content.
        review_queries: Stop before every retrieval until a person has seen the queries; resume
            with ``Command(resume=[queries])``. Wants a checkpointer.
        checkpointer: Of LangGraph: a thread then keeps its conversation. As a sub-graph this graph
            uses its parent's.
        **options: The other settings, see `skr_core.settings.Settings`: ``router`` (also the folder
            of a saved one), ``reflector`` (likewise), ``store``, ``budget``, ``when_insufficient``,
            ``on_retriever_error``, ``demonstrations`` and ``templates``.

    Returns:
        A compiled graph: ``{"question": str, "history": [messages]}`` or ``{"messages":
        [messages]}`` in, `skr_graphs.SKROutput` out.

    Raises:
        InputError: The model or the retriever is none of the above.
        OptionError: There is no option of a name that was given.

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
    refuse_unknown("create_skr_graph", options, GRAPH_OPTIONS, advice.CHAIN)
    graph = create_self_completion_graph(
        model=as_language_model(model),
        retriever=as_retriever(retriever, compressor=compressor, document_prompt=document_prompt),
        review_queries=review_queries,
        **options,
    )
    return graph.compile(checkpointer=checkpointer, name="skr")
