"""The graph inside a graph of one's own: as a node where keys are shared, or called by a node."""

import os

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from langchain_skr import create_skr_graph
from skr_core.testing import MappingRetriever

skr = create_skr_graph(
    os.environ.get("SKR_MODEL", "extractive"),
    MappingRetriever({"How tall is the lighthouse?": ["The lighthouse is 31 metres tall."]}),
)


class Shared(TypedDict, total=False):
    """`question` and `answer` are keys of the inner graph too; `shouted` is not."""

    question: str
    answer: str
    shouted: str


builder = StateGraph(Shared)
builder.add_node("ask", skr)
builder.add_node("shout", lambda state: {"shouted": state["answer"].upper()})
builder.add_edge(START, "ask")
builder.add_edge("ask", "shout")
builder.add_edge("shout", END)
print(builder.compile().invoke({"question": "How tall is the lighthouse?"})["shouted"])


class Apart(TypedDict, total=False):
    """Shares no key, so a node translates."""

    asked: str
    replied: str


builder = StateGraph(Apart)
builder.add_node(
    "ask", lambda state: {"replied": skr.invoke({"question": state["asked"]})["answer"]}
)
builder.add_edge(START, "ask")
builder.add_edge("ask", END)
print(builder.compile().invoke({"asked": "How tall is the lighthouse?"})["replied"])
