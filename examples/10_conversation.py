"""A thread that remembers: a question that points back is searched as it is meant."""

import os
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from langchain_skr import create_skr_graph

scripted = FakeListChatModel(
    responses=[
        "SUFFICIENT\nAda Quill designed it [1].",
        "Where was Ada Quill born?",  # what "she" means: asked before the search
        "SUFFICIENT\nIn Port Elm [2].",
    ]
)
passages = [
    Document("Ada Quill designed the lighthouse of Marrow Bay."),
    Document("Ada Quill was born in Port Elm."),
]
graph = create_skr_graph(
    os.environ.get("SKR_MODEL") or scripted,
    RunnableLambda(lambda query: passages),
    checkpointer=InMemorySaver(),
)
thread: Any = {"configurable": {"thread_id": "1"}}

graph.invoke({"question": "Who designed the lighthouse of Marrow Bay?"}, thread)
output = graph.invoke({"question": "And where was she born?"}, thread)
print("searched:", output["rounds"][0]["queries"])
for message in output["messages"]:
    print(f"{message.type}: {message.text}")
