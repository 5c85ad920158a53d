"""PromptedRetriever: documents reach the model as a `document_prompt` writes them.

Example:
    >>> from langchain_core.documents import Document
    >>> from langchain_core.prompts import PromptTemplate
    >>> from langchain_core.runnables import RunnableLambda
    >>> from langchain_skr.adapters import as_retriever
    >>> search = RunnableLambda(lambda query: [Document("It is in France.", metadata={"page": 3})])
    >>> prompt = PromptTemplate.from_template("{page_content} (page {page})")
    >>> (found,) = as_retriever(search, document_prompt=prompt).retrieve("Paris")
    >>> found.text, found.shown
    ('It is in France.', 'It is in France. (page 3)')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.prompts import BasePromptTemplate, aformat_document, format_document
from langgraph.errors import GraphBubbleUp

from langchain_skr.documents import to_document
from skr_core.errors import InputError, NoReferencesError, translated
from skr_core.ports import Retriever
from skr_core.references.found import FoundReferences, errors_of
from skr_core.types import Reference


class PromptedRetriever:
    """A retriever whose references are shown to models as a template writes them.

    What comes back to the user is the document as it is.

    Args:
        retriever: Finds the references.
        document_prompt: From ``{page_content}`` and the names of metadata, as of LangChain's
            ``create_stuff_documents_chain``.

    Raises:
        InputError: The template is none.
        NoReferencesError: While retrieving: a document lacks metadata that the template names. It
            ends the question: searching on would not fill the template.
    """

    def __init__(self, retriever: Retriever, document_prompt: object) -> None:
        if not isinstance(document_prompt, BasePromptTemplate):
            given = type(document_prompt).__name__
            raise InputError(f"a document_prompt is wanted, not {given}: give a PromptTemplate")
        self.retriever = retriever
        self.document_prompt: BasePromptTemplate[Any] = document_prompt
        self.name = retriever.name

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first."""
        found = self.retriever.retrieve(query)
        with translated(NoReferencesError, self.name, GraphBubbleUp):
            shown = [format_document(to_document(each), self.document_prompt) for each in found]
        return _with(found, shown)

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Like `retrieve`, awaited."""
        found = await self.retriever.aretrieve(query)
        with translated(NoReferencesError, self.name, GraphBubbleUp):
            shown = [
                await aformat_document(to_document(each), self.document_prompt) for each in found
            ]
        return _with(found, shown)


def _with(found: Sequence[Reference], shown: Sequence[str]) -> FoundReferences:
    told = [replace(each, shown=text) for each, text in zip(found, shown, strict=True)]
    return FoundReferences(told, errors_of(found))
