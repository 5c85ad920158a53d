"""Two retrievers by name, a reranker behind them, and the sources of a streamed answer."""

import os
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnableLambda

from langchain_skr import create_skr_chain

LETTERS = ["Ada Quill was born in Port Elm.", "The harbour was dredged in spring."]
ARCHIVE = ["The lighthouse of Marrow Bay was designed by Ada Quill."]


class SharedWords(BaseDocumentCompressor):
    """Ranks by words shared with the query; put CohereRerank, FlashrankRerank ... in its place."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        words = set(query.lower().split())
        return sorted(documents, key=lambda each: -len(words & set(each.page_content.split())))


def finds(texts: list[str]) -> RunnableLambda[str, list[Document]]:
    return RunnableLambda(lambda query: [Document(text) for text in texts])


chain = create_skr_chain(
    os.environ.get("SKR_MODEL", "extractive"),
    {"letters": finds(LETTERS), "archive": finds(ARCHIVE)},
    compressor=SharedWords(),
    return_sources=True,
)
whole: Any = None
for chunk in chain.stream({"input": "Where was Ada Quill born?"}):
    whole = chunk if whole is None else whole + chunk
    print(chunk.get("answer", ""), end="", flush=True)
print()
for number, document in enumerate(whole["context"], start=1):
    print(f"[{number}] {document.page_content} ({', '.join(document.metadata['found_by'])})")
