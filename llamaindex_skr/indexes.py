"""The retriever of an index, made with options that are known to count."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from inspect import signature
from typing import Any, Protocol, runtime_checkable

from llama_index.core.base.base_retriever import BaseRetriever

from skr_core.errors import OptionError


@runtime_checkable
class Index(Protocol):
    """An index of LlamaIndex, or whatever else has a retriever."""

    def as_retriever(self, **kwargs: Any) -> BaseRetriever:
        """Its retriever."""
        ...


def retriever_of(index: Index, llm: object, options: Mapping[str, Any]) -> BaseRetriever:
    """Make an index's retriever.

    Many of LlamaIndex's retrievers swallow what they do not know, and a filter that is not applied
    finds what it should hide.

    Args:
        index: An index.
        llm: For a retriever that asks a model; None for ``Settings.llm``.
        options: Of which each must be one that the retriever's class names.

    Raises:
        OptionError: One of them is not.

    Example:
        >>> from llama_index.core import MockEmbedding, SummaryIndex, VectorStoreIndex
        >>> vectors = VectorStoreIndex([], embed_model=MockEmbedding(8))
        >>> retriever_of(vectors, None, {"similarity_top_k": 5}).similarity_top_k
        5
        >>> try:
        ...     retriever_of(SummaryIndex([]), None, {"similarity_top_k": 5})
        ... except OptionError as error:
        ...     print(error)
        SummaryIndex takes no similarity_top_k: give its own index.as_retriever(...)
    """
    retriever = _made(index, llm, options)
    known = () if retriever is None else signature(type(retriever).__init__).parameters
    for name in options:
        if name not in known:
            raise OptionError(
                f"{type(index).__name__} takes no {name}: give its own index.as_retriever(...)"
            )
    return index.as_retriever() if retriever is None else retriever


def _made(index: Index, llm: object, options: Mapping[str, Any]) -> BaseRetriever | None:
    """The index's retriever; None where it takes neither the model nor the options."""
    if llm:
        with suppress(TypeError):  # an index with a model of its own takes no other
            return index.as_retriever(**options, llm=llm)
    with suppress(TypeError):
        return index.as_retriever(**options)
    return None
