"""A person sees the queries before they are searched, and may change them.

`langgraph dev` serves the graph too: see langgraph.json.
"""

import os
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Checkpointer, Command

from langchain_skr import create_skr_graph
from skr_core.testing import MappingRetriever
from skr_graphs import CompiledGraph


def make_graph(checkpointer: Checkpointer = None) -> CompiledGraph:
    return create_skr_graph(
        os.environ.get("SKR_MODEL", "extractive"),  # such as openai:gpt-4.1-mini
        MappingRetriever({"height of the lighthouse": ["The lighthouse is 31 metres tall."]}),
        review_queries=True,
        checkpointer=checkpointer,
    )


graph = make_graph()  # a server brings a checkpointer of its own

if __name__ == "__main__":
    graph = make_graph(InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}

    state = graph.invoke({"question": "How tall is the lighthouse?"}, thread)
    (request,) = state["__interrupt__"]
    print(f"round {request.value['round']} would search:", request.value["queries"])

    state = graph.invoke(Command(resume=["height of the lighthouse"]), thread)
    print(state["answer"])
