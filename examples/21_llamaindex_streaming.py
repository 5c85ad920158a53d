"""The final answer's tokens as they are made, and the sources when the stream has ended."""

import asyncio
import os

from llama_index.core import Document, SimpleKeywordTableIndex
from llama_index.core.llms import MockLLM

from llamaindex_skr import SKRQueryEngine

documents = [
    Document(text="Jaws was directed by Steven Spielberg."),
    Document(text="Steven Spielberg was born in Cincinnati, Ohio."),
    Document(text="Paris is the capital of France."),
]
index = SimpleKeywordTableIndex.from_documents(documents, llm=MockLLM())
engine = SKRQueryEngine.from_defaults(
    index, llm=os.environ.get("SKR_MODEL", "extractive"), streaming=True
)

response = engine.query("Who directed Jaws?")
for token in response.response_gen:
    print(token, end="", flush=True)
print(f"   ({response.metadata['stop_reason']}, {len(response.source_nodes)} source)")


async def main() -> None:
    response = await engine.aquery("What is the capital of France?")
    async for token in response.async_response_gen():
        print(token, end="", flush=True)
    print(f"   ({response.metadata['stop_reason']}, {len(response.source_nodes)} source)")


asyncio.run(main())
