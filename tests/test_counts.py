"""What a question takes, in counts: a change that makes it take more has to say so here.

The limits are today's figures. Seconds are measured by `benchmarks`, beside a peer.
"""

from __future__ import annotations

import cProfile
import gc
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.pregel._read import ChannelRead
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from benchmarks import library
from langchain_skr import create_skr_chain, create_skr_graph, load_model
from llamaindex_skr import SKRQueryEngine, openai_like
from skr_core import HashingEmbedder
from skr_core.plain import from_plain, to_plain
from skr_graphs import SKRContext
from skr_learn import Record
from skr_learn.routers import KNNRouter
from tests.servers import OpenAIServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # clients that nobody closes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
Ask = Callable[[str], Any]

ONE, TWO = library.EASY, library.TWO_HOPS
"""Questions that take one round, and two."""

CALLS = {ONE: 1, TWO: 2}
"""Of the model: a reply says itself whether its references suffice, and what to search next."""

SEARCHES = {ONE: 1, TWO: 2}
"""One a round: the reply names one query."""

STEPS = {ONE: 7, TWO: 12}
"""Of the graph: three before and behind the loop, four in a round, one between two rounds."""

FROM_PLAIN = {ONE: 10, TWO: 23}
"""Each reference for the prompt of its round, those of the last once more for its citations, and
each reply for its verdict, and the last reflection for what the answer says of itself."""

COPIES = {ONE: 2, TWO: 4}
"""Of all of the state, by LangGraph: one for each conditional edge that is passed, behind the
router, behind each reflection and behind the queries that follow it."""

CHANNELS = 38
"""Of LangGraph, one for each key of the state and for each node: each step looks at all of them."""

TO_PLAIN = {ONE: 12, TWO: 25}
"""Each reference once, where it is found, and once more where a later round finds it again; the
decision; a round, a reply, a reflection and what they cost a round; each citation."""

BYTES = {ONE: 4_000, TWO: 9_000}
"""Of what is sent to the model: the passages are most of it, and stand in a prompt once."""


class Library(BaseRetriever):
    """Counts its searches."""

    asked: list[str] = []  # noqa: RUF012  # a field of pydantic's, which copies it

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        self.asked.append(query)
        return [Document(text) for text in library.search(query)]


class Nodes(LlamaIndexRetriever):
    """The same for LlamaIndex."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.asked.append(query_bundle.query_str)
        found = library.search(query_bundle.query_str)
        return [NodeWithScore(node=TextNode(text=text), score=1.0) for text in found]


class Embedder(HashingEmbedder):
    """Counts the texts that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.texts.extend(texts)
        return super().embed(texts)


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(library.reply) as server:
        yield server
    gc.collect()  # while such warnings are ignored


@pytest.fixture(params=["langchain", "llamaindex"])
def asking(request: pytest.FixtureRequest, server: OpenAIServer) -> tuple[Ask, list[str]]:
    """How a plug-in asks, and what it has searched."""
    if request.param == "langchain":
        retriever = Library()
        model = load_model("openai:test", base_url=server.url, api_key="none")
        return create_skr_chain(model, retriever).invoke, retriever.asked
    nodes = Nodes()
    llm = openai_like("test", base_url=server.url, api_key="none")
    return SKRQueryEngine.from_defaults(nodes, llm=llm).query, nodes.asked


def calls_of(function: Callable[..., Any], work: Callable[[], Any]) -> int:
    """How often a function is called, in this thread."""
    with cProfile.Profile() as profile:
        work()
    counted = [each for each in profile.getstats() if each.code is function.__code__]
    return sum(each.callcount for each in counted)


@pytest.mark.parametrize("question", [ONE, TWO], ids=["one round", "two rounds"])
def test_what_is_asked_and_sent(
    asking: tuple[Ask, list[str]], server: OpenAIServer, question: str
) -> None:
    ask, searched = asking
    before = server.calls
    assert library.GOLD[question] in str(ask(question))
    sent = server.requests[before:]
    assert len(sent) == CALLS[question]
    assert len(searched) == SEARCHES[question]
    assert sum(len(json.dumps(each)) for each in sent) <= BYTES[question]


@pytest.mark.parametrize("question", [ONE, TWO], ids=["one round", "two rounds"])
def test_how_often_values_are_converted(server: OpenAIServer, question: str) -> None:
    model = load_model("openai:test", base_url=server.url, api_key="none")
    graph = create_skr_graph(model, Library())
    graph.invoke({"question": question})  # makes what is made once
    read = calls_of(from_plain, lambda: graph.invoke({"question": question}))
    written = calls_of(to_plain, lambda: graph.invoke({"question": question}))
    assert 0 < read <= FROM_PLAIN[question]
    assert 0 < written <= TO_PLAIN[question]


@pytest.mark.parametrize("question", [ONE, TWO], ids=["one round", "two rounds"])
def test_how_often_the_state_is_copied(server: OpenAIServer, question: str) -> None:
    model = load_model("openai:test", base_url=server.url, api_key="none")
    graph = create_skr_graph(model, Library())
    copies = calls_of(ChannelRead.do_read, lambda: graph.invoke({"question": question}))
    assert 0 < copies <= COPIES[question]


def test_how_many_channels_there_are() -> None:
    graph = create_skr_graph("extractive", Library())
    assert len(graph.channels) <= CHANNELS


def test_what_a_run_replaces_is_looked_up_once(server: OpenAIServer) -> None:
    model = load_model("openai:test", base_url=server.url, api_key="none")
    graph, context = create_skr_graph(model, Library()), SKRContext(stream=False)
    given = vars(SKRContext)["given"].fget
    assert calls_of(given, lambda: graph.invoke({"question": ONE}, context=context)) == 1


@pytest.mark.parametrize("question", [ONE, TWO], ids=["one round", "two rounds"])
def test_how_many_steps_are_taken(server: OpenAIServer, question: str) -> None:
    model = load_model("openai:test", base_url=server.url, api_key="none")
    graph = create_skr_graph(model, Library())
    steps = list(graph.stream({"question": question}, stream_mode="updates"))
    assert len(steps) <= STEPS[question]


def test_a_router_embeds_the_question_once(server: OpenAIServer) -> None:
    embedder = Embedder()
    known = [
        Record.of(f"What is the capital of {place}?", direct=("", 1), loop=("", 1))
        for place in ("Italy", "Spain", "Norway")
    ]
    router = KNNRouter.fit(known, embedder=embedder, k=2)
    model = load_model("openai:test", base_url=server.url, api_key="none")
    chain = create_skr_chain(model, Library(), router=router)
    embedder.texts.clear()
    chain.invoke(library.KNOWN)
    assert embedder.texts == [library.KNOWN]
