"""An adaptive-RAG graph, as LangGraph's tutorial of that name builds one, over one source.

It routes the question, retrieves, grades each document, answers, and grades whether the answer is
grounded and whether it answers; where no document is relevant or the answer does not answer, the
query is rewritten and searched again. The words are of our own and as brief as the tutorial's. The
tutorial rewrites for ever; here a question has at most three searches, like one of ours, and the
last answer is given. What is graded and answered is the question as it was asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

SEARCHES = 3
WORDS = {
    "route": (
        "You decide where a user's question is looked up. The vectorstore holds passages of an "
        "encyclopedia; use it for questions about people, places, works and events. Otherwise "
        "answer without it. Reply with one word, vectorstore or none.\n\nQuestion: {question}"
    ),
    "grade": (
        "You grade whether a retrieved document is relevant to a user's question. If it holds "
        "keywords or a meaning that has to do with the question, it is relevant. The test need not "
        "be strict: the aim is to leave out what was retrieved by mistake. Reply with one word, "
        "yes or no.\n\nRetrieved document:\n\n{documents}\n\nQuestion: {question}"
    ),
    "answer": (
        "You answer questions. Use the retrieved context that follows. If you do not know the "
        "answer, say that you do not know. Use three sentences at most and be concise.\n\n"
        "Context:\n\n{documents}\n\nQuestion: {question}"
    ),
    "grounded": (
        "You grade whether an answer is grounded in a set of facts. Reply with one word: yes, if "
        "the facts support it, or no.\n\nFacts:\n\n{documents}\n\nAnswer: {answer}"
    ),
    "answers": (
        "You grade whether an answer addresses and resolves a question. Reply with one word: yes, "
        "if it resolves the question, or no.\n\nAnswer: {answer}\n\nQuestion: {question}"
    ),
    "rewrite": (
        "You rewrite a question so that it is better for searching a vectorstore. Look at it and "
        "reason about what is meant by it. Reply with the better question alone.\n\n"
        "Question: {question}"
    ),
}


class State(TypedDict, total=False):
    """What the nodes pass on."""

    question: str
    query: str
    documents: list[str]
    answer: str
    searches: int


def create_adaptive_rag(ask: Callable[[str], str], search: Callable[[str], list[str]]) -> Any:
    """The compiled graph.

    Args:
        ask: From a prompt to the model's reply.
        search: From a query to documents.
    """

    def told(kind: str, **parts: str) -> str:
        return ask(WORDS[kind].format(**parts)).strip()

    def says_yes(kind: str, **parts: str) -> bool:
        return told(kind, **parts).lower().startswith("yes")

    def route(state: State) -> str:
        where = told("route", question=state["question"])
        return "retrieve" if where == "vectorstore" else "generate"

    def retrieve(state: State) -> State:
        query = state.get("query") or state["question"]
        return {"documents": search(query), "searches": state.get("searches", 0) + 1}

    def grade(state: State) -> State:
        asked = state["question"]
        kept = [
            each for each in state["documents"] if says_yes("grade", documents=each, question=asked)
        ]
        return {"documents": kept}

    def after_grading(state: State) -> str:
        last = state["searches"] >= SEARCHES
        return "generate" if state["documents"] or last else "rewrite"

    def generate(state: State) -> State:
        shown = "\n\n".join(state.get("documents", []))
        return {"answer": told("answer", documents=shown, question=state["question"])}

    def after_answering(state: State) -> str:
        shown, answer = "\n\n".join(state.get("documents", [])), state["answer"]
        grounded = says_yes("grounded", documents=shown, answer=answer)
        good = grounded and says_yes("answers", answer=answer, question=state["question"])
        return END if good or state.get("searches", 0) >= SEARCHES else "rewrite"

    def rewrite(state: State) -> State:
        return {"query": told("rewrite", question=state.get("query") or state["question"])}

    graph = StateGraph(State)
    for node in (retrieve, grade, generate, rewrite):
        graph.add_node(node.__name__, node)
    graph.add_conditional_edges(START, route, ["retrieve", "generate"])
    graph.add_edge("retrieve", "grade")
    graph.add_conditional_edges("grade", after_grading, ["generate", "rewrite"])
    graph.add_conditional_edges("generate", after_answering, [END, "rewrite"])
    graph.add_edge("rewrite", "retrieve")
    return graph.compile()
