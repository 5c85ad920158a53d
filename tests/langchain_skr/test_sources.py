"""Whatever LangChain calls a retriever or a vector store is a source; Chroma remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import chromadb
import pytest
from langchain_chroma import Chroma
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_skr import SKRRetriever, create_skr_chain, create_skr_graph
from skr_core.models.embedders import HashingEmbedder
from skr_core.testing import MappingRetriever
from skr_core.types import Reference
from skr_store.bm25 import BM25Index
from skr_store.chroma_store import ChromaStore
from tests.langchain_skr.fakes import ANSWER, QUESTION

TEXTS = [
    "The engineer of the lighthouse was born in Port Elm.",
    "Bees make honey from nectar.",
    "A glacier is a river of ice.",
]
Answer = Callable[[Any], Awaitable[dict[str, Any]]]


class Hashing(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(value) for value in row] for row in HashingEmbedder().embed(texts)]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class WordRetriever(BaseRetriever):
    """What a user writes over an index of their own."""

    k: int = 2

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        index = BM25Index()
        index.add([(str(number), text) for number, text in enumerate(TEXTS)])
        found = index.search(query, self.k)
        return [Document(TEXTS[int(key)], metadata={"score": score}) for key, score in found]


@pytest.fixture(params=["in memory", "by word", "chroma", "our chroma"])
def source(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "in memory":
        yield InMemoryVectorStore.from_texts(TEXTS, Hashing())
    elif request.param == "by word":
        yield WordRetriever()
    elif request.param == "chroma":
        store = Chroma("sources", embedding_function=Hashing(), client=chromadb.EphemeralClient())
        store.add_texts(TEXTS)
        yield store
        store.delete_collection()
    else:
        with ChromaStore.ephemeral() as ours:
            ours.add([Reference.of(text) for text in TEXTS])
            yield ours


@pytest.fixture(params=["sync", "async"])
def answer(request: pytest.FixtureRequest) -> Answer:
    async def answer(graph: Any) -> dict[str, Any]:
        if request.param == "sync":
            return await asyncio.to_thread(graph.invoke, {"question": QUESTION})
        return await graph.ainvoke({"question": QUESTION})

    return answer


def says() -> FakeListChatModel:
    return FakeListChatModel(responses=[ANSWER])


async def test_each_is_a_source_and_the_store_remembers(source: Any, answer: Answer) -> None:
    with ChromaStore.ephemeral() as memory:
        found = await answer(create_skr_graph(says(), source, store=memory))
        assert found["references"][0]["text"] == TEXTS[0]
        assert memory.count() == len(found["references"])
        again = await answer(create_skr_graph(says(), MappingRetriever({}), store=memory))
        assert again["references"][0]["text"] == TEXTS[0]


def test_the_store_does_not_claim_to_be_langchains() -> None:
    assert not issubclass(ChromaStore, VectorStore)
    assert not hasattr(ChromaStore, "as_retriever")


def test_each_is_a_source_of_the_chain_and_of_the_retriever(source: Any) -> None:
    assert create_skr_chain(says(), source).invoke(QUESTION) == ANSWER
    found = SKRRetriever(retriever=source, k=1).invoke(QUESTION)
    assert [each.page_content for each in found] == TEXTS[:1]
