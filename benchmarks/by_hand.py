"""Graphs as somebody would write them by hand, which `loop` stands beside."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict


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


def coroutine(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same step, awaited."""

    async def awaited(state: Any) -> Any:
        return step(state)

    return awaited


def same_nodes(
    chat: BaseChatModel,
    search: BaseRetriever,
    *,
    awaited: bool,
    saver: Any,
    of_plain: Callable[[Any], Any] = lambda step: step,
) -> Any:
    """A peer with the nodes that ours has; `of_plain` makes a node of a step that never waits."""

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
        graph.add_node(step.__name__, other.get(step.__name__) or of_plain(step))
    graph.add_edge(START, "condense")
    graph.add_edge("condense", "route")
    graph.add_conditional_edges("route", of_plain(searches), ["retrieve"])
    graph.add_edge("retrieve", "merge")
    graph.add_edge("merge", "answer")
    graph.add_edge("answer", "reflect")
    graph.add_conditional_edges(
        "reflect",
        of_plain(
            lambda state: "finish" if state["sufficient"] or state["rounds"] > 2 else "follow_up"
        ),
        ["finish", "follow_up"],
    )
    graph.add_conditional_edges("follow_up", of_plain(searches), ["retrieve"])
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
AWAITED = PEERS | {"by hand, coroutines alone": partial(same_nodes, of_plain=coroutine)}
