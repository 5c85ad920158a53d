"""Two retrievers by name, a postprocessor behind them, and HyDE in front, for an engine."""

import os

from llama_index.core import Document, SimpleKeywordTableIndex
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.query_engine import TransformQueryEngine

from llamaindex_skr import SKRQueryEngine


def index(*texts: str) -> SimpleKeywordTableIndex:
    documents = [Document(text=text) for text in texts]
    return SimpleKeywordTableIndex.from_documents(documents, llm=MockLLM())


films = index("Jaws was directed by Steven Spielberg.", "Jaws is a film of 1975.")
people = index("Steven Spielberg was born in Cincinnati, Ohio.")

engine = SKRQueryEngine.from_args(
    {"films": films, "people": people},
    llm=os.environ.get("SKR_MODEL", "extractive"),
    node_postprocessors=[LongContextReorder()],  # SentenceTransformerRerank, CohereRerank ...
)
# What HyDE makes up is embedded in place of the question, for indexes that embed; the follow-ups
# of the loop are searched by their own words.
hyde = TransformQueryEngine(engine, HyDEQueryTransform(llm=MockLLM()))

response = hyde.query("Where was the director of Jaws born?")
print(response)
for number, node in enumerate(response.source_nodes, start=1):
    print(f"  [{number}] {node.text} ({', '.join(node.metadata['found_by'])})")
