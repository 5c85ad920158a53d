"""The loop's own time, beside a LangGraph graph written by hand that makes the same calls.

The peer has the same nodes, plain functions of a few lines each: it takes the verdict from the
first line, and cites what stands in brackets. Model and retriever are LangChain's base classes and
reply at once, so that what is measured is what stands around them. Both are asked in turn, in one
process; seconds are those of the processor, and the quicker quarter of the turns counts, because
whatever else the machine does only adds to them.

Usage: python -m benchmarks.loop [--turns 200] [--rounds 1 3]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import operator
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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


def by_hand(chat: BaseChatModel, search: BaseRetriever, *, awaited: bool, saver: Any) -> Any:
    """The peer."""

    def prompt(state: State) -> str:
        shown = [f"[{n}] {each.page_content}" for n, each in enumerate(state["documents"], start=1)]
        return PROMPT.format(references="\n\n".join(shown), question=state["question"])

    def read(said: str) -> State:
        verdict, _, rest = said.partition("\n")
        draft, _, query = rest.partition("\nSearch: ")
        sufficient = verdict == "SUFFICIENT"
        return {"draft": draft, "sufficient": sufficient, "queries": [query] if query else []}

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


def config() -> Any:
    return {"configurable": {"thread_id": uuid4().hex}}


def measured(ways: Sequence[Callable[[], Any]], turns: int) -> list[float]:
    """Milliseconds of each way."""
    spent: list[list[float]] = [[] for _ in ways]
    for turn in range(turns + 10):
        for way, seconds in zip(ways, spent, strict=True):
            started = time.process_time()
            way()
            if turn >= 10:
                seconds.append(1_000 * (time.process_time() - started))
    return [median(sorted(each)[: max(1, turns // 4)]) for each in spent]


def compared(rounds: int, turns: int, *, awaited: bool, saved: bool) -> dict[str, Any]:
    chat, search = Chat(rounds=rounds), Search()
    savers = [InMemorySaver() if saved else None for _ in range(2)]
    peer = by_hand(chat, search, awaited=awaited, saver=savers[0])
    ours = create_skr_graph(chat, search, checkpointer=savers[1])
    asked = {"question": QUESTION}
    with asyncio.Runner() as runner:

        def way(graph: Any) -> Callable[[], Any]:
            if awaited:
                return lambda: runner.run(graph.ainvoke(asked, config()))
            return lambda: graph.invoke(asked, config())

        if way(peer)()["answer"] != way(ours)()["answer"]:
            sys.exit("the two do not answer alike")
        by_peer, by_us = measured([way(peer), way(ours)], turns)
    return {
        "rounds": rounds,
        "colour": "async" if awaited else "sync",
        "saver": saved,
        "peer_ms": round(by_peer, 2),
        "ours_ms": round(by_us, 2),
        "ratio": round(by_us / by_peer, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=200, help="questions to each")
    parser.add_argument("--rounds", type=int, nargs="+", default=[1, 3], help="of retrieval")
    options = parser.parse_args()
    for rounds in options.rounds:
        for awaited in (False, True):
            for saved in (False, True):
                found = compared(rounds, options.turns, awaited=awaited, saved=saved)
                print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
