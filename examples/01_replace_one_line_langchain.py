"""One line changes: a chain that retrieves until the references suffice."""

import os

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_skr import create_skr_chain

store = InMemoryVectorStore.from_texts(
    [
        "The lighthouse of Marrow Bay was designed by Ada Quill.",
        "Ada Quill was born in Port Elm.",
    ],
    DeterministicFakeEmbedding(size=16),
)

# Before: chain = store.as_retriever() | prompt | model | StrOutputParser()
# "extractive" is a model without weights; put any chat model, or "openai:gpt-4.1-mini", here.
chain = create_skr_chain(os.environ.get("SKR_MODEL", "extractive"), store)

print(chain.invoke("Where was Ada Quill born?"))
