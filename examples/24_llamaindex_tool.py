"""The engine as a tool, whose output keeps the sources and the course of the loop."""

import os

from llama_index.core import Document, SimpleKeywordTableIndex
from llama_index.core.llms import MockLLM
from llama_index.core.tools import QueryEngineTool

from llamaindex_skr import SKRQueryEngine

documents = [
    Document(text="Jaws was directed by Steven Spielberg."),
    Document(text="Steven Spielberg was born in Cincinnati, Ohio."),
    Document(text="Paris is the capital of France."),
]
index = SimpleKeywordTableIndex.from_documents(documents, llm=MockLLM())
engine = SKRQueryEngine.from_defaults(index, llm=os.environ.get("SKR_MODEL", "extractive"))
tool = QueryEngineTool.from_defaults(engine, name="films", description="Answers about films.")

output = tool.call("Who directed Jaws?")
print(output.tool_name, "->", output.content)
print("stopped:", output.raw_output.metadata["stop_reason"])
