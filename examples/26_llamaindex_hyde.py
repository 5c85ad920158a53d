"""HyDE in front of the loop: the first search is for an answer that a model makes up."""

import os

from llama_index.core import Document, SimpleKeywordTableIndex
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import TransformQueryEngine

from llamaindex_skr import SKRQueryEngine

documents = [
    Document(text="Jaws was directed by Steven Spielberg."),
    Document(text="Steven Spielberg was born in Cincinnati, Ohio."),
    Document(text="Paris is the capital of France."),
]
index = SimpleKeywordTableIndex.from_documents(documents, llm=MockLLM())
engine = SKRQueryEngine.from_defaults(index, llm=os.environ.get("SKR_MODEL", "extractive"))
# What HyDE makes up is embedded in place of the question, for indexes that embed; the follow-ups
# of the loop are searched by their own words.
hyde = TransformQueryEngine(engine, HyDEQueryTransform(llm=MockLLM()))

response = hyde.query("Who directed Jaws?")
print(response)
for number, node in enumerate(response.source_nodes, start=1):
    print(f"  [{number}] {node.text}")
