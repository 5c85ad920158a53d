"""LangChain documents as references, and back: the very documents.

Example:
    >>> found = Document("It is in France.", id="7", metadata={"tags": ["city"]})
    >>> to_document(to_reference(found)) == found
    True
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from langchain_core.documents import Document

from skr_core.errors import NoReferencesError
from skr_core.references.found import foreign_reference
from skr_core.references.fusion import places
from skr_core.types import Reference

KIND = "Document"


def to_reference(document: Document) -> Reference:
    """Turn a document into a reference; its title is what the metadata call so, or its source."""
    given = document.metadata
    return foreign_reference(
        document.page_content,
        title=given.get("title") or given.get("source"),
        score=given.get("score", given.get("relevance_score")),
        metadata=given,
        original={"type": KIND, "id": document.id, "metadata": given},
    )


def to_document(reference: Reference) -> Document:
    """Turn a reference into a document: the very one that it was made from, where it was.

    A reference of another origin gets its id, title and score into the metadata, where it has them
    and unless the source used those keys itself. Where other documents say the same, word by word,
    ``also_in`` in the metadata lists the metadata of each, with its id; ``found_by`` lists the
    retrievers that found it, where they have names.

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
    """What a runnable returned, if it is documents; any runnable may stand for a retriever.

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


def _metadata(reference: Reference) -> dict[str, Any]:
    metadata: dict[str, Any] = {"id": reference.id}
    if reference.title:
        metadata["title"] = reference.title
    if reference.score is not None:
        metadata["score"] = reference.score
    return {**metadata, **reference.metadata}
