"""Any LlamaIndex index or retriever is a source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core import (
    Document,
    SimpleKeywordTableIndex,
    StorageContext,
    SummaryIndex,
    VectorStoreIndex,
)
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever

from llamaindex_skr import SKRQueryEngine, SKRRetriever
from tests.llamaindex_skr.fakes import BORN, JAWS, index, nodes


def keywords() -> SimpleKeywordTableIndex:
    return SimpleKeywordTableIndex(nodes(), llm=MockLLM())


def chroma() -> VectorStoreIndex:
    import chromadb
    from llama_index.vector_stores.chroma import ChromaVectorStore

    # Ephemeral clients share one database, so the name is this test's own.
    client = chromadb.EphemeralClient()
    collection = client.get_or_create_collection("llamaindex", embedding_function=None)
    store = ChromaVectorStore(chroma_collection=collection)
    return VectorStoreIndex(
        nodes(),
        embed_model=MockEmbedding(embed_dim=4),
        storage_context=StorageContext.from_defaults(vector_store=store),
    )


def fusion() -> QueryFusionRetriever:
    return QueryFusionRetriever(
        [index().as_retriever(), keywords().as_retriever()],
        llm=MockLLM(),
        num_queries=1,
        use_async=False,
    )


SOURCES: list[Callable[[], Any]] = [
    index,
    lambda: index().as_retriever(similarity_top_k=3),
    lambda: SummaryIndex.from_documents([Document(text=JAWS), Document(text=BORN)]),
    keywords,
    fusion,
    chroma,
]


@pytest.mark.parametrize(
    "source", SOURCES, ids=["vector", "retriever", "summary", "keywords", "fusion", "chroma"]
)
async def test_a_source(source: Callable[[], Any]) -> None:
    made = source()
    engine = SKRQueryEngine.from_defaults(made, llm=MockLLM(max_tokens=1))
    for response in (engine.query("Who directed Jaws?"), await engine.aquery("Who directed Jaws?")):
        assert str(response) == "text"
        assert response.source_nodes
        assert {node.text for node in response.source_nodes} <= {node.text for node in nodes()}
    retriever = SKRRetriever(made, k=1)
    assert len(retriever.retrieve("Who directed Jaws?")) == 1
    assert len(await retriever.aretrieve("Who directed Jaws?")) == 1
