"""A thread that remembers: a question that points back is searched as it is meant."""

from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from langchain_skr import create_skr_graph

graph = create_skr_graph(
    FakeListChatModel(
        responses=[
            "SUFFICIENT\nAda Quill designed it [1].",
            "Where was Ada Quill born?",  # what "she" means: asked before the search
            "SUFFICIENT\nIn Port Elm [1].",
        ]
    ),
    RunnableLambda(lambda query: [Document(f"What is known of: {query}")]),
    checkpointer=InMemorySaver(),
)
thread: Any = {"configurable": {"thread_id": "1"}}

graph.invoke({"question": "Who designed the lighthouse of Marrow Bay?"}, thread)
output = graph.invoke({"question": "And where was she born?"}, thread)
print("searched:", output["rounds"][0]["queries"])
for message in output["messages"]:
    print(f"{message.type}: {message.text}")
