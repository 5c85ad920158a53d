"""The loop's own time beside a graph written by hand.

Both peers are LangGraph graphs that make the same calls, of a model and a retriever that are
LangChain's base classes and reply at once, so that what is measured is what stands around them. One
has the same nodes, plain functions of a few lines each; the other just two, which retrieve, and
answer with the verdict and the next query. All are asked in turn, in one process; seconds are those
of the processor, and the quicker quarter of the turns counts, because whatever else the machine
does only adds to them. With SQLite each step is saved in a file, and each question has a thread of
its own.
"""

from __future__ import annotations

import asyncio
import operator
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from statistics import median
from typing import Annotated, Any
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from benchmarks.rows import Row
from langchain_skr import create_skr_graph

QUESTION = "What is query 1?"
FILLING = "It says many things about the matter at hand. " * 8


class Chat(BaseChatModel):
    """Asks for one query more until it has seen what so many rounds bring."""

    rounds: int

    @property
    def _llm_type(self) -> str:
        return "instant"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        seen = max(map(int, re.findall(r"of query (\d)", messages[-1].text)))
        said = "SUFFICIENT\nIt is so [1]."
        if seen < self.rounds:
            said = f"INSUFFICIENT\nIt is partly so [1].\nSearch: query {seen + 1}"
        spent = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        message = AIMessage(said, usage_metadata=spent)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return self._generate(messages)


class Search(BaseRetriever):
    """Finds four documents for a query."""

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        number = re.findall(r"\d", query)[0]
        texts = (f"Passage {place} of query {number}. {FILLING}" for place in range(4))
        return [
            Document(text, metadata={"source": f"{number}-{place}"})
            for place, text in enumerate(texts)
        ]

    async def _aget_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return self._get_relevant_documents(query)


class State(TypedDict, total=False):
    question: str
    retrieve: bool
    queries: list[str]
    found: Annotated[list[list[Document]], operator.add]
    documents: list[Document]
    rounds: int
    draft: str
    sufficient: bool
    answer: str
    sources: list[Document]


PROMPT = (
    "Answer from the references and cite them as [n]. Begin with SUFFICIENT or INSUFFICIENT; in "
    "the latter case name a query behind 'Search:'.\n\n{references}\n\nQuestion: {question}"
)


def prompt(state: State) -> str:
    shown = [f"[{n}] {each.page_content}" for n, each in enumerate(state["documents"], start=1)]
    return PROMPT.format(references="\n\n".join(shown), question=state["question"])


def read(said: str) -> State:
    verdict, _, rest = said.partition("\n")
    draft, _, query = rest.partition("\nSearch: ")
    sufficient = verdict == "SUFFICIENT"
    return {"draft": draft, "sufficient": sufficient, "queries": [query] if query else []}


def same_nodes(chat: BaseChatModel, search: BaseRetriever, *, awaited: bool, saver: Any) -> Any:
    """A peer with the nodes that ours has."""

    def condense(state: State) -> State:
        return {"question": state["question"].strip(), "rounds": 0, "documents": []}

    def route(state: State) -> State:
        return {"retrieve": True, "queries": [state["question"]]}

    def retrieve(state: Any) -> State:
        return {"found": [search.invoke(state["query"])]}

    async def aretrieve(state: Any) -> State:
        return {"found": [await search.ainvoke(state["query"])]}

    def merge(state: State) -> State:
        documents = {each.page_content: each for each in state["documents"]}
        for found in state["found"]:
            documents.update({each.page_content: each for each in found})
        return {"documents": list(documents.values()), "rounds": state["rounds"] + 1}

    def answer(state: State) -> State:
        return read(chat.invoke(prompt(state)).text)

    async def aanswer(state: State) -> State:
        return read((await chat.ainvoke(prompt(state))).text)

    def reflect(state: State) -> State:
        return {"sufficient": state["sufficient"] and "[" in state["draft"]}

    def follow_up(state: State) -> State:
        return {"queries": state["queries"]}

    def finish(state: State) -> State:
        cited = sorted({int(n) for n in re.findall(r"\[(\d+)\]", state["draft"])})
        return {"answer": state["draft"], "sources": [state["documents"][n - 1] for n in cited]}

    def searches(state: State) -> list[Send]:
        return [Send("retrieve", {"query": query}) for query in state["queries"]]

    graph = StateGraph(State)
    blocking = [condense, route, retrieve, merge, answer, reflect, follow_up, finish]
    other = {"retrieve": aretrieve, "answer": aanswer} if awaited else {}
    for step in blocking:
        graph.add_node(step.__name__, other.get(step.__name__, step))
    graph.add_edge(START, "condense")
    graph.add_edge("condense", "route")
    graph.add_conditional_edges("route", searches, ["retrieve"])
    graph.add_edge("retrieve", "merge")
    graph.add_edge("merge", "answer")
    graph.add_edge("answer", "reflect")
    graph.add_conditional_edges(
        "reflect",
        lambda state: "finish" if state["sufficient"] or state["rounds"] > 2 else "follow_up",
        ["finish", "follow_up"],
    )
    graph.add_conditional_edges("follow_up", searches, ["retrieve"])
    graph.add_edge("finish", END)
    return graph.compile(checkpointer=saver)


def two_nodes(chat: BaseChatModel, search: BaseRetriever, *, awaited: bool, saver: Any) -> Any:
    """A peer that does as little as it can."""

    def query(state: State) -> str:
        return state["queries"][0] if state.get("queries") else state["question"]

    def kept(state: State, found: list[Document]) -> State:
        return {"documents": state.get("documents", []) + found}

    def retrieve(state: State) -> State:
        return kept(state, search.invoke(query(state)))

    async def aretrieve(state: State) -> State:
        return kept(state, await search.ainvoke(query(state)))

    def counted(state: State, said: str) -> State:
        told = read(said)
        return {**told, "answer": told["draft"], "rounds": state.get("rounds", 0) + 1}

    def answer(state: State) -> State:
        return counted(state, chat.invoke(prompt(state)).text)

    async def aanswer(state: State) -> State:
        return counted(state, (await chat.ainvoke(prompt(state))).text)

    graph = StateGraph(State)
    graph.add_node("retrieve", aretrieve if awaited else retrieve)
    graph.add_node("answer", aanswer if awaited else answer)
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "answer")
    graph.add_conditional_edges(
        "answer",
        lambda state: END if state["sufficient"] or state["rounds"] > 2 else "retrieve",
        ["retrieve", END],
    )
    return graph.compile(checkpointer=saver)


PEERS = {"by hand, the same nodes": same_nodes, "by hand, two nodes": two_nodes}


def config() -> Any:
    return {"configurable": {"thread_id": uuid4().hex}}


def rows(quick: bool) -> Iterator[Row]:
    """One round and three, both colours, without and with a saver."""
    turns = 12 if quick else 200
    for rounds in (1, 3):
        for awaited in (False, True):
            for saved in (False, True):
                compare = acompared if awaited else compared
                with tempfile.TemporaryDirectory() as folder:
                    spent = compare(rounds, turns, folder if saved else None)
                told = f"{rounds} round{'s' * (rounds > 1)}{', SQLite' if saved else ''}"
                what = f"`{'a' * awaited}invoke`, {told}"
                for peer in PEERS:
                    yield Row(what, spent["ours"], "ms", peer, spent[peer])


def graphs(rounds: int, savers: Sequence[Any], *, awaited: bool) -> dict[str, Any]:
    chat, search = Chat(rounds=rounds), Search()
    made = {"ours": create_skr_graph(chat, search, checkpointer=savers[0])}
    for (name, make), saver in zip(PEERS.items(), savers[1:], strict=True):
        made[name] = make(chat, search, awaited=awaited, saver=saver)
    return made


def compared(rounds: int, turns: int, folder: str | None) -> dict[str, float]:
    """Milliseconds of a question by each, with blocking calls."""
    with ExitStack() as stack:
        savers: list[Any] = [None] * 3
        if folder is not None:
            opened = [SqliteSaver.from_conn_string(f"{folder}/{number}") for number in range(3)]
            savers = [stack.enter_context(each) for each in opened]
        made = graphs(rounds, savers, awaited=False)
        return measured(
            {name: partial(_asked, graph) for name, graph in made.items()},
            turns,
        )


def _asked(graph: Any) -> Any:
    return graph.invoke({"question": QUESTION}, config())


def acompared(rounds: int, turns: int, folder: str | None) -> dict[str, float]:
    """The same with awaited calls."""
    with asyncio.Runner() as runner:
        stack, savers = AsyncExitStack(), [None] * 3
        if folder is not None:
            opened = [AsyncSqliteSaver.from_conn_string(f"{folder}/{n}") for n in range(3)]
            savers = [runner.run(stack.enter_async_context(each)) for each in opened]
        made = graphs(rounds, savers, awaited=True)
        try:
            return measured(
                {name: partial(_awaited, runner, graph) for name, graph in made.items()}, turns
            )
        finally:
            runner.run(stack.aclose())


def _awaited(runner: asyncio.Runner, graph: Any) -> Any:
    return runner.run(graph.ainvoke({"question": QUESTION}, config()))


def measured(ways: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Milliseconds of each way."""
    if len({way()["answer"] for way in ways.values()}) > 1:
        raise RuntimeError("they do not answer alike")
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns + 10):
        for name, way in ways.items():
            started = time.process_time()
            way()
            spent[name] += [1_000 * (time.process_time() - started)] if turn >= 10 else []
    return {name: median(sorted(each)[: max(1, turns // 4)]) for name, each in spent.items()}
