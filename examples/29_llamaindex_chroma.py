"""Many questions side by side over a Chroma collection."""

import asyncio
import os

import chromadb
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.vector_stores.chroma import ChromaVectorStore

from llamaindex_skr import SKRQueryEngine

documents = [
    Document(text="Jaws was directed by Steven Spielberg."),
    Document(text="Steven Spielberg was born in Cincinnati, Ohio."),
    Document(text="Paris is the capital of France."),
]
collection = chromadb.EphemeralClient().create_collection("films", embedding_function=None)
index = VectorStoreIndex.from_documents(
    documents,
    storage_context=StorageContext.from_defaults(
        vector_store=ChromaVectorStore(chroma_collection=collection)
    ),
    embed_model=MockEmbedding(embed_dim=8),  # put your embedding model here
)
engine = SKRQueryEngine.from_defaults(
    index.as_retriever(similarity_top_k=3), llm=os.environ.get("SKR_MODEL", "extractive")
)


async def main() -> None:
    questions = ["Who directed Jaws?", "What is the capital of France?"]
    for answer in await asyncio.gather(*map(engine.aquery, questions)):
        print(answer)


asyncio.run(main())
