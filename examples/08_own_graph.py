"""A graph made by hand of this project's nodes; `langgraph dev` serves it, see langgraph.json."""

import operator
from typing import Annotated, Any

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict  # not typing's: before Python 3.12 that has no schema

from skr_core.routers import AlwaysRetrieve
from skr_graphs import (
    StateKeys,
    create_follow_up_node,
    create_reflect_node,
    create_route_node,
)

# Yours: a chat model and a vector store.
model = FakeListChatModel(responses=["I don't know.", "Ada Quill", "She was born in Port Elm [2]."])
store = InMemoryVectorStore.from_texts(
    ["Ada Quill designed the lighthouse.", "Ada Quill was born in Port Elm."],
    DeterministicFakeEmbedding(size=16),
)
keys = StateKeys(references="documents")  # the other keys are called as the nodes call them


class State(TypedDict, total=False):
    question: str
    decision: dict[str, Any]
    queries: list[str]
    asked: list[str]
    documents: Annotated[list[Document], operator.add]
    answer: str
    reflection: dict[str, Any]


def retrieve(state: State) -> State:
    queries = state.get("queries") or [state["question"]]
    return {"documents": [found for query in queries for found in store.similarity_search(query)]}


def answer(state: State) -> State:
    passages = [found.page_content for found in state.get("documents", [])]
    numbered = "\n".join(f"[{number}] {text}" for number, text in enumerate(passages, start=1))
    reply = model.invoke(f"{numbered}\n\nAnswer and cite as [n]: {state['question']}")
    return {"answer": reply.text}


def after_route(state: State) -> str:
    return "retrieve" if state["decision"]["retrieve"] else "answer"


def after_answer(state: State) -> str:
    return "reflect" if state["decision"]["retrieve"] else END


def after_reflect(state: State) -> str:
    enough = state["reflection"]["sufficient"] or len(state.get("asked", [])) > 4
    return END if enough else "follow_up"


def after_follow_up(state: State) -> str:
    return "retrieve" if state["queries"] else END


builder = StateGraph(State)
builder.add_node("route", create_route_node(AlwaysRetrieve(), keys=keys))  # or a saved one's folder
builder.add_node("retrieve", retrieve)
builder.add_node("answer", answer)
builder.add_node("reflect", create_reflect_node(keys=keys))
builder.add_node("follow_up", create_follow_up_node(model, keys=keys))
builder.add_edge(START, "route")
builder.add_conditional_edges("route", after_route, ["retrieve", "answer"])
builder.add_edge("retrieve", "answer")
builder.add_conditional_edges("answer", after_answer, ["reflect", END])
builder.add_conditional_edges("reflect", after_reflect, ["follow_up", END])
builder.add_conditional_edges("follow_up", after_follow_up, ["retrieve", END])
graph = builder.compile()

if __name__ == "__main__":
    state = graph.invoke({"question": "Where was the lighthouse's designer born?"})
    print(state["asked"], state["answer"], state["reflection"]["reason"], sep="\n")
