"""What users of RetrieverQueryEngine expect: postprocessors, filters, HyDE, several retrievers."""

from __future__ import annotations

import pickle
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from llama_index.core import SummaryIndex, VectorStoreIndex
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RouterQueryEngine, TransformQueryEngine
from llama_index.core.retrievers import RouterRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool, RetrieverTool
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from pydantic import Field

from llamaindex_skr import SKRChatEngine, SKRQueryEngine, SKRRetriever, SKRSelector
from skr_core.errors import InputError, OptionError, RetrieverError
from skr_core.routers import AlwaysRetrieve, NeverRetrieve
from skr_core.testing import MappingRetriever
from tests.llamaindex_skr.fakes import (
    ANSWER,
    BORN,
    FOLLOW_UP,
    JAWS,
    PARIS,
    QUESTION,
    Search,
    Speaker,
    index,
)

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
    """Puts the last first and drops Paris; notes what it was asked, and in which colour."""

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
    with pytest.raises(TypeError, match="SummaryIndex takes no filters: give its own"):
        SKRQueryEngine.from_defaults(SummaryIndex([]), llm=llm, filters=filters)
    ready = of_years().as_retriever()
    with pytest.raises(TypeError, match=r"takes no filters: give it to index.as_retriever"):
        SKRQueryEngine.from_defaults(ready, llm=llm, filters=filters)
    with pytest.raises(TypeError, match=r"takes no similarity_top_k: give it to index.as_ret"):
        SKRQueryEngine.from_defaults({"one": of_years()}, llm=llm, similarity_top_k=3)
    with pytest.raises(OptionError, match="with a retriever or an index alone"):
        SKRQueryEngine.from_defaults(
            llm=llm, router=NeverRetrieve(), node_postprocessors=[Reranker()]
        )


@pytest.mark.parametrize(
    ("wrong", "of_the_engine", "of_the_chat"),
    [
        ("system_prompt", "it is the model's", r"templates=PromptTemplates\(...\)"),
        ("temperature", "it is the model's", "it is the model's"),
        ("chat_mode", r"SKRChatEngine.from_defaults\(index\) converses", "there is one"),
        ("similarity_cutoff", r"\[SimilarityPostprocessor\(", r"\[SimilarityPostprocessor\("),
        ("top_k", "similarity_top_k is meant", "similarity_top_k is meant"),
    ],
)
def test_what_is_not_taken_names_the_right_way(
    wrong: str, of_the_engine: str, of_the_chat: str
) -> None:
    options: Any = {wrong: 1}
    with pytest.raises(TypeError, match=f"SKRQueryEngine takes no {wrong}: .*{of_the_engine}"):
        SKRQueryEngine.from_defaults(index(), llm=Speaker(), **options)
    with pytest.raises(TypeError, match=f"SKRChatEngine takes no {wrong}: .*{of_the_chat}"):
        SKRChatEngine.from_defaults(index(), llm=Speaker(), **options)


def test_an_index_that_takes_nothing_is_asked_for_nothing() -> None:
    class Bare:
        def as_retriever(self) -> Search:
            return Search({"Who?": [JAWS, BORN]})

    bare: Any = Bare()
    assert len(SKRRetriever(bare, k=1).retrieve("Who?")) == 1
    engine = SKRQueryEngine.from_defaults(bare, llm=Speaker(cites_all))
    assert texts(engine.query("Who?")) == [JAWS, BORN]  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="Bare takes no similarity_top_k"):
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
    for colour in ("sync", "async"):
        vectors, embedding = noting()
        source: Any = {"films": vectors} if fused else vectors
        retriever = SKRRetriever(source, llm=Speaker() if completes else None)
        bundle = QueryBundle(QUESTION, custom_embedding_strs=[HYDE])
        if colour == "sync":
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


async def test_one_that_fails_is_told_while_another_finds_something(ask: Ask) -> None:
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

    from tests.llamaindex_skr.test_selector import Last

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


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("response_synthesizer", "update_prompts"),
        ("text_qa_template", r"templates=PromptTemplates"),
        ("k", "similarity_top_k is meant"),
        ("vector_store_query_mode", r"index.as_retriever"),
        ("model", "llm is meant"),
        ("max_rounds", r"budget=Budget\(max_rounds=...\) is meant"),
        ("budgett", "budget is meant, perhaps"),
        ("colour", "it takes arbiter, budget, callback_manager"),
    ],
)
def test_what_an_engine_does_not_take_is_a_type_error_that_names_what_is_right(
    wrong: str, right: str
) -> None:
    with pytest.raises(TypeError, match=f"SKRQueryEngine takes no {wrong}: .*{right}"):
        SKRQueryEngine.from_defaults(Search(), llm=Speaker(), **{wrong: 1})  # type: ignore[arg-type]


def test_what_is_not_made_of_a_graph_names_from_defaults() -> None:
    for made in (SKRQueryEngine, SKRChatEngine):
        with pytest.raises(InputError, match=rf"not from Search: {made.__name__}.from_defaults\("):
            made(Search())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a memory of LlamaIndex is wanted, not int"):
        SKRChatEngine.from_defaults(Search(), llm=Speaker(), memory=3)  # type: ignore[arg-type]
    said: Any = ["Hello."]
    with pytest.raises(InputError, match="chat_history holds str: give a list of ChatMessage"):
        SKRChatEngine.from_defaults(Search(), llm=Speaker(), chat_history=said)
    with pytest.raises(InputError, match="chat_history holds str: give a list of ChatMessage"):
        SKRChatEngine.from_defaults(Search(), llm=Speaker()).chat("And he?", said)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("similarity_top_k", "k is meant"), ("filters", r"index.as_retriever"), ("routr", "router")],
)
def test_what_a_retriever_does_not_take(wrong: str, right: str) -> None:
    options: Any = {wrong: 1}
    with pytest.raises(TypeError, match=f"SKRRetriever takes no {wrong}: .*{right}"):
        SKRRetriever(Search(), **options)
