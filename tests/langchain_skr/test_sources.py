"""Retrievers and vector stores as sources: of every kind, several by name, and compressed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import chromadb
import pytest
from langchain_chroma import Chroma
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from pydantic import Field

from langchain_skr import SKRRetriever, as_retriever, create_skr_chain, create_skr_graph
from skr_core import HashingEmbedder, Reference
from skr_core.errors import InputError, RetrieverError
from skr_core.testing import MappingRetriever
from skr_core.texts import words
from skr_store import Store
from tests.langchain_skr.fakes import ANSWER, FOUND, FURTHER, QUESTION, Library, stating_model

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
    """What a user writes over texts of their own."""

    k: int = 2

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        asked = set(words(query))
        scores = {text: len(asked & set(words(text))) for text in TEXTS}
        best = sorted(TEXTS, key=lambda text: -scores[text])[: self.k]
        return [Document(text, metadata={"score": scores[text]}) for text in best]


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
        with Store.ephemeral() as ours:
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
    with Store.ephemeral() as memory:
        found = await answer(
            create_skr_graph(says(), source, reference_store=memory, scope="shared")
        )
        assert found["references"][0]["text"] == TEXTS[0]
        assert memory.count() == len(found["references"])
        again = await answer(
            create_skr_graph(says(), MappingRetriever({}), reference_store=memory, scope="shared")
        )
        assert again["references"][0]["text"] == TEXTS[0]


def test_the_store_does_not_claim_to_be_langchains() -> None:
    assert not issubclass(Store, VectorStore)
    assert not hasattr(Store, "as_retriever")


def test_each_is_a_source_of_the_chain_and_of_the_retriever(source: Any) -> None:
    assert create_skr_chain(says(), source).invoke(QUESTION) == ANSWER
    found = SKRRetriever(retriever=source, k=1).invoke(QUESTION)
    assert [each.page_content for each in found] == TEXTS[:1]


PARIS = "Paris is the capital."


def finds(*texts: str) -> RunnableLambda[str, list[Document]]:
    """A retriever whose documents have an id and nested metadata of their own."""
    return RunnableLambda(
        lambda query: [
            Document(text, id=f"id-{text[:3]}", metadata={"nested": {"n": [number]}})
            for number, text in enumerate(texts)
        ]
    )


def fails(query: str) -> list[Document]:
    raise OSError("no connection")


class Reranker(BaseDocumentCompressor):
    """Puts the last first, drops what is white, and copies as Cohere's does: without the id."""

    asked: list[tuple[str, int]] = Field(default_factory=list)
    seen: list[str] = Field(default_factory=list)
    has_callbacks: list[bool] = Field(default_factory=list)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        self.asked.append((query, len(documents)))
        self.seen += [each.page_content for each in documents]
        self.has_callbacks.append(callbacks is not None)
        return [
            Document(each.page_content, metadata={**each.metadata, "relevance_score": 0.5})
            for each in reversed(documents)
            if "white" not in each.page_content
        ]

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        self.seen.append("awaited")
        return self.compress_documents(documents, query, callbacks)


@pytest.fixture(params=["sync", "async"])
def invoke(request: pytest.FixtureRequest) -> Any:
    async def invoke(runnable: Any, given: Any) -> Any:
        if request.param == "sync":
            return await asyncio.to_thread(runnable.invoke, given)
        return await runnable.ainvoke(given)

    return invoke


async def test_named_retrievers_are_fused_and_each_document_says_who_found_it(invoke: Any) -> None:
    sources = {"wiki": finds(PARIS, "It is old."), "web": finds("Lyon is large.", PARIS)}
    chain = create_skr_chain(
        FakeListChatModel(responses=["Paris [1]."]), sources, return_sources=True
    )
    found = (await invoke(chain, "Capital?"))["context"]
    assert [(each.page_content, each.metadata["found_by"]) for each in found] == [
        (PARIS, ["wiki", "web"]),
        ("Lyon is large.", ["web"]),
        ("It is old.", ["wiki"]),
    ]
    assert (found[1].id, found[1].metadata["nested"]) == ("id-Lyo", {"n": [0]})


async def test_without_a_loop_too(invoke: Any) -> None:
    retriever = SKRRetriever(retriever={"wiki": finds(PARIS), "own": MappingRetriever({})})
    (found,) = await invoke(retriever, "Capital?")
    assert found.metadata["found_by"] == ["wiki"]


async def test_one_that_fails_is_told_while_another_finds_something(invoke: Any) -> None:
    graph = create_skr_graph(
        FakeListChatModel(responses=["Paris [1]."]),
        {"wiki": finds(PARIS), "web": RunnableLambda(fails)},
    )
    output = await invoke(graph, {"question": "Capital?"})
    assert output["grounded"]
    assert output["rounds"][0]["errors"] == ["Capital?: web: OSError: no connection"]


async def test_where_nothing_is_found_a_failure_is_a_failure(invoke: Any) -> None:
    sources = {"wiki": finds(), "web": RunnableLambda(fails)}
    with pytest.raises(RetrieverError, match="web: OSError: no connection"):
        await invoke(create_skr_chain(stating_model(), sources), "Capital?")
    wrong = {"wiki": finds(PARIS), "web": RunnableLambda(lambda query: [5])}
    with pytest.raises(RetrieverError, match="not documents"):
        await invoke(create_skr_chain(stating_model(), wrong), "Capital?")


def test_names_are_recorded_and_none_is_refused() -> None:
    assert as_retriever({"wiki": finds(), "web": finds()}).name == "wiki+web"
    with pytest.raises(InputError, match="there is no retriever"):
        create_skr_chain(stating_model(), {})
    with pytest.raises(InputError, match="a retriever is wanted, not int"):
        create_skr_chain(stating_model(), {"wiki": 5})  # type: ignore[dict-item]


async def test_a_compressor_sees_each_search_with_its_own_query(invoke: Any) -> None:
    reranker = Reranker()
    chain = create_skr_chain(stating_model(), Library(), compressor=reranker, return_sources=True)
    answer = await invoke(chain, QUESTION)
    assert answer["answer"] == ANSWER
    assert reranker.asked == [(QUESTION, 3), (FURTHER, 2)]
    assert all(reranker.has_callbacks), "it is given the callbacks of the run"
    texts = [each.page_content for each in answer["context"]]
    assert texts[0] == FOUND[QUESTION][-1], "its order counts"
    assert "The lighthouse is white." not in texts
    assert answer["context"][0].id == "own-2", "the very document, though the compressor copied it"
    assert answer["context"][0].metadata == {"nested": {"is": "kept"}, "relevance_score": 0.5}


async def test_its_async_form_is_awaited(invoke: Any, request: pytest.FixtureRequest) -> None:
    reranker = Reranker()
    await invoke(create_skr_chain(stating_model(), Library(), compressor=reranker), QUESTION)
    awaited = "async" in request.node.name.split("[")[1]
    assert ("awaited" in reranker.seen) == awaited


async def test_fused_sources_are_compressed_as_one_and_shown_by_a_prompt(invoke: Any) -> None:
    reranker = Reranker()
    sources = {"wiki": finds(PARIS), "web": finds("Lyon is large.", PARIS)}
    retriever = as_retriever(
        sources,
        compressor=reranker,
        document_prompt=PromptTemplate.from_template("{page_content} {relevance_score}"),
    )
    assert retriever.name == "wiki+web"
    model = FakeListChatModel(responses=["Paris [2]."])
    output = await invoke(create_skr_graph(model, retriever), {"question": "Capital?"})
    assert reranker.asked == [("Capital?", 2)]
    found = [(each["text"], each["found_by"], each["shown"]) for each in output["references"]]
    assert found == [
        ("Lyon is large.", ["web"], "Lyon is large. 0.5"),
        (PARIS, ["wiki", "web"], f"{PARIS} 0.5"),
    ]


async def test_a_failing_compressor_is_a_failing_search(invoke: Any) -> None:
    class Broken(Reranker):
        def compress_documents(self, *args: Any, **kwargs: Any) -> Sequence[Document]:
            raise OSError("no connection")

    chain = create_skr_chain(stating_model(), finds(PARIS), compressor=Broken())
    with pytest.raises(RetrieverError, match="> Broken: OSError: no connection"):
        await invoke(chain, "Capital?")
    with pytest.raises(InputError, match="a compressor is wanted, not RunnableLambda"):
        create_skr_chain(stating_model(), finds(), compressor=finds())  # type: ignore[call-overload]


async def test_what_a_compressor_shortens_keeps_its_document(invoke: Any) -> None:
    class Extractor(BaseDocumentCompressor):
        def compress_documents(
            self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
        ) -> Sequence[Document]:
            return [each.model_copy(update={"page_content": "Paris"}) for each in documents]

    sources = {"wiki": finds(PARIS)}
    chain = create_skr_chain(
        FakeListChatModel(responses=["Paris [1]."]),
        sources,
        compressor=Extractor(),
        return_sources=True,
    )
    (found,) = (await invoke(chain, "Capital?"))["context"]
    assert (found.page_content, found.id) == ("Paris", "id-Par")
    assert found.metadata["found_by"] == ["wiki"]


class Names(BaseCallbackHandler):
    def __init__(self) -> None:
        self.names: list[str] = []

    def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        self.names.append(kwargs["name"])


async def test_callbacks_reach_each_of_several_retrievers(invoke: Any) -> None:
    sources = {"wiki": finds(PARIS).with_config(run_name="the wiki"), "web": finds(PARIS)}
    seen = Names()
    chain = create_skr_chain(FakeListChatModel(responses=["Paris [1]."]), sources)
    await invoke(chain.with_config(callbacks=[seen]), "Capital?")
    assert "the wiki" in seen.names
