"""What is right in place of keywords that LlamaIndex's own engines and retrievers take."""

from __future__ import annotations

from collections.abc import Mapping

from skr_core.options import IN_A_BUDGET

_WORDS = (
    "the loop answers by itself: its words are templates=PromptTemplates(...) or update_prompts"
)
_WORDS_OF_CHAT = "its words are templates=PromptTemplates(...)"
_INDEX = "give it to the retriever: index.as_retriever(...)"

_MODELS = "it is the model's: give it to the llm"

ENGINE: Mapping[str, str] = {
    **IN_A_BUDGET,
    **dict.fromkeys(["response_synthesizer", "response_mode", "text_qa_template"], _WORDS),
    **dict.fromkeys(["refine_template", "prompt", "output_cls"], _WORDS),
    **dict.fromkeys(["vector_store_query_mode", "alpha", "doc_ids", "embed_model"], _INDEX),
    **dict.fromkeys(["k", "top_k"], "similarity_top_k is meant"),
    **dict.fromkeys(["system_prompt", "temperature"], _MODELS),
    **dict.fromkeys(
        ["chat_mode", "chat_history", "memory"], "SKRChatEngine.from_defaults(index) converses"
    ),
    "similarity_cutoff": "node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=...)]",
    "index": "an index comes first: SKRQueryEngine.from_defaults(index)",
    "model": "llm is meant",
    "use_async": "await engine.aquery(...)",
}

CHAT: Mapping[str, str] = {
    **ENGINE,
    **dict.fromkeys(["system_prompt", "prefix_messages", "context_prompt"], _WORDS_OF_CHAT),
    **dict.fromkeys(["condense_prompt", "condense_question_prompt"], _WORDS_OF_CHAT),
    **dict.fromkeys(["text_qa_template", "context_refine_prompt"], _WORDS_OF_CHAT),
    "chat_mode": "there is one: messages are condensed, and answered from what is found",
    "streaming": "ask with stream_chat or astream_chat",
    "token_limit": IN_A_BUDGET["max_history_tokens"],
    "index": "an index comes first: SKRChatEngine.from_defaults(index)",
    "use_async": "await engine.achat(...)",
}

RETRIEVER: Mapping[str, str] = {
    **IN_A_BUDGET,
    **dict.fromkeys(["similarity_top_k", "top_k"], "k is meant"),
    **dict.fromkeys(["filters", "vector_store_query_mode", "alpha"], _INDEX),
    "index": "an index comes first: SKRRetriever(index)",
    "model": "llm is meant",
    "node_postprocessors": "give it as_retriever(index, node_postprocessors=[...])",
}
