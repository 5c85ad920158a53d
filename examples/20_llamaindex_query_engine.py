"""A query engine that retrieves until the references suffice, over any LlamaIndex index."""

import os

from llama_index.core import Document, SimpleKeywordTableIndex
from llama_index.core.llms import MockLLM

from llamaindex_skr import SKRQueryEngine
from skr_core.testing import ScriptedModel

documents = [
    Document(text="Jaws was directed by Steven Spielberg."),
    Document(text="Steven Spielberg was born in Cincinnati, Ohio."),
    Document(text="Paris is the capital of France."),
]
index = SimpleKeywordTableIndex.from_documents(documents, llm=MockLLM())

# A model whose replies are written here; put any LlamaIndex LLM, or "openai:gpt-4.1-mini", there.
scripted = ScriptedModel(
    [
        "INSUFFICIENT\nSteven Spielberg directed it [1].\nSearch: Steven Spielberg born",
        "SUFFICIENT\nIn Cincinnati, Ohio [2], as Steven Spielberg, who directed it [1].",
    ]
)
llm = os.environ.get("SKR_MODEL") or scripted

# Before: engine = index.as_query_engine(llm=llm)
retriever = index.as_retriever(num_chunks_per_query=1)
engine = SKRQueryEngine.from_defaults(retriever, llm=llm)

response = engine.query("Where was the man who directed Jaws born?")
print(response)
for number, node in enumerate(response.source_nodes, start=1):
    print(f"  [{number}] {node.text}")
for round_ in response.metadata["rounds"]:
    print("searched:", ", ".join(round_["queries"]))
print("stopped:", response.metadata["stop_reason"])
