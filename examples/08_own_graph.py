"""A graph made by hand of this project's nodes; `langgraph dev` serves it, see langgraph.json."""

import operator
import os
from typing import Annotated, Any

from langchain.chat_models import init_chat_model
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict  # not typing's: before Python 3.12 that has no schema

from skr_core.routers import AlwaysRetrieve
from skr_graphs import StateKeys, create_follow_up_node, create_reflect_node, create_route_node

# Yours: a chat model and a vector store.
replies = ["I don't know.", "Ada Quill", "She was born in Port Elm [2]."]
named = os.environ.get("SKR_MODEL")
model = init_chat_model(named) if named else FakeListChatModel(responses=replies)
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
    found = map(store.similarity_search, state.get("queries") or [state["question"]])
    return {"documents": [document for each in found for document in each]}


def answer(state: State) -> State:
    found = [f"[{n}] {each.page_content}" for n, each in enumerate(state.get("documents", []), 1)]
    reply = model.invoke("\n".join([*found, f"Answer and cite as [n]: {state['question']}"]))
    return {"answer": reply.text}


def after_route(state: State) -> str:
    return "retrieve" if state["decision"]["retrieve"] else "answer"


def after_reflect(state: State) -> str:
    enough = state["reflection"]["sufficient"] or not state["decision"]["retrieve"]
    return END if enough or len(state.get("asked", [])) > 4 else "follow_up"


def after_follow_up(state: State) -> str:
    return "retrieve" if state["queries"] else END


builder = StateGraph(State)
builder.add_node("route", create_route_node(AlwaysRetrieve(), keys=keys))  # or a saved one's file
builder.add_node("retrieve", retrieve)
builder.add_node("answer", answer)
builder.add_node("reflect", create_reflect_node(keys=keys))
builder.add_node("follow_up", create_follow_up_node(model, keys=keys))
builder.add_edge(START, "route")
builder.add_conditional_edges("route", after_route, ["retrieve", "answer"])
builder.add_edge("retrieve", "answer")
builder.add_edge("answer", "reflect")
builder.add_conditional_edges("reflect", after_reflect, ["follow_up", END])
builder.add_conditional_edges("follow_up", after_follow_up, ["retrieve", END])
graph = builder.compile()

if __name__ == "__main__":
    state = graph.invoke({"question": "Where was the lighthouse's designer born?"})
    print(state["asked"], state["answer"], state["reflection"]["reason"], sep="\n")
