"""create_skr_graph: the state machine over LangChain objects, compiled."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.types import Checkpointer

from langchain_skr.adapters import as_language_model, as_retriever
from skr_core.budget import Budget
from skr_core.ports import ReferenceStore, Reflector, Router
from skr_core.prompts.templates import PromptTemplates
from skr_core.types import Demonstration
from skr_graphs import CompiledGraph, create_self_completion_graph


def create_skr_graph(
    model: object,
    retriever: object,
    *,
    router: Router | None = None,
    reflector: Reflector | None = None,
    store: ReferenceStore | None = None,
    budget: Budget | None = None,
    abstain: bool = False,
    demonstrations: Sequence[Demonstration] = (),
    templates: PromptTemplates | None = None,
    review_queries: bool = False,
    checkpointer: Checkpointer = None,
) -> CompiledGraph:
    """Build and compile the graph of routing, retrieval and self-completion.

    Args:
        model: A LangChain chat model, an id for ``init_chat_model`` such as
            ``openai:gpt-4.1-mini``, or a `LanguageModel`.
        retriever: A LangChain retriever or vector store, or a `Retriever`.
        router: Decides whether to retrieve; always, by default.
        reflector: Judges drafts; by default the refusal sentence is read from them.
        store: Remembers what the retriever found, and is searched beside it.
        budget: The limits of a question.
        abstain: At the budget's end, refuse rather than return the best draft.
        demonstrations: Worked examples for the answer prompts.
        templates: The words of the prompts.
        review_queries: Stop before every retrieval until a person has seen the queries; resume
            with ``Command(resume=[queries])``. Wants a checkpointer.
        checkpointer: Of LangGraph, for threads that outlive a process. As a sub-graph this graph
            uses its parent's.

    Returns:
        A compiled graph: ``{"question": str}`` in, `skr_graphs.SKROutput` out.

    Raises:
        InputError: The model or the retriever is none of the above.

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
    graph = create_self_completion_graph(
        model=as_language_model(model),
        retriever=as_retriever(retriever),
        router=router,
        reflector=reflector,
        store=store,
        budget=budget,
        abstain=abstain,
        demonstrations=demonstrations,
        templates=templates,
        review_queries=review_queries,
    )
    return graph.compile(checkpointer=checkpointer, name="skr")
