"""What one request changes of an engine, a chat engine and a retriever, on one compiled graph."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import SummaryIndex, VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms.callbacks import llm_chat_callback
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

from llamaindex_skr import LlamaIndexRetriever, SKRChatEngine, SKRQueryEngine, SKRRetriever
from skr_core import Budget
from skr_core.errors import InputError, StampWarning, tell_once
from skr_core.routers import NeverRetrieve
from skr_core.settings import answerer_of
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import create_self_completion_graph
from tests.llamaindex_skr.fakes import BORN, JAWS, QUESTION, Search, Speaker
from tests.skr_graphs.doubles import ListStore

BURNS = "What burns?"
OILS = {"amber": "The lamp burns colza oil.", "basalt": "The lamp burns paraffin."}

Ask = Callable[..., Awaitable[Any]]


def of_tenants() -> VectorStoreIndex:
    nodes = [TextNode(text=oil, metadata={"tenant": each}) for each, oil in OILS.items()]
    return VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=4))


def only(tenant: str) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key="tenant", value=tenant)])


def cites(prompt: str) -> str:
    return "SUFFICIENT\nIt is so [1]."


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Asks an engine, a chat engine or a retriever; returns the texts of the nodes."""

    async def ask(app: Any, question: Any = BURNS) -> list[str]:
        names = {SKRChatEngine: "chat", SKRRetriever: "retrieve"}
        name = next((each for kind, each in names.items() if isinstance(app, kind)), "query")
        if request.param == "sync":
            found = await asyncio.to_thread(getattr(app, name), question)
        else:
            found = await getattr(app, f"a{name}")(question)
        return [each.text for each in getattr(found, "source_nodes", found)]

    return ask


class Own(Search):
    """A retriever of the user's own, with filters that it reads at each search."""

    def __init__(self) -> None:
        super().__init__({})
        self.filters: MetadataFilters | None = None

    def _of(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        wanted: Any = self.filters and self.filters.filters[0]
        texts = [oil for tenant, oil in OILS.items() if not wanted or tenant == wanted.value]
        return [NodeWithScore(node=TextNode(text=text), score=0.5) for text in texts]


SOURCES: dict[str, Callable[[], Any]] = {
    "index": of_tenants,
    "ready retriever": lambda: of_tenants().as_retriever(),
    "adapted": lambda: LlamaIndexRetriever(of_tenants().as_retriever()),
    "own": Own,
    "by name": lambda: {"one": of_tenants(), "two": of_tenants().as_retriever()},
    "list": lambda: [of_tenants(), of_tenants(), Own()],
}


@pytest.mark.parametrize("kind", ["query", "chat", "retriever", "looping retriever"])
@pytest.mark.parametrize("source", SOURCES)
async def test_filters_of_a_request_reach_every_retriever(ask: Ask, kind: str, source: str) -> None:
    given, llm = SOURCES[source](), Speaker(cites)
    engine: Any = {
        "query": lambda: SKRQueryEngine.from_defaults(given, llm=llm),
        "chat": lambda: SKRChatEngine.from_defaults(given, llm=llm),
        "retriever": lambda: SKRRetriever(given),
        "looping retriever": lambda: SKRRetriever(given, llm=llm),
    }[kind]()
    for tenant, oil in OILS.items():
        asked = engine.with_options(filters=only(tenant))
        assert asked._graph is engine._graph, "nothing is compiled"
        assert await ask(asked) == [oil]
    assert {*await ask(engine)} == {*OILS.values()}, "the engine itself stays as it is"


async def test_requests_side_by_side_keep_to_their_own(ask: Ask) -> None:
    engine = SKRQueryEngine.from_defaults(of_tenants(), llm=Speaker(cites))
    tenants = [*OILS] * 8
    asked = [ask(engine.with_options(filters=only(tenant))) for tenant in tenants]
    assert await asyncio.gather(*asked) == [[OILS[tenant]] for tenant in tenants]


def test_what_a_retriever_does_not_take_is_refused_by_name() -> None:
    llm, filters = Speaker(), only("amber")
    summary = SKRQueryEngine.from_defaults(SummaryIndex([]), llm=llm)
    with pytest.raises(InputError, match="SummaryIndex takes no filters"):
        summary.with_options(filters=filters)
    mixed = SKRChatEngine.from_defaults({"one": of_tenants(), "two": Search()}, llm=llm)
    with pytest.raises(InputError, match="Search takes no filters: give an index"):
        mixed.with_options(filters=filters)
    with pytest.raises(InputError, match="MappingRetriever takes no filters"):
        SKRRetriever(MappingRetriever({})).with_options(filters=filters)
    graph = create_self_completion_graph(model=ScriptedModel(), retriever=MappingRetriever({}))
    with pytest.raises(InputError, match="filters belong to a retriever or an index, and this"):
        SKRQueryEngine(graph.compile()).with_options(filters=filters)
    with pytest.raises(TypeError, match="takes no 'k': similarity_top_k is"):
        summary.with_options(k=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^with_options\(\) got an unexpected .* 'unknown'"):
        summary.with_options(unknown=3)  # type: ignore[call-arg]
    wrong: dict[str, Any]
    for wrong, said in (
        ({"filters": [filters]}, "filters is list: give MetadataFilters"),
        ({"similarity_top_k": "3"}, "similarity_top_k is '3': give a whole number of at least 1"),
        ({"node_postprocessors": Telling()}, "node_postprocessors is Telling: give a list"),
        ({"instructions": 3}, "instructions is int: give a text, or a function that returns one"),
    ):
        with pytest.raises(InputError, match=said):
            SKRQueryEngine.from_defaults(of_tenants(), llm=llm, **wrong)
        with pytest.raises(InputError, match=said):
            SKRQueryEngine.from_defaults(of_tenants(), llm=llm).with_options(**wrong)
    with pytest.raises(InputError, match="streaming is 'yes': give True or False"):
        SKRQueryEngine.from_defaults(of_tenants(), llm=llm, streaming="yes")  # type: ignore[arg-type]
    for name in ("use_async", "verbose", "vector_store_query_mode"):
        with pytest.raises(TypeError, match=f"takes no '{name}': "):
            SKRQueryEngine.from_defaults(of_tenants(), llm, **{name: True})
    with pytest.raises(InputError, match="the scope is an empty text"):
        summary.with_options(scope=" ")
    with pytest.raises(InputError, match="a router has decide"):
        summary.with_options(router=5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="k must be at least 1, not 0"):
        SKRRetriever(of_tenants()).with_options(k=0)


async def test_numbers_limits_and_routers_of_a_request(ask: Ask) -> None:
    engine = SKRQueryEngine.from_defaults(of_tenants(), llm=Speaker(cites), similarity_top_k=1)
    assert len(await ask(engine)) == 1
    both = engine.with_options(similarity_top_k=2)
    assert len(await ask(both)) == 2
    assert await ask(both.with_options(filters=only("basalt"))) == [OILS["basalt"]], "they add up"
    assert await ask(engine.with_options(router=NeverRetrieve())) == []
    assert await ask(engine.with_options(router="never")) == []
    several = SKRQueryEngine.from_defaults([of_tenants()] * 2, llm=Speaker(cites))
    assert len(await ask(several)) == 2
    assert len(await ask(several.with_options(similarity_top_k=1))) == 1, "the same of each"
    looping = SKRQueryEngine.from_defaults(Search(), llm=Speaker())
    assert await ask(looping, QUESTION) == [JAWS, BORN]
    assert await ask(looping.with_options(budget=Budget(max_rounds=1)), QUESTION) == [JAWS]
    chat = SKRChatEngine.from_defaults(Search(), llm=Speaker(), router="never")
    once = chat.with_options(router="always", budget=Budget(max_rounds=1))
    assert await ask(once, QUESTION) == [JAWS]
    assert await ask(chat, QUESTION) == []
    retriever = SKRRetriever(of_tenants(), k=2)
    assert [len(await ask(each)) for each in (retriever, retriever.with_options(k=1))] == [2, 1]
    several_of_k = SKRRetriever([of_tenants(), Search()], k=2)
    assert len(await ask(several_of_k)) == 2


async def test_scopes_and_instructions_of_a_request(ask: Ask) -> None:
    store = ListStore()
    model = ScriptedModel(otherwise="SUFFICIENT\nIt is so [1].")
    engine = SKRQueryEngine.from_defaults(
        Search({BURNS: [OILS["amber"]]}), llm=model, reference_store=store, scope="nobody"
    )
    polite = PromptTemplate("Be {how}.").partial_format(how="brief")
    await ask(engine.with_options(scope="amber", instructions=polite))
    assert "Be brief." in model.prompts[-1].system
    await ask(engine.with_options(scope=lambda: "basalt", instructions="Be kind."))
    assert "Be kind." in model.prompts[-1].system
    assert {name for name, view in store.scopes.items() if len(view)} == {"amber", "basalt"}


@pytest.mark.parametrize("made", [SKRQueryEngine, SKRChatEngine])
async def test_filters_stand_beside_a_memory_with_a_scope_of_their_own(ask: Ask, made: Any) -> None:
    """What is remembered is searched without them, so that one tenant would read another's."""
    held: dict[str, Any] = {"llm": Speaker(cites), "reference_store": ListStore()}
    engine = made.from_defaults(of_tenants(), scope="shared", **held)
    refused = "filters do not hold for what the reference_store remembers: give with them a scope"
    for wrong in ({}, {"scope": "shared"}):
        with pytest.raises(InputError, match=refused):
            engine.with_options(filters=only("amber"), **wrong)
    with pytest.raises(InputError, match=refused):
        made.from_defaults(of_tenants(), scope="shared", filters=only("amber"), **held)
    for tenant, oil in OILS.items():
        asked = engine.with_options(filters=only(tenant), scope=tenant)
        assert [await ask(asked) for _ in range(2)] == [[oil]] * 2, "remembered the second time"
    fixed = made.from_defaults(of_tenants(), scope="amber", filters=only("amber"), **held)
    assert await ask(fixed) == [OILS["amber"]]


async def test_a_conversation_goes_on_and_another_has_a_memory_of_its_own(ask: Ask) -> None:
    chat = SKRChatEngine.from_defaults(of_tenants(), llm=Speaker(cites))
    await ask(chat.with_options(filters=only("amber")))
    assert len(chat.chat_history) == 2, "the same conversation"
    other = chat.with_options(filters=only("basalt")).with_memory(
        ChatMemoryBuffer.from_defaults(token_limit=3000)
    )
    assert other._graph is chat._graph
    assert await ask(other) == [OILS["basalt"]]
    assert (len(other.chat_history), len(chat.chat_history)) == (2, 2)
    with pytest.raises(InputError, match="a memory of LlamaIndex is wanted, not list"):
        chat.with_memory([])  # type: ignore[arg-type]


async def test_a_chat_hands_on_the_whole_bundle(ask: Ask, tmp_path: Path) -> None:
    class Seen(Search):
        def _of(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            seen.append(query_bundle)
            return super()._of(query_bundle)

    seen: list[QueryBundle] = []
    lamp = tmp_path / "lamp.png"
    lamp.write_bytes(b"\x89PNG\r\n\x1a\n")
    bundle = QueryBundle(
        BURNS, image_path=str(lamp), custom_embedding_strs=["oil"], embedding=[0.5]
    )
    found = Seen({BURNS: [JAWS]})
    await ask(SKRChatEngine.from_defaults(found, llm=Speaker(cites)), bundle)
    await ask(SKRQueryEngine.from_defaults(found, llm=Speaker(cites)), bundle)
    assert seen == [bundle, bundle]


def test_a_router_of_another_system_is_told_of_by_each(recwarn: pytest.WarningsRecorder) -> None:
    tell_once.cache_clear()
    index, llm = of_tenants(), Speaker(cites)
    learnt = NeverRetrieve()
    engine = SKRQueryEngine.from_defaults(index, llm)
    learnt.stamp = answerer_of(engine).settings.stamp()  # type: ignore[attr-defined]
    engine.with_options(router=learnt)
    SKRRetriever(index, llm=llm, router=learnt).retrieve(BURNS)
    assert [each for each in recwarn if each.category is StampWarning] == []
    engine.with_options(router=learnt, similarity_top_k=4)
    SKRQueryEngine.from_defaults(index, llm, router=learnt, similarity_top_k=4)
    SKRQueryEngine.from_defaults(index, llm, router=learnt, instructions="Be brief.")
    said = [str(each.message) for each in recwarn if each.category is StampWarning]
    assert len({*said}) == len(said) == 2, "once of each system"


def test_an_engine_of_a_request_still_pickles() -> None:
    engine = SKRQueryEngine.from_defaults(Own(), llm="extractive")
    again = pickle.loads(pickle.dumps(engine.with_options(filters=only("basalt"))))
    assert [each.text for each in again.query(BURNS).source_nodes] == [OILS["basalt"]]
    assert len(again.with_options(filters=only("amber")).query(BURNS).source_nodes) == 1


# The callback manager


class Called(Speaker):
    """Tells its callback manager of each call, as LLMs of LlamaIndex do."""

    @llm_chat_callback()
    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        return ChatResponse(message=ChatMessage(cites(""), role="assistant"))

    @llm_chat_callback()
    async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        return ChatResponse(message=ChatMessage(cites(""), role="assistant"))


class Telling(BaseNodePostprocessor):
    """Tells its callback manager that it reranks, as rerankers do."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        with self.callback_manager.event(CBEventType.RERANKING):
            return nodes


@pytest.fixture
def heard() -> LlamaDebugHandler:
    return LlamaDebugHandler(print_trace_on_end=False)


@pytest.mark.parametrize("later", [True, False])
async def test_a_callback_manager_reaches_retrievers_postprocessors_and_model(
    ask: Ask, heard: LlamaDebugHandler, later: bool
) -> None:
    engine = SKRQueryEngine.from_defaults(
        [of_tenants(), Own()],
        llm=Called(),
        node_postprocessors=[] if later else [Telling()],
        callback_manager=CallbackManager([heard]),
    )
    if later:
        engine = engine.with_options(node_postprocessors=[Telling()])
    await ask(engine)
    kinds = [pair[0].event_type for pair in heard.get_event_pairs()]
    expected = {
        CBEventType.QUERY: 1,
        CBEventType.RETRIEVE: 2,
        CBEventType.RERANKING: 1,
        CBEventType.LLM: 1,
    }
    assert {kind: kinds.count(kind) for kind in expected} == expected
    (query,) = [pair[0].id_ for pair in heard.get_event_pairs(CBEventType.QUERY)]
    for kind in (CBEventType.RETRIEVE, CBEventType.RERANKING, CBEventType.LLM):
        for begun, _ in heard.get_event_pairs(kind):
            assert _outermost(heard, begun.id_) == query, kind


def test_two_engines_over_one_retriever_have_a_manager_each() -> None:
    for retriever in (Own(), LlamaIndexRetriever(Own())):
        handlers = [LlamaDebugHandler(print_trace_on_end=False) for _ in range(2)]
        engines = [
            SKRQueryEngine.from_defaults(
                retriever, llm="extractive", callback_manager=CallbackManager([each])
            )
            for each in handlers
        ]
        engines[0].query(BURNS)
        counted = [len(each.get_event_pairs(CBEventType.RETRIEVE)) for each in handlers]
        assert counted == [1, 0]


def _outermost(heard: LlamaDebugHandler, identity: str) -> str:
    """The first event around an event; traces begin at ``root``."""
    parents = {child: parent for parent, children in heard._trace_map.items() for child in children}
    while parents.get(identity, "root") != "root":
        identity = parents[identity]
    return identity
