"""A retriever that stays silent when the model knows, and completes itself when it does not."""

import os

from llama_index.core import Document, SimpleKeywordTableIndex
from llama_index.core.llms import MockLLM

from llamaindex_skr import SKRRetriever
from skr_core.routers import NeverRetrieve

documents = [
    Document(text="Jaws was directed by Steven Spielberg."),
    Document(text="Steven Spielberg was born in Cincinnati, Ohio."),
    Document(text="Paris is the capital of France."),
]
index = SimpleKeywordTableIndex.from_documents(documents, llm=MockLLM())
retriever = index.as_retriever(num_chunks_per_query=1)
question = "Where was the director of Jaws born?"

once = SKRRetriever(retriever)
until_it_suffices = SKRRetriever(retriever, llm=os.environ.get("SKR_MODEL", "extractive"), k=5)
known = SKRRetriever(retriever, router=NeverRetrieve())

print("once:             ", [node.text for node in once.retrieve(question)])
print("until it suffices:", [node.text for node in until_it_suffices.retrieve(question)])
print("known:            ", [node.text for node in known.retrieve(question)])
