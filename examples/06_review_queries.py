"""A person sees the queries before they are searched, and may change them."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langchain_skr import create_skr_graph
from skr_core.testing import MappingRetriever

graph = create_skr_graph(
    "extractive",
    MappingRetriever({"height of the lighthouse": ["The lighthouse is 31 metres tall."]}),
    review_queries=True,
    checkpointer=InMemorySaver(),
)
thread = {"configurable": {"thread_id": "1"}}

state = graph.invoke({"question": "How tall is the lighthouse?"}, thread)
(request,) = state["__interrupt__"]
print(f"round {request.value['round']} would search:", request.value["queries"])

state = graph.invoke(Command(resume=["height of the lighthouse"]), thread)
print(state["answer"])
