"""What a caller asked with beside the question's text, kept for the search of that very text.

A query transform such as HyDE gives a ``QueryBundle`` other texts to embed. In the loop each round
searches texts of its own; where one of them is the question, it is searched with the whole bundle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from llama_index.core.schema import QueryBundle

from skr_core.ports import Retriever
from skr_core.types import Reference

_ASKED: ContextVar[QueryBundle | None] = ContextVar("skr_query_bundle", default=None)


def bundle_of(query: str) -> QueryBundle:
    """What a query is searched with: the caller's bundle where it is the question, else the text.

    A copy each time, because retrievers write their own embedding into it.
    """
    asked = _ASKED.get()
    if asked is not None and asked.query_str.strip() == query.strip():
        return replace(asked)
    return QueryBundle(query)


class BundledRetriever:
    """A retriever that searches the question with all that it was asked with.

    Args:
        retriever: Finds the references; LlamaIndex's retrievers behind it see the bundle.
        bundle: The question, and what stands for it in a search.

    Example:
        >>> from skr_core.testing import MappingRetriever
        >>> search = MappingRetriever({"Capital?": ["Paris is the capital."]})
        >>> asked = QueryBundle("Capital?", custom_embedding_strs=["Some city is the capital."])
        >>> BundledRetriever(search, asked).retrieve("Capital?")[0].text
        'Paris is the capital.'
    """

    def __init__(self, retriever: Retriever, bundle: QueryBundle) -> None:
        self.retriever = retriever
        self.bundle = bundle
        self.name = retriever.name

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first."""
        with self._asked():
            return self.retriever.retrieve(query)

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Like `retrieve`, awaited."""
        with self._asked():
            return await self.retriever.aretrieve(query)

    @contextmanager
    def _asked(self) -> Iterator[None]:
        token = _ASKED.set(self.bundle)
        try:
            yield
        finally:
            _ASKED.reset(token)


def bundled(retriever: Retriever, bundle: QueryBundle) -> Retriever:
    """The retriever, for a question asked with more than its text: with all of that."""
    more = (bundle.custom_embedding_strs, bundle.embedding, bundle.image_path)
    return BundledRetriever(retriever, bundle) if any(more) else retriever
