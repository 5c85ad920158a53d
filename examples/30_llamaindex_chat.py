"""A chat engine on the same graph; what a message leans on is read off the turns before it."""

import os

from llama_index.core import Document, SimpleKeywordTableIndex
from llama_index.core.llms import MockLLM

from llamaindex_skr import SKRChatEngine

documents = [
    Document(text="Jaws was directed by Steven Spielberg."),
    Document(text="Steven Spielberg was born in Cincinnati, Ohio."),
]
index = SimpleKeywordTableIndex.from_documents(documents, llm=MockLLM())
chat = SKRChatEngine.from_defaults(index, llm=os.environ.get("SKR_MODEL", "extractive"))

for message in ("Who directed Jaws?", "Where was Steven Spielberg born?"):
    response = chat.stream_chat(message)
    print("user:", message)
    print("assistant: ", end="")
    response.print_response_stream()
    print("\n  grounded:", response.metadata["grounded"])
print(len(chat.chat_history), "messages are remembered")
