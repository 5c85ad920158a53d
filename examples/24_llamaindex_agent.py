"""An agent with the engine among its tools; its model is scripted, so that this runs anywhere."""

import asyncio
import os

from llama_index.core import Document, SimpleKeywordTableIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM

from llamaindex_skr import SKRQueryEngine, create_skr_tool

documents = [
    Document(text="Jaws was directed by Steven Spielberg."),
    Document(text="Steven Spielberg was born in Cincinnati, Ohio."),
    Document(text="Paris is the capital of France."),
]
index = SimpleKeywordTableIndex.from_documents(documents, llm=MockLLM())
engine = SKRQueryEngine.from_defaults(index, llm=os.environ.get("SKR_MODEL", "extractive"))


def scripted(messages: list[ChatMessage], **_: object) -> ChatMessage:
    """Call the tool with what the user said, then pass on what it answered."""
    last = messages[-1]
    if last.role == MessageRole.TOOL:
        return ChatMessage(f"I looked it up: {last.content}", role=MessageRole.ASSISTANT)
    call = ToolCallBlock(
        tool_call_id="call-1", tool_name="films", tool_kwargs={"input": last.content}
    )
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=[call])


async def main() -> None:
    agent = FunctionAgent(
        tools=[create_skr_tool(engine, name="films", description="About films.")],
        llm=MockFunctionCallingLLM(response_generator=scripted),
    )
    print(await agent.run("Who directed Jaws?"))


asyncio.run(main())
