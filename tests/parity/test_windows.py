"""No prompt is longer than the window that a framework's model declares, whatever stands in it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms import MockLLM
from pydantic import Field

from langchain_skr import SKRMiddleware, as_language_model, create_skr_chain
from llamaindex_skr import SKRChatEngine, SKRQueryEngine
from llamaindex_skr import as_language_model as as_llama_model
from skr_core import Budget, Demonstration, Reference
from skr_core.budget import count_tokens
from skr_core.models.limited import Spending
from skr_core.models.windows import Window, history_tokens_for, tokens_for, window_of
from skr_core.prompts import INSUFFICIENT, QUERY_LEAD, REFUSAL, SEARCH_LEAD
from skr_core.testing import ScriptedModel

WINDOW = 4_096
DRAW = random.Random(3)
WORDS = "the keeper of a lamp burned colza oil and wrote letters to Malachy Orr".split()
REPLIES = [
    f"{INSUFFICIENT}\nThe keeper was Orr [1].\n{SEARCH_LEAD} his salary",
    REFUSAL,
    f"{QUERY_LEAD} the letters of Orr",
    f"{INSUFFICIENT}\nIt is not there.\n{SEARCH_LEAD} the oil",
]


def prose(count: int) -> str:
    return " ".join(DRAW.choices(WORDS, k=count))


class Library:
    """Finds ten long passages for any query, others for each."""

    name = "library"

    def retrieve(self, query: str) -> list[Reference]:
        return [Reference.of(f"{query} {n}: {prose(400)}") for n in range(10)]

    async def aretrieve(self, query: str) -> list[Reference]:
        return self.retrieve(query)


class Chat(FakeListChatModel):
    """Notes how long its prompts are."""

    lengths: list[int] = Field(default_factory=list)

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        self.lengths.append(sum(count_tokens(str(each.text)).tokens for each in messages))
        return super()._call(messages, *args, **kwargs)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self


class Llama(MockLLM):
    """Notes how long its prompts are, and declares its window."""

    lengths: list[int] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=WINDOW, num_output=512, is_chat_model=True)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        self.lengths.append(sum(count_tokens(each.content or "").tokens for each in messages))
        said = REPLIES[len(self.lengths) % len(REPLIES)]
        return ChatResponse(message=ChatMessage(said, role="assistant"))


OPTIONS: list[dict[str, Any]] = [
    {},
    {"instructions": prose(300)},
    {"demonstrations": [Demonstration(prose(30), prose(60), (prose(80),)) for _ in range(3)]},
    {"budget": Budget(max_reference_tokens=8_000, max_rounds=5)},
    {"when_insufficient": "own_knowledge", "decompose": True},
]


def asked_by_chain(options: dict[str, Any]) -> list[int]:
    model = Chat(responses=REPLIES, profile={"max_input_tokens": WINDOW})
    history = [(role, prose(250)) for _ in range(9) for role in ("user", "assistant")]
    chain = create_skr_chain(model, Library(), **options)
    chain.invoke({"question": "What did he earn?", "history": history})
    return model.lengths


def asked_by_engine(options: dict[str, Any]) -> list[int]:
    llm = Llama()
    SKRQueryEngine.from_defaults(Library(), llm=llm, **options).query("What did he earn?")
    return llm.lengths


def asked_by_chat_engine(options: dict[str, Any]) -> list[int]:
    llm = Llama()
    before = [ChatMessage(prose(250), role=role) for role in ("user", "assistant") * 9]
    engine = SKRChatEngine.from_defaults(Library(), llm=llm, chat_history=before, **options)
    engine.chat("And what did he earn there?")
    return llm.lengths


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("asked", [asked_by_chain, asked_by_engine, asked_by_chat_engine])
def test_no_prompt_is_longer_than_what_is_declared(
    asked: Callable[[dict[str, Any]], list[int]], options: dict[str, Any]
):
    lengths = asked(options)
    assert len(lengths) >= 2
    assert max(lengths) <= WINDOW
    assert max(lengths) > WINDOW / 3, "there is room for references all the same"


def test_an_agent_keeps_to_the_profile_of_its_model():
    model = Chat(responses=["So it is."], profile={"max_input_tokens": WINDOW})
    agent = create_agent(
        model, middleware=[SKRMiddleware(retriever=Library())], system_prompt=prose(300)
    )
    agent.invoke({"messages": [("user", prose(200)), AIMessage(prose(500)), ("user", "Why?")]})
    assert WINDOW / 3 < max(model.lengths) <= WINDOW


def test_what_a_model_declares():
    plain = Chat(responses=["So it is."])
    small = Chat(responses=["So it is."], profile={"max_input_tokens": 8_000})
    assert window_of(as_language_model(plain)) is None
    for model in (small, small.with_retry(), small.bind(stop=["x"]), plain.with_fallbacks([small])):
        assert window_of(as_language_model(model)) == Window(8_000)
    assert window_of(as_llama_model(Llama())) == Window(WINDOW, 512)
    assert window_of(as_llama_model(MockLLM())) is None
    limited = Spending(max_calls=9).limit(as_language_model(small))
    assert window_of(limited) == Window(8_000)


def test_what_is_declared_comes_before_what_a_name_tells():
    class Declaring(ScriptedModel):
        window = Window(4_000, 2_000)

    named, declaring = ScriptedModel(name="openai:gpt-4.1"), Declaring(name="openai:gpt-4.1")
    assert tokens_for(Budget(), named) == int(1_047_576 * 0.75)
    assert tokens_for(Budget(), declaring) == 2_000
    assert tokens_for(Budget(), declaring, ["x" * 3_000]) == 1_000
    assert tokens_for(Budget(max_reference_tokens=9_000), declaring) == 2_000
    assert tokens_for(Budget(max_reference_tokens=9_000), named) == 9_000
    assert tokens_for(Budget(), declaring, ["x" * 30_000]) == 0
    assert history_tokens_for(Budget(), declaring) == 1_000
    assert history_tokens_for(Budget(), named) == Budget().max_history_tokens
