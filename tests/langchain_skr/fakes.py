"""What several tests of this folder ask and answer with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from skr_core import Decision
from skr_core.prompts import INSUFFICIENT, QUERY_LEAD, REFUSAL, SEARCH_LEAD, SUFFICIENT

QUESTION = "Where was the engineer of the lighthouse born?"
FURTHER = "Where was Ada Quill born?"
FOUND = {
    QUESTION: ["Ada Quill engineered the lighthouse.", "The lighthouse is white.", "It is tall."],
    FURTHER: ["Ada Quill was born in Port Elm.", "Port Elm is a town."],
}
ANSWER = "She was born in Port Elm [1]."


def model() -> FakeListChatModel:
    """Refuses, asks a further question, answers."""
    return FakeListChatModel(responses=[REFUSAL, f"{QUERY_LEAD}\n1. {FURTHER}", ANSWER])


def stating_model() -> FakeListChatModel:
    """Says it all in each reply, as it is asked to: a verdict, and a query or the answer."""
    return FakeListChatModel(
        responses=[f"{INSUFFICIENT}\n{SEARCH_LEAD} {FURTHER}", f"{SUFFICIENT}\n{ANSWER}"]
    )


class Library(BaseRetriever):
    """Finds the texts of `FOUND`; notes what it was asked."""

    asked: list[str] = Field(default_factory=list)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        self.asked.append(query)
        return [
            Document(text, id=f"own-{number}", metadata={"nested": {"is": "kept"}})
            for number, text in enumerate(FOUND.get(query, FOUND[QUESTION]))
        ]

    async def _aget_relevant_documents(  # type: ignore[override]
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self._get_relevant_documents(query, run_manager=run_manager)


class RouteByWord:
    """Retrieves unless the question holds a word the model is said to know."""

    def __init__(self, known: Sequence[str] = ("France",)) -> None:
        self.known = known

    def decide(self, question: str) -> Decision:
        return Decision(not any(word in question for word in self.known), reason="by its words")

    async def adecide(self, question: str) -> Decision:
        return self.decide(question)


class Agent(BaseChatModel):
    """Gives its replies in turn; notes what it was sent and which tools it was given."""

    replies: list[AIMessage]
    sent: list[list[BaseMessage]] = Field(default_factory=list)
    tools: list[str] = Field(default_factory=list)
    choices: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "agent"

    def bind_tools(self, tools: Any, *, tool_choice: Any = None, **kwargs: Any) -> Any:
        self.tools.append(",".join(sorted(tool.name for tool in tools)))
        self.choices.append(tool_choice)
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.sent.append(messages)
        reply = self.replies[min(len(self.sent), len(self.replies)) - 1]
        return ChatResult(generations=[ChatGeneration(message=reply.model_copy(deep=True))])

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages)
