"""What is right in place of keywords that LangChain's own chains and retrievers take."""

from __future__ import annotations

from collections.abc import Mapping

from skr_core.options import IN_A_BUDGET

_NUMBER = (
    "give it to the retriever, store.as_retriever(search_kwargs={'k': 5}), or cap what the model "
    "is given with budget=Budget(max_references=5)"
)
_WORDS = (
    "the words of the prompts are templates=PromptTemplates(...), those of a document "
    "document_prompt=..."
)

_MODELS = "it is the model's: give it to the model, as in model.bind(...)"
_GIVEN = "give it to the retriever, store.as_retriever(...); k alone may be given here"
_RETRIEVERS = "it is the retriever's: give it to the retriever"

CHAIN: Mapping[str, str] = {
    **IN_A_BUDGET,
    **dict.fromkeys(["k", "top_k", "search_kwargs", "search_type"], _NUMBER),
    **dict.fromkeys(["prompt", "system_prompt", "combine_docs_chain", "chain_type"], _WORDS),
    **dict.fromkeys(["base_compressor", "reranker"], "compressor is meant"),
    **dict.fromkeys(["temperature", "max_completion_tokens", "stop", "cache"], _MODELS),
    **dict.fromkeys(["filter", "filters", "score_threshold"], _RETRIEVERS),
    **dict.fromkeys(["callbacks", "verbose"], "give callbacks in a run's config"),
    "memory": 'a checkpointer remembers; or ask with {"question": ..., "history": ...}',
    "base_retriever": "the retriever comes second: (model, retriever)",
    "llm": "the model comes first: (model, retriever)",
    **dict.fromkeys(
        ["return_source_documents", "return_sources"], "create_skr_chain takes return_sources=True"
    ),
}

RETRIEVER: Mapping[str, str] = {
    **IN_A_BUDGET,
    "top_k": "k is meant",
    **dict.fromkeys(["search_kwargs", "search_type", "filter", "filters"], _GIVEN),
    **dict.fromkeys(
        ["compressor", "base_compressor"], "give it as_retriever(retriever, compressor=...)"
    ),
    **dict.fromkeys(["base_retriever", "vectorstore"], "retriever is meant"),
    "llm": "model is meant",
}
