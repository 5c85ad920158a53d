"""Any LlamaIndex index or retriever is a source: alone, fused, filtered, postprocessed."""

from __future__ import annotations

import math
import pickle
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from llama_index.core import (
    Document,
    SimpleKeywordTableIndex,
    StorageContext,
    SummaryIndex,
    VectorStoreIndex,
)
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RouterQueryEngine, TransformQueryEngine
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever, RouterRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool, RetrieverTool
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from pydantic import Field

from llamaindex_skr import (
    LlamaIndexRetriever,
    SKRQueryEngine,
    SKRRetriever,
    SKRSelector,
    as_retriever,
    to_node,
)
from skr_core import Reference, Retriever
from skr_core.errors import InputError, RetrieverError
from skr_core.routers import AlwaysRetrieve, NeverRetrieve
from skr_core.testing import MappingRetriever
from tests.llamaindex_skr.fakes import (
    ANSWER,
    BORN,
    FOLLOW_UP,
    JAWS,
    PARIS,
    QUESTION,
    Last,
    Search,
    Speaker,
    index,
    nodes,
)


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


# Behind the port


@pytest.fixture(params=["sync", "async"])
def find(request: pytest.FixtureRequest) -> Callable[..., Awaitable[list[Reference]]]:
    async def find(retriever: Retriever, query: str = "Paris") -> list[Reference]:
        if request.param == "sync":
            return list(retriever.retrieve(query))
        return list(await retriever.aretrieve(query))

    return find


class Fixed(BaseRetriever):
    name = "a name of its own"  # makes it look like the port

    def __init__(self, nodes: list[NodeWithScore], error: Exception | None = None) -> None:
        super().__init__()
        self.nodes, self.error = nodes, error

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self.error is not None:
            raise self.error
        return self.nodes


def node(text: str, score: float | None = None, **metadata: Any) -> NodeWithScore:
    return NodeWithScore(node=TextNode(text=text, metadata=metadata), score=score)


async def test_nodes_become_references(find: Any) -> None:
    nodes = [
        node("one", 0.5, title="T", page=3, tags=["a"]),
        node("two", math.nan, file_name="s.txt"),
        node(" "),
        node("three", title=7, part=math.inf, n=2**63),
    ]
    one, two, three = await find(LlamaIndexRetriever(Fixed(nodes)))
    assert one == Reference.of("one", "T", score=0.5)
    assert dict(one.metadata) == {"title": "T", "page": 3}
    assert two == Reference.of("two", "s.txt")
    assert three == Reference.of("three")
    assert dict(three.metadata) == {"title": 7}  # what a store would refuse is left out


async def test_a_node_made_of_a_reference_is_the_same_reference_again(find: Any) -> None:
    reference = Reference.of("one", "T", score=0.5, metadata={"page": 3})
    made = to_node(reference)
    assert made.node.node_id == reference.id
    assert await find(LlamaIndexRetriever(Fixed([made]))) == [reference]
    assert to_node(Reference.of("one")).node.metadata == {}


async def test_retriever_failures_become_one_line(find: Any) -> None:
    retriever = LlamaIndexRetriever(Fixed([], OSError("index\ngone")))
    with pytest.raises(RetrieverError, match=r"^a name of its own: OSError: index gone$") as caught:
        await find(retriever)
    assert isinstance(caught.value.__cause__, OSError)


def test_retrievers_and_indexes_are_adapted_and_the_rest_refused() -> None:
    class Index:
        def as_retriever(self) -> BaseRetriever:
            return Fixed([])

    retriever = LlamaIndexRetriever(Fixed([]))
    assert as_retriever(retriever) is retriever
    assert isinstance(as_retriever(Fixed([])), LlamaIndexRetriever)
    assert isinstance(as_retriever(Index()), LlamaIndexRetriever)
    with pytest.raises(InputError, match="a retriever is wanted, not MockLLM"):
        as_retriever(MockLLM())


# What users of RetrieverQueryEngine expect: postprocessors, filters, HyDE, several retrievers


Ask = Callable[[Any, Any], Awaitable[Response]]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    async def ask(engine: Any, question: Any) -> Any:
        return engine.query(question) if request.param == "sync" else await engine.aquery(question)

    return ask


def cites_all(prompt: str) -> str:
    return "It is so [1]."


def texts(response: Response) -> list[str]:
    return [found.text for found in response.source_nodes]


class Reranker(BaseNodePostprocessor):
    """Puts the last first and drops Paris; notes what it was asked, and in which mode."""

    asked: list[tuple[str, int]] = Field(default_factory=list)
    awaited: int = 0

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None
        self.asked.append((query_bundle.query_str, len(nodes)))
        kept = [each for each in nodes if "Paris" not in each.text]
        return [NodeWithScore(node=each.node, score=0.25) for each in reversed(kept)]

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        self.awaited += 1
        return self._postprocess_nodes(nodes, query_bundle)


async def test_postprocessors_see_each_search_with_its_own_query(
    ask: Ask, request: pytest.FixtureRequest
) -> None:
    found = {QUESTION: [PARIS, JAWS], FOLLOW_UP: [BORN, PARIS]}
    reranker, manager = Reranker(), CallbackManager()
    engine = SKRQueryEngine.from_args(
        Search(found), llm=Speaker(), node_postprocessors=[reranker], callback_manager=manager
    )
    response = await ask(engine, QUESTION)
    assert str(response) == ANSWER
    assert reranker.asked == [(QUESTION, 2), (FOLLOW_UP, 2)]
    assert texts(response) == [JAWS, BORN]
    assert [each.score for each in response.source_nodes] == [0.25, 0.25]
    assert (reranker.awaited == 2) == ("async" in request.node.name)
    assert reranker.callback_manager is manager


async def test_the_very_nodes_go_through_several_postprocessors(ask: Ask) -> None:
    engine = SKRQueryEngine.from_defaults(
        index(),
        llm=Speaker(cites_all),
        similarity_top_k=3,
        node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.0), Reranker()],
    )
    response = await ask(engine, "Who directed Jaws?")
    assert {each.node_id for each in response.source_nodes} == {
        f"node-{JAWS[:5]}",
        f"node-{BORN[:5]}",
    }


async def test_a_failing_postprocessor_is_a_failing_search(ask: Ask) -> None:
    class Broken(Reranker):
        def _postprocess_nodes(self, *args: Any, **kwargs: Any) -> list[NodeWithScore]:
            raise OSError("no connection")

    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), node_postprocessors=[Broken()])
    with pytest.raises(RetrieverError, match="Search > Broken: OSError: no connection"):
        await ask(engine, QUESTION)
    wrong: Any = [Search()]
    with pytest.raises(InputError, match="a node postprocessor is wanted, not Search"):
        SKRQueryEngine.from_defaults(Search(), llm=Speaker(), node_postprocessors=wrong)


@pytest.mark.parametrize("k", [1, 3])
async def test_similarity_top_k(ask: Ask, k: int) -> None:
    engine = SKRQueryEngine.from_defaults(index(), llm=Speaker(cites_all), similarity_top_k=k)
    assert len((await ask(engine, "Who directed Jaws?")).source_nodes) == k


def of_years() -> VectorStoreIndex:
    nodes = [TextNode(text=f"In {year} it rained.", metadata={"year": year}) for year in (1, 2)]
    return VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=4))


async def test_filters(ask: Ask) -> None:
    filters = MetadataFilters(filters=[MetadataFilter(key="year", value=2)])
    engine = SKRQueryEngine.from_defaults(of_years(), llm=Speaker(cites_all), filters=filters)
    assert texts(await ask(engine, "When did it rain?")) == ["In 2 it rained."]


def test_a_filter_that_would_not_be_applied_is_refused() -> None:
    filters = MetadataFilters(filters=[MetadataFilter(key="year", value=2)])
    llm = Speaker()
    with pytest.raises(InputError, match="SummaryIndex takes no filters: give its own"):
        SKRQueryEngine.from_defaults(SummaryIndex([]), llm=llm, filters=filters)
    with pytest.raises(InputError, match=r"Search takes no filters: give an index"):
        SKRQueryEngine.from_defaults(Search(), llm=llm, filters=filters)
    with pytest.raises(InputError, match=r"Search takes no similarity_top_k: give an index"):
        SKRQueryEngine.from_defaults([of_years(), Search()], llm=llm, similarity_top_k=3)
    with pytest.raises(InputError, match="belong to a retriever or an index"):
        SKRQueryEngine.from_defaults(
            llm=llm, router=NeverRetrieve(), node_postprocessors=[Reranker()]
        )


def test_an_index_that_takes_nothing_is_asked_for_nothing() -> None:
    class Bare:
        def as_retriever(self) -> Search:
            return Search({"Who?": [JAWS, BORN]})

    bare: Any = Bare()
    assert len(SKRRetriever(bare, k=1).retrieve("Who?")) == 1
    engine = SKRQueryEngine.from_defaults(bare, llm=Speaker(cites_all))
    assert texts(engine.query("Who?")) == [JAWS, BORN]  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Bare takes no similarity_top_k"):
        SKRQueryEngine.from_defaults(bare, llm=Speaker(), similarity_top_k=1)


class Embedding(MockEmbedding):
    """Notes which texts are embedded to search with."""

    embedded: list[str] = Field(default_factory=list)

    def __init__(self) -> None:
        super().__init__(embed_dim=4)

    def _get_query_embedding(self, query: str) -> list[float]:
        self.embedded.append(query)
        return super()._get_query_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def noting() -> tuple[VectorStoreIndex, Embedding]:
    embedding = Embedding()
    nodes = [TextNode(text=text) for text in (JAWS, PARIS)]
    return VectorStoreIndex(nodes, embed_model=embedding), embedding


HYDE = "A director of films was born in some town."


@pytest.mark.parametrize("behind", ["plain", "fused", "postprocessed"])
async def test_hyde_is_searched_in_round_one_and_follow_ups_by_their_own_words(
    ask: Ask, behind: str
) -> None:
    vectors, embedding = noting()
    source: Any = {"films": vectors, "own": MappingRetriever({})} if behind == "fused" else vectors
    options: Any = {"node_postprocessors": [Reranker()]} if behind == "postprocessed" else {}
    engine = SKRQueryEngine.from_defaults(source, llm=Speaker(), **options)
    asked = TransformQueryEngine(
        engine, HyDEQueryTransform(llm=Speaker(lambda prompt: HYDE), include_original=False)
    )
    await ask(asked, QUESTION)
    assert embedding.embedded == [HYDE, FOLLOW_UP]
    embedding.embedded.clear()
    await ask(engine, QUESTION)
    assert embedding.embedded == [QUESTION, FOLLOW_UP], "the next question is asked by itself"


@pytest.mark.parametrize("completes", [True, False])
@pytest.mark.parametrize("fused", [True, False])
async def test_the_retriever_takes_it_too(completes: bool, fused: bool) -> None:
    for mode in ("sync", "async"):
        vectors, embedding = noting()
        source: Any = {"films": vectors} if fused else vectors
        retriever = SKRRetriever(source, llm=Speaker() if completes else None)
        bundle = QueryBundle(QUESTION, custom_embedding_strs=[HYDE])
        if mode == "sync":
            retriever.retrieve(bundle)
        else:
            await retriever.aretrieve(bundle)
        assert embedding.embedded == ([HYDE, FOLLOW_UP] if completes else [HYDE])
        assert bundle.embedding is None or not fused, "each retriever embeds for itself"


async def test_named_retrievers_are_fused_and_each_node_says_who_found_it(ask: Ask) -> None:
    sources = {"wiki": Search({"Who?": [JAWS, PARIS]}), "web": Search({"Who?": [BORN, JAWS]})}
    engine = SKRQueryEngine.from_defaults(sources, llm=Speaker(cites_all))
    response = await ask(engine, "Who?")
    assert [(each.text, each.metadata["found_by"]) for each in response.source_nodes] == [
        (JAWS, ["wiki", "web"]),
        (BORN, ["web"]),
        (PARIS, ["wiki"]),
    ]
    node = response.source_nodes[0].node
    assert "found_by" in node.excluded_llm_metadata_keys
    found = SKRRetriever(sources, k=1).retrieve("Who?")
    assert [(each.text, each.metadata["found_by"]) for each in found] == [(JAWS, ["wiki", "web"])]


async def test_one_that_fails_is_named_while_another_finds_something(ask: Ask) -> None:
    class Broken(Search):
        def _of(self, query_bundle: QueryBundle) -> Any:
            raise OSError("no connection")

    sources = {"wiki": Search({"Who?": [JAWS]}), "web": Broken()}
    response: Any = await ask(SKRQueryEngine.from_defaults(sources, llm=Speaker(cites_all)), "Who?")
    assert response.metadata["rounds"][0]["errors"] == ["Who?: web: OSError: no connection"]
    with pytest.raises(RetrieverError, match="web: OSError: no connection"):
        await ask(SKRQueryEngine.from_defaults(sources, llm=Speaker(cites_all)), "Where?")


async def test_one_of_several_sources_is_chosen_by_a_selector(ask: Ask) -> None:
    def tool(retriever: Any) -> RetrieverTool:
        return RetrieverTool.from_defaults(retriever, description="?")

    nothing = SKRRetriever(Search(), router=NeverRetrieve())
    sources = [nothing, Search({QUESTION: [JAWS]}), Search({QUESTION: [BORN]})]
    routed = RouterRetriever(
        SKRSelector(AlwaysRetrieve()), [tool(each) for each in sources], llm=MockLLM()
    )
    assert {each.text for each in routed.retrieve(QUESTION)} == {JAWS, BORN}
    assert {each.text for each in await routed.aretrieve(QUESTION)} == {JAWS, BORN}

    engines = [
        SKRQueryEngine.from_defaults(each, llm=Speaker(lambda prompt, n=n: f"Source {n} [1]."))
        for n, each in enumerate(sources)
    ]
    tools = [QueryEngineTool.from_defaults(each, description="?") for each in engines]
    chosen = RouterQueryEngine(SKRSelector(AlwaysRetrieve(), selector=Last()), tools, llm=MockLLM())
    assert str(await ask(chosen, QUESTION)) == "Source 2 [1]."


def test_an_engine_with_options_still_pickles() -> None:
    engine = SKRQueryEngine.from_defaults(
        {"own": MappingRetriever({QUESTION: [JAWS, PARIS]})},
        llm="extractive",
        node_postprocessors=[Reranker()],
    )
    again = pickle.loads(pickle.dumps(engine))
    assert texts(again.query(QUESTION)) == texts(engine.query(QUESTION)) == [JAWS]


def test_what_decides_what_is_found_is_kept_beside_the_name():
    filters = MetadataFilters(filters=[MetadataFilter(key="tenant", value="a")])
    vectors = VectorStoreIndex([], embed_model=MockEmbedding(embed_dim=2))
    # A canary for `filters_of`: LlamaIndex keeps a retriever's filters to itself.
    plain: Any = as_retriever(vectors, similarity_top_k=3)
    filtered: Any = as_retriever(vectors, similarity_top_k=3, filters=filters)
    ranked: Any = as_retriever(
        vectors, similarity_top_k=3, node_postprocessors=[SimilarityPostprocessor()]
    )
    assert [each.version for each in (plain, filtered, ranked)] == [
        "k=3",
        "k=3 filter(tenant)",
        "k=3 > SimilarityPostprocessor",
    ]
    assert {each.name for each in (plain, filtered, ranked)} == {"VectorIndexRetriever"}
    assert LlamaIndexRetriever(Fixed([])).name == "a name of its own"
