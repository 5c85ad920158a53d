"""What ours stands beside: LlamaIndex's engines, agents in words, and graphs written by hand.

LlamaIndex's engines have their own words and defaults. The adaptive-RAG graph is built as
LangGraph's tutorial of that name builds one, over one source: it routes the question, retrieves,
grades each document, answers, and grades whether the answer is grounded and whether it answers;
where no document is relevant or the answer does not answer, the query is rewritten and searched
again. The words are of our own and as brief as the tutorial's. The tutorial rewrites for ever; here
a question has at most three searches, like one of ours, and the last answer is given. What is
graded and answered is the question as it was asked. The ReAct loop goes the way of FrugalRAG's
prompted baseline, without its training. The graphs by hand are as somebody would write them who
needs no more.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever as DocumentRetriever
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.query.query_transform import StepDecomposeQueryTransform
from llama_index.core.llms import LLM
from llama_index.core.query_engine import (
    MultiStepQueryEngine,
    RetrieverQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.tools import QueryEngineTool
from typing_extensions import TypedDict


def peers(llm: LLM, retriever: BaseRetriever, about: str) -> dict[str, BaseQueryEngine]:
    """Each engine by its name: one that searches once, and two for questions of several hops.

    Args:
        llm: The model of all.
        retriever: What all search with.
        about: What the passages tell, for the engines whose prompts say it.
    """
    # Not awaited, and with the model of all in the place of `Settings.llm`.
    synthesizer = get_response_synthesizer(llm=llm)
    plain = RetrieverQueryEngine.from_args(retriever, llm=llm)
    return {
        "RetrieverQueryEngine": plain,
        "SubQuestionQueryEngine": SubQuestionQueryEngine.from_defaults(
            [QueryEngineTool.from_defaults(plain, name="library", description=about)],
            llm=llm,
            question_gen=LLMQuestionGenerator.from_defaults(llm),
            response_synthesizer=synthesizer,
            use_async=False,
            verbose=False,
        ),
        "MultiStepQueryEngine": MultiStepQueryEngine(
            plain,
            StepDecomposeQueryTransform(llm),
            response_synthesizer=synthesizer,
            index_summary=about,
        ),
    }


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


class RagState(TypedDict, total=False):
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

    def route(state: RagState) -> str:
        where = told("route", question=state["question"])
        return "retrieve" if where == "vectorstore" else "generate"

    def retrieve(state: RagState) -> RagState:
        query = state.get("query") or state["question"]
        return {"documents": search(query), "searches": state.get("searches", 0) + 1}

    def grade(state: RagState) -> RagState:
        asked = state["question"]
        kept = [
            each for each in state["documents"] if says_yes("grade", documents=each, question=asked)
        ]
        return {"documents": kept}

    def after_grading(state: RagState) -> str:
        last = state["searches"] >= SEARCHES
        return "generate" if state["documents"] or last else "rewrite"

    def generate(state: RagState) -> RagState:
        shown = "\n\n".join(state.get("documents", []))
        return {"answer": told("answer", documents=shown, question=state["question"])}

    def after_answering(state: RagState) -> str:
        shown, answer = "\n\n".join(state.get("documents", [])), state["answer"]
        grounded = says_yes("grounded", documents=shown, answer=answer)
        good = grounded and says_yes("answers", answer=answer, question=state["question"])
        return END if good or state.get("searches", 0) >= SEARCHES else "rewrite"

    def rewrite(state: RagState) -> RagState:
        return {"query": told("rewrite", question=state.get("query") or state["question"])}

    graph = StateGraph(RagState)
    for node in (retrieve, grade, generate, rewrite):
        graph.add_node(node.__name__, node)
    graph.add_conditional_edges(START, route, ["retrieve", "generate"])
    graph.add_edge("retrieve", "grade")
    graph.add_conditional_edges("grade", after_grading, ["generate", "rewrite"])
    graph.add_conditional_edges("generate", after_answering, [END, "rewrite"])
    graph.add_edge("rewrite", "retrieve")
    return graph.compile()


FRUGAL_STEPS = 10
FRUGAL_STEP = """\
You are given a question and a trajectory of the steps taken so far. Gather what is needed to \
answer the question, with as few steps as it takes. Reply with the next step in three lines:

Thought: what is known so far, and what is still needed
Tool: search or finish
Arguments: a JSON object: {{"query": "..."}} for search, which finds passages; {{}} for finish, \
which says that all that is needed to answer the question has been found

{question}

Trajectory:
{trajectory}"""
FRUGAL_ANSWER = """\
You are given a question and the trajectory of the steps taken to gather what is needed for it. \
Reason briefly, then answer the question.

Trajectory:
{trajectory}

{question}"""


def frugal_react(
    question: str,
    ask: Callable[[str], str],
    search: Callable[[str, set[str]], list[str]],
    history: Sequence[str] = (),
) -> str:
    """Answer as FrugalRAG's prompted loop does (arXiv 2507.07634): think, then search or finish.

    The question itself is searched before the model is first asked. Each step is one call, which
    sees the whole trajectory; no passage is shown twice; after the end, or ten steps, one more call
    writes the answer. The words are of our own. The paper knows no conversations: here the turns
    stand before the question.

    Args:
        question: The question, as the user asked it.
        ask: From a prompt to the model's reply.
        search: From a query, and the passages that were shown already, to others.
        history: The turns before the question, user and assistant in turn.
    """
    seen: set[str] = set()
    roles = ("User", "Assistant")
    turns = [f"{roles[place % 2]}: {turn}" for place, turn in enumerate(history)]
    asked = "\n".join([*turns, f"Question: {question}"])
    steps: list[str] = []

    def searched(thought: str, query: str) -> None:
        found = search(query, seen)
        seen.update(found)
        told = json.dumps({"query": query}, ensure_ascii=False)
        shown = "\n\n".join(found) or "nothing that was not shown before"
        steps.append(f"Thought: {thought}\nTool: search\nArguments: {told}\nObservation:\n{shown}")

    searched("I begin with the question itself.", question)
    for _ in range(FRUGAL_STEPS):
        said = ask(FRUGAL_STEP.format(question=asked, trajectory="\n\n".join(steps)))
        thought, tool, arguments = (
            re.findall(rf"^{label}: (.*)$", said, re.MULTILINE)[0]
            for label in ("Thought", "Tool", "Arguments")
        )
        if tool == "finish":
            break
        searched(thought, json.loads(arguments)["query"])
    return ask(FRUGAL_ANSWER.format(question=asked, trajectory="\n\n".join(steps)))


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


HAND_PROMPT = (
    "Answer from the references and cite them as [n]. Begin with SUFFICIENT or INSUFFICIENT; in "
    "the latter case name a query behind 'Search:'.\n\n{references}\n\nQuestion: {question}"
)


def prompt(state: State) -> str:
    shown = [f"[{n}] {each.page_content}" for n, each in enumerate(state["documents"], start=1)]
    return HAND_PROMPT.format(references="\n\n".join(shown), question=state["question"])


def read(said: str) -> State:
    verdict, _, rest = said.partition("\n")
    draft, _, query = rest.partition("\nSearch: ")
    sufficient = verdict == "SUFFICIENT"
    return {"draft": draft, "sufficient": sufficient, "queries": [query] if query else []}


def coroutine(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The step as a coroutine."""

    async def awaited(state: Any) -> Any:
        return step(state)

    return awaited


def same_nodes(
    chat: BaseChatModel,
    search: DocumentRetriever,
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


def two_nodes(chat: BaseChatModel, search: DocumentRetriever, *, awaited: bool, saver: Any) -> Any:
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
