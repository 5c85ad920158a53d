"""What a question costs by each way of answering it.

Calls of the model and prompt tokens, for a question that the model knows by heart, one that a
single search answers, and one of two hops. Passages, retriever and model are the same for all: the
model is scripted (`benchmarks/library.py`) and stands behind an OpenAI-compatible server on
loopback, so that the figures are the same on each run. Tokens are those of messages, tools and tool
calls, counted by tiktoken. Each way has its framework's own words and defaults. What is answered
wrongly is struck.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain_classic.chains import create_retrieval_chain
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.utils import get_tokenizer

from benchmarks import library
from benchmarks.peers import peers
from langchain_skr import create_skr_chain
from llamaindex_skr import SKRQueryEngine, openai_like
from skr_learn import Record
from skr_learn.routers import KNNRouter
from tests.servers import OpenAIServer

QUESTIONS = {"known": library.KNOWN, "easy": library.EASY, "two hops": library.TWO_HOPS}
ABOUT = "Provides passages about lighthouses, the people who designed them, and countries."

Ask = Callable[[str], str]


@dataclass(frozen=True)
class Cost:
    """Of one question: was the answer right, and what was sent to the model for it."""

    right: bool
    calls: int
    tokens: int


@dataclass(frozen=True)
class Way:
    """A way of answering, with what each of the questions costs by it."""

    way: str
    costs: dict[str, dict[str, int]]


def rows(quick: bool) -> Iterator[Way]:
    """Each way of answering; quick or not, it is a matter of seconds."""
    for name, costs in measured().items():
        yield Way(name, {kind: vars(cost) for kind, cost in zip(QUESTIONS, costs, strict=True)})


def measured() -> dict[str, list[Cost]]:
    """What the questions cost, by the name of the way."""

    def measure_all(server: OpenAIServer) -> dict[str, list[Cost]]:
        return {name: measure(ask, server) for name, ask in ways(server.url)}

    # In a thread LlamaIndex's synthesizers close the event loop that they make.
    with OpenAIServer(library.reply) as server, ThreadPoolExecutor(1) as thread:
        return thread.submit(measure_all, server).result()


def measure(ask: Ask, server: OpenAIServer) -> list[Cost]:
    """What each of the questions costs."""
    costs = []
    for question in QUESTIONS.values():
        before = server.calls
        answer = ask(question)
        sent = server.requests[before:]
        right = library.GOLD[question] in answer
        costs.append(Cost(right, len(sent), sum(map(prompt_tokens, sent))))
    return costs


def prompt_tokens(request: dict[str, Any]) -> int:
    """The tokens of what a request says: messages, tool calls in them, tools."""
    count = get_tokenizer()
    spoken = [message.get("content") or "" for message in request["messages"]]
    called = [message["tool_calls"] for message in request["messages"] if "tool_calls" in message]
    told = [json.dumps(each) for each in [*called, *request.get("tools", [])]]
    return sum(len(count(text)) for text in [*spoken, *told])


def ways(url: str) -> Iterator[tuple[str, Ask]]:
    """Each way of answering, by its name."""
    yield from langchain_ways(url)
    yield from llamaindex_ways(url)


def langchain_ways(url: str) -> Iterator[tuple[str, Ask]]:
    model = ChatOpenAI(model="test", base_url=url, api_key="none")  # type: ignore[arg-type]
    retriever = Library()
    words = ChatPromptTemplate.from_messages(
        [
            (
                "system",
                "Use the given context to answer the question. If you don't know the answer, say "
                "you don't know. Use three sentences at most and keep the answer concise. "
                "Context: {context}",
            ),
            ("human", "{input}"),
        ]
    )
    plain = create_retrieval_chain(retriever, create_stuff_documents_chain(model, words))
    yield "create_retrieval_chain", lambda question: plain.invoke({"input": question})["answer"]

    agent: Any = create_agent(model, [search], system_prompt=library.SYSTEM)
    yield (
        "create_agent with a search tool",
        lambda question: agent.invoke({"messages": [("user", question)]})["messages"][-1].text,
    )
    yield "create_skr_chain", create_skr_chain(model, retriever).invoke
    yield (
        "create_skr_chain with a router",
        create_skr_chain(model, retriever, router=records_router()).invoke,
    )


def llamaindex_ways(url: str) -> Iterator[tuple[str, Ask]]:
    llm = openai_like("test", base_url=url)
    retriever = Nodes()
    engines = {
        **peers(llm, retriever, ABOUT),
        "CitationQueryEngine": CitationQueryEngine(retriever, llm=llm),
        "SKRQueryEngine": SKRQueryEngine.from_defaults(retriever, llm=llm),
        "SKRQueryEngine with a router": SKRQueryEngine.from_defaults(
            retriever, llm=llm, router=records_router()
        ),
    }
    for name, engine in engines.items():
        yield name, lambda question, engine=engine: str(engine.query(question))


def records_router() -> KNNRouter:
    """Of records as `collect` makes them: the model knows capitals, and no lighthouse."""
    countries = "Italy, Spain, Norway, Japan".split(", ")
    places = "Elder Ness, Fallow Head, Hern Point, Ivy Sound".split(", ")
    known = [
        Record.of(f"What is the capital of {each}?", direct=("", 1), loop=("", 1))
        for each in countries
    ]
    asked = ["Who designed the lighthouse of {}?", "Where was the designer of {} born?"]
    unknown = [
        Record.of(question.format(place), direct=("", 0), loop=("", 1))
        for question in asked
        for place in places
    ]
    return KNNRouter.fit([*known, *unknown], k=3)


class Library(BaseRetriever):
    """The library for LangChain."""

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [Document(text) for text in library.search(query)]


class Nodes(LlamaIndexRetriever):
    """The library for LlamaIndex."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = library.search(query_bundle.query_str)
        return [NodeWithScore(node=TextNode(text=text), score=1.0) for text in found]


@tool
def search(query: str) -> str:
    """Find passages of the library."""
    return "\n\n".join(library.search(query))
