"""The one module that relies on how LlamaIndex works inside: llama-index-core 0.14.25.

`tests/llamaindex_skr/test_compat.py` fails where another version works otherwise.
"""

from __future__ import annotations

from inspect import currentframe
from typing import Any

from llama_index.core.retrievers import VectorIndexRetriever

READERS_OF_TEXT = (
    "llama_index.core.tools.",
    "llama_index.core.query_engine.sub_question_query_engine",
)
"""The modules of LlamaIndex that ask an engine and turn its response into a string at once."""


def is_read_as_text() -> bool:
    """Whether one of LlamaIndex's tools waits for the response, or its engine of sub-questions.

    They turn an async response into a string, where nothing can be awaited any more, so they need
    it whole. LlamaIndex does not say who asks: only the calls under way do.
    """
    frame = currentframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(READERS_OF_TEXT):
            return True
        frame = frame.f_back
    return False


def takes_response_format(llm: object) -> bool:
    """Whether LlamaIndex would send an LLM the schema of an object as its ``response_format``.

    OpenAI's LLMs alone can say so.
    """
    said = getattr(llm, "_should_use_structure_outputs", None)
    return bool(said()) if callable(said) else False


def filters_of(retriever: object) -> str:
    """The keys that a retriever's filters look at; LlamaIndex keeps filters to itself."""
    filters = getattr(retriever, "_filters", None)
    return ",".join(sorted(_keys(filters)))


def settable(retriever: object, option: str) -> str:
    """The attribute that a retriever reads an option from at each search; empty where none does.

    ``VectorIndexRetriever`` keeps its filters to itself. Another retriever's private attribute may
    be one that nothing reads any more, and a filter that is not applied finds what it should hide.
    """
    if hasattr(retriever, option):
        return option
    return f"_{option}" if isinstance(retriever, VectorIndexRetriever) else ""


def streams(synthesizer: object) -> bool:
    """Whether a response synthesizer streams; LlamaIndex keeps that to itself too."""
    return bool(getattr(synthesizer, "_streaming", False))


def _keys(filters: Any) -> set[str]:
    within = getattr(filters, "filters", None)
    if within is None:
        return {str(key)} if (key := getattr(filters, "key", None)) else set()
    return {key for each in within for key in _keys(each)}
