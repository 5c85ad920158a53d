"""LangChain documents as references, and what finds them behind the port.

What comes back to the user is the very document that was found.

Example:
    >>> found = Document("It is in France.", id="7", metadata={"tags": ["city"]})
    >>> to_document(to_reference(found)) == found
    True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable, ensure_config
from langchain_core.vectorstores import VectorStore
from langgraph.errors import GraphBubbleUp

from langchain_skr.naming import layers, retriever_name, retriever_version
from skr_core.errors import InputError, NoReferencesError, RetrieverError, translated
from skr_core.flow import Flow, arun, call, run
from skr_core.ports import Retriever, version_of
from skr_core.references.found import FoundReferences, errors_of, foreign_reference
from skr_core.references.fusion import FusedRetriever, is_reordered, places
from skr_core.types import Reference
from skr_graphs import unstreamed

if TYPE_CHECKING:
    from langchain_core.prompts import BasePromptTemplate

OneRetriever = Retriever | VectorStore | Runnable[str, Sequence[Document]]
"""A retriever of LangChain, a vector store, a runnable to documents, or a `Retriever`."""

RetrieverLike = OneRetriever | Mapping[str, OneRetriever]
"""One of these, or several by name, whose rankings are fused."""

KIND = "Document"


def to_reference(document: Document) -> Reference:
    """Turn a document into a reference, under the title or else the source of its metadata."""
    given = document.metadata
    return foreign_reference(
        document.page_content,
        title=given.get("title") or given.get("source"),
        score=given.get("score", given.get("relevance_score")),
        metadata=given,
        original={"type": KIND, "id": document.id, "metadata": given},
    )


def to_document(reference: Reference) -> Document:
    """Turn a reference into a document: the very one that it was made from, if it was.

    A reference of another origin gets its id, title and score into the metadata, where it has them
    and unless the source used those keys itself. Where other documents have the same text, word by
    word, ``also_in`` in the metadata lists the metadata of each, with its id; ``found_by`` lists
    the retrievers that found it, where they have names.

    Example:
        >>> to_document(Reference.of("Paris is in France.", "Paris")).metadata["title"]
        'Paris'
    """
    original = reference.original
    if original is not None and original.get("type") == KIND:
        identity, metadata = original["id"], deepcopy(original["metadata"])
    else:
        identity, metadata = reference.id, _metadata(reference)
    if reference.also_in:
        metadata["also_in"] = places(reference)
    if reference.found_by:
        metadata["found_by"] = list(reference.found_by)
    return Document(reference.text, id=identity, metadata=metadata)


def checked_documents(found: object) -> list[Document]:
    """Return what a runnable returned, if it is documents; any runnable may act as a retriever.

    Raises:
        NoReferencesError: It is something else.

    Example:
        >>> checked_documents((Document("Paris"),))[0].page_content
        'Paris'
    """
    given = type(found).__name__
    if isinstance(found, Sequence) and not isinstance(found, str | bytes):
        others = (type(each).__name__ for each in found if not isinstance(each, Document))
        if (other := next(others, None)) is None:
            return list(found)
        given = f"{given} of {other}"
    raise NoReferencesError(f"the retriever returned {given}, not documents")


class LangChainRetriever:
    """A LangChain retriever as a `Retriever`.

    The tokens of a model of its own, as in ``MultiQueryRetriever`` or HyDE, are not shown in
    ``stream_mode="messages"``.

    Args:
        retriever: A retriever, a vector store, or any runnable from a query to documents. LangChain
            runs one without an async implementation in a thread.
        name: Recorded name; by default the one that the user gave to it, or that of the vector
            store or of the retriever, also behind a lambda or ``with_retry``.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> search = RunnableLambda(lambda query: [Document(f"All about {query}")])
        >>> LangChainRetriever(search, name="mine").retrieve("Paris")[0].text
        'All about Paris'
    """

    def __init__(
        self, retriever: Runnable[str, Sequence[Document]] | VectorStore, *, name: str | None = None
    ) -> None:
        self.retriever: Runnable[str, Any] = (
            retriever.as_retriever() if isinstance(retriever, VectorStore) else retriever
        )
        self.name = name or retriever_name(self.retriever)

    @property
    def version(self) -> str:
        """What of its settings decides what it finds: k, and the kind of its filters."""
        return retriever_version(self.retriever)

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first; raises `RetrieverError` when the retriever fails."""
        with translated(RetrieverError, self.name, GraphBubbleUp), unstreamed():
            return _references(self.retriever.invoke(query))

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Async version of `retrieve`."""
        with translated(RetrieverError, self.name, GraphBubbleUp), unstreamed():
            return _references(await self.retriever.ainvoke(query))


class CompressedRetriever:
    """A retriever whose references a compressor of LangChain reorders, filters or shortens.

    As with LangChain's ``ContextualCompressionRetriever`` each search is compressed by itself, with
    its own query: in the loop the documents of a follow-up query are ranked by that query. Ranks,
    not scores, then decide what is kept of all rounds.

    A transformer of a ``DocumentCompressorPipeline`` that only reorders, such as
    ``LongContextReorder``, ranks nothing: all that is kept of all rounds is put into its order,
    once, where a model reads it.

    Args:
        retriever: The retriever. Several that are fused are compressed as one.
        compressor: The compressor.

    Raises:
        InputError: The compressor is none.
        RetrieverError: While retrieving: the compressor failed, or returned no documents.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> class Shortest(BaseDocumentCompressor):
        ...     def compress_documents(self, documents, query, callbacks=None):
        ...         return sorted(documents, key=lambda each: len(each.page_content))[:1]
        >>> search = RunnableLambda(lambda query: [Document("It is old."), Document("Paris.")])
        >>> retriever = CompressedRetriever(LangChainRetriever(search), Shortest())
        >>> [found.text for found in retriever.retrieve("Capital?")]
        ['Paris.']
    """

    def __init__(self, retriever: Retriever, compressor: BaseDocumentCompressor) -> None:
        given: object = compressor  # callers without a type checker may give anything
        if not isinstance(given, BaseDocumentCompressor):
            raise InputError(
                f"a compressor is wanted, not {type(given).__name__}: give a BaseDocumentCompressor"
            )
        self.retriever = retriever
        self.compressor = compressor
        self.name = retriever.name
        self._title = f"{retriever.name} > {type(compressor).__name__}"
        self._stages = _stages_of(compressor)
        # The places of those that only reorder, as searches have shown.
        self._reordering: set[int] = set()

    @property
    def version(self) -> str:
        """The retriever's settings, and the compressor."""
        return f"{version_of(self.retriever)} > {type(self.compressor).__name__}"

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first."""
        return run(self._search(query))

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Async version of `retrieve`."""
        return await arun(self._search(query))

    def arrange(self, references: Sequence[Reference]) -> Sequence[Reference]:
        """The references as the transformers that only reorder would have them read."""
        return run(self._arranged(references))

    async def aarrange(self, references: Sequence[Reference]) -> Sequence[Reference]:
        """Async version of `arrange`."""
        return await arun(self._arranged(references))

    def _search(self, query: str) -> Flow[Sequence[Reference]]:
        found = yield from call(self.retriever.retrieve, self.retriever.aretrieve, query)
        if not found:
            return found
        documents = list(_documents(found).values())
        with translated(RetrieverError, self._title, GraphBubbleUp):
            for place, stage in enumerate(self._stages):
                before = _contents(documents)
                kept = yield from _compress(stage, documents, query)
                if _is_told_no_query(stage) and is_reordered(before, _contents(kept)):
                    self._reordering.add(place)
                else:
                    documents = kept
            return _compressed(documents, found)

    def _arranged(self, references: Sequence[Reference]) -> Flow[Sequence[Reference]]:
        documents = [to_document(each).model_copy(update={"id": each.id}) for each in references]
        with translated(RetrieverError, self._title, GraphBubbleUp):
            for place in sorted(self._reordering):
                documents = yield from _compress(self._stages[place], documents, "")
        by_id = {each.id: each for each in references}
        read = [by_id[each.id] for each in documents if each.id in by_id]
        return read if is_reordered(references, read) else references


def _stages_of(compressor: BaseDocumentCompressor) -> list[BaseDocumentCompressor]:
    """The compressor; of a ``DocumentCompressorPipeline`` one for each part, in turn."""
    parts = getattr(compressor, "transformers", None) or ()
    return [compressor.model_copy(update={"transformers": [part]}) for part in parts] or [
        compressor
    ]


def _is_told_no_query(stage: BaseDocumentCompressor) -> bool:
    """Whether it is a transformer in a pipeline: no reranker, whatever order it gives."""
    part, *_ = getattr(stage, "transformers", None) or (stage,)
    return not isinstance(part, BaseDocumentCompressor)


def _compress(
    stage: BaseDocumentCompressor, documents: Sequence[Document], query: str
) -> Flow[list[Document]]:
    """Compress documents, with the callbacks of the run that searches."""
    asked: Any = (list(documents), query, ensure_config().get("callbacks"))
    kept = yield from call(stage.compress_documents, stage.acompress_documents, *asked)
    return checked_documents(kept)


def _contents(documents: Sequence[Document]) -> list[tuple[object, ...]]:
    return [(each.id, each.page_content, {**each.metadata}) for each in documents]


def as_retriever(
    retriever: RetrieverLike,
    *,
    compressor: BaseDocumentCompressor | None = None,
    document_prompt: BasePromptTemplate[Any] | None = None,
) -> Retriever:
    """Make a `Retriever` of what a caller gave.

    Args:
        retriever: A LangChain retriever, vector store or runnable from a query to documents, or a
            `Retriever`, which is passed through. Several by name are fused, see `FusedRetriever`.
        compressor: A reranker, filter or extractor for the documents of each search, see
            `CompressedRetriever`.
        document_prompt: The template by which models are shown a document, see
            `PromptedRetriever`; by default its title, or source, and its content.

    Raises:
        InputError: It is none of these.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> as_retriever(RunnableLambda(lambda query: [], name="nothing")).name
        'nothing'
    """
    if document_prompt is not None:
        # LangChain's prompts take as long to import as all that is ours.
        from langchain_skr.prompt_templates import PromptedRetriever

        return PromptedRetriever(as_retriever(retriever, compressor=compressor), document_prompt)
    if compressor is not None:
        return CompressedRetriever(as_retriever(retriever), compressor)
    if isinstance(retriever, Mapping):
        parts = {name: _named(name, each) for name, each in retriever.items()}
        return FusedRetriever(parts, passing=[GraphBubbleUp])
    if isinstance(retriever, Runnable | VectorStore):
        if not isinstance(retriever, BaseLanguageModel):
            return LangChainRetriever(retriever)
    elif isinstance(retriever, Retriever):
        return retriever
    raise InputError(
        f"a retriever is wanted, not {type(retriever).__name__}: give a LangChain retriever, a "
        "vector store or a runnable that returns documents, such as RunnableLambda(function)"
    )


def is_filtered_by_runs(retriever: RetrieverLike) -> bool:
    """Whether the config of a run may say which documents of a vector store are searched."""
    parts = retriever.values() if isinstance(retriever, Mapping) else [retriever]
    within = (vars(layer) for part in parts for layer in layers(part) if hasattr(layer, "__dict__"))
    return any("search_kwargs" in each.get("fields", ()) for each in within)


def _named(name: str, retriever: OneRetriever) -> Retriever:
    found = as_retriever(retriever)
    return (
        LangChainRetriever(found.retriever, name=name)
        if type(found) is LangChainRetriever
        else found
    )


def _references(found: Any) -> list[Reference]:
    return [to_reference(each) for each in checked_documents(found) if each.page_content.strip()]


def _metadata(reference: Reference) -> dict[str, Any]:
    metadata: dict[str, Any] = {"id": reference.id}
    if reference.title:
        metadata["title"] = reference.title
    if reference.score is not None:
        metadata["score"] = reference.score
    return {**metadata, **reference.metadata}


def _compressed(kept: Sequence[Document], found: Sequence[Reference]) -> FoundReferences:
    """The documents that were kept, as references with their origin.

    Many compressors copy documents without their ids: equal texts are the same document.
    """
    sources = {reference.id: reference for reference in found}
    given = _documents(found)
    ids = {document.id: key for key, document in given.items() if document.id}
    references = []
    for document in kept:
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
