"""CompressedRetriever: a reranker, filter or extractor of LangChain's inside the loop.

Example:
    >>> from langchain_core.documents import BaseDocumentCompressor
    >>> from langchain_core.runnables import RunnableLambda
    >>> from langchain_skr.adapters import as_retriever
    >>> class Shortest(BaseDocumentCompressor):
    ...     def compress_documents(self, documents, query, callbacks=None):
    ...         return sorted(documents, key=lambda each: len(each.page_content))[:1]
    >>> search = RunnableLambda(lambda query: [Document("It is old."), Document("Paris.")])
    >>> [found.text for found in as_retriever(search, compressor=Shortest()).retrieve("Capital?")]
    ['Paris.']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables.config import ensure_config
from langgraph.errors import GraphBubbleUp

from langchain_skr.documents import checked_documents, to_document, to_reference
from skr_core.errors import InputError, RetrieverError, translated
from skr_core.ports import Retriever
from skr_core.references.found import FoundReferences, errors_of
from skr_core.types import Reference


class CompressedRetriever:
    """A retriever whose finds a compressor reorders, filters or shortens.

    As with LangChain's ``ContextualCompressionRetriever`` each search is compressed for itself,
    with its own query: in the loop a follow-up's documents are ranked by what the follow-up asks.
    Ranks, not scores, then decide what is kept of all rounds.

    Args:
        retriever: Finds the references. Several that are fused are compressed as one.
        compressor: Of LangChain.

    Raises:
        InputError: The compressor is none.
        RetrieverError: While retrieving: the compressor failed, or returned no documents.
    """

    def __init__(self, retriever: Retriever, compressor: BaseDocumentCompressor) -> None:
        given: object = compressor  # callers without a type checker may give anything
        if not isinstance(given, BaseDocumentCompressor):
            raise InputError(
                f"a compressor is wanted, not {type(given).__name__}: give a BaseDocumentCompressor"
            )
        self.retriever = retriever
        self.compressor = compressor
        self.name = f"{retriever.name} > {type(compressor).__name__}"

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first."""
        found = self.retriever.retrieve(query)
        if not found:
            return found
        with translated(RetrieverError, self.name, GraphBubbleUp):
            kept = self.compressor.compress_documents(*_asked(found, query))
            return _with(kept, found)

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Like `retrieve`, awaited."""
        found = await self.retriever.aretrieve(query)
        if not found:
            return found
        with translated(RetrieverError, self.name, GraphBubbleUp):
            kept = await self.compressor.acompress_documents(*_asked(found, query))
            return _with(kept, found)


def _asked(found: Sequence[Reference], query: str) -> tuple[list[Document], str, Any]:
    """The documents, their query, and the callbacks of the run that searches."""
    return list(_documents(found).values()), query, ensure_config().get("callbacks")


def _with(kept: object, found: Sequence[Reference]) -> FoundReferences:
    """What was kept, as references that tell where they come from.

    Many compressors copy documents without their ids: equal words are the same document.
    """
    sources = {reference.id: reference for reference in found}
    given = _documents(found)
    ids = {document.id: key for key, document in given.items() if document.id}
    references = []
    for document in checked_documents(kept):
        reference = to_reference(document)
        key = reference.id if reference.id in given else ids.get(document.id or "")
        if key is not None:
            same = document.model_copy(update={"id": given[key].id})
            source = sources[key]
            reference = replace(
                to_reference(same), also_in=source.also_in, found_by=source.found_by
            )
        references.append(reference)
    return FoundReferences(references, errors_of(found))


def _documents(found: Sequence[Reference]) -> dict[str, Document]:
    """The documents by their references' ids, without what was added to them on the way."""
    return {
        reference.id: to_document(replace(reference, also_in=(), found_by=()))
        for reference in found
    }
