"""The whole loop as one tool of an agent; the artifact holds how the answer came about."""

import os
from typing import Any

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableLambda

from langchain_skr import create_skr_tool
from skr_graphs import answer_of


class Scripted(FakeMessagesListChatModel):
    """Stands for a chat model that calls tools."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


question = "How tall is the lighthouse?"
call = {"name": "ask_the_library", "args": {"question": question}, "id": "1"}
replies = [AIMessage("", tool_calls=[call]), AIMessage("It is 31 metres tall.")]
agent = create_agent(
    os.environ.get("SKR_MODEL") or Scripted(responses=replies),
    tools=[
        create_skr_tool(
            os.environ.get("SKR_MODEL", "extractive"),
            RunnableLambda(lambda query: [Document("The lighthouse is 31 metres tall.")]),
            name="ask_the_library",
            description="Answers questions about the lighthouse, with citations.",
        )
    ],
)

messages = agent.invoke({"messages": [("user", question)]})["messages"]
for told in messages:
    print(f"{told.type}: {told.text}")
    if isinstance(told, ToolMessage):
        answer = answer_of(told.artifact)
        print("  stopped:", answer.stop_reason, "after", len(answer.rounds), "round")
