"""LlamaIndex's own chat engines over a retriever that stays silent where the model knows."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
)
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import RetrieverQueryEngine

from llamaindex_skr import SKRQueryEngine, SKRRetriever
from llamaindex_skr.retriever import KNOWN
from skr_core.types import Decision
from tests.llamaindex_skr.fakes import FOLLOW_UP, Search, Speaker

ASKED = "Where was Steven Spielberg born?"
KNOWN_QUESTION = "What is the capital of France?"
BORN = "Steven Spielberg was born in Cincinnati."
WAYS = ["chat", "achat", "stream_chat", "astream_chat"]


class Knows:
    """Retrieves for questions about Spielberg alone."""

    def decide(self, question: str) -> Decision:
        return Decision("Spielberg" in question)

    async def adecide(self, question: str) -> Decision:
        return self.decide(question)


def say(prompt: str) -> str:
    """Of the last message, or of a prompt to complete."""
    if "rephrase" in prompt or "rewrite" in prompt:
        return FOLLOW_UP
    return "Paris." if "capital" in prompt else "In Cincinnati."


class Completer(Speaker):
    """Completes as it chats: LlamaIndex's engines ask for a rewritten question so."""

    def complete(self, prompt: str, *args: Any, **kwargs: Any) -> Any:
        from llama_index.core.base.llms.types import CompletionResponse

        return CompletionResponse(text=self.reply(prompt))

    async def acomplete(self, prompt: str, *args: Any, **kwargs: Any) -> Any:
        return self.complete(prompt)


def memory() -> ChatMemoryBuffer:
    return ChatMemoryBuffer.from_defaults(token_limit=10_000)


def context(retriever: SKRRetriever, llm: MockLLM) -> Any:
    return ContextChatEngine.from_defaults(retriever, llm=llm, memory=memory())


def condense_plus_context(retriever: SKRRetriever, llm: MockLLM) -> Any:
    return CondensePlusContextChatEngine.from_defaults(retriever, llm=llm, memory=memory())


def condense_question(retriever: SKRRetriever, llm: MockLLM) -> Any:
    engine = RetrieverQueryEngine.from_args(retriever, llm=llm)
    return CondenseQuestionChatEngine.from_defaults(engine, llm=llm, memory=memory())


async def ask(engine: Any, way: str, message: str) -> Any:
    asked = getattr(engine, way)(message)
    response = await asked if way.startswith("a") else asked
    if way == "stream_chat":
        assert "".join(response.response_gen) == response.response
    elif way == "astream_chat":
        assert "".join([each async for each in response.async_response_gen()]) == response.response
    return response


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [context, condense_plus_context])
async def test_it_retrieves_or_says_that_nothing_is_needed(make: Any, way: str) -> None:
    search = Search({ASKED: [BORN]})
    retriever = SKRRetriever(search, router=Knows(), known_text=KNOWN)
    engine = make(retriever, Completer(say))
    response = await ask(engine, way, ASKED)
    assert response.response == "In Cincinnati."
    assert [node.text for node in response.source_nodes] == [BORN]
    engine.reset()
    response = await ask(engine, way, KNOWN_QUESTION)
    assert response.response == "Paris."
    (note,) = response.source_nodes
    assert note.node.metadata == {"known": True}
    assert len(search.colours) == 1


@pytest.mark.parametrize("way", WAYS[:2])
async def test_condensed_questions_are_retrieved_for_or_not(way: str) -> None:
    search = Search({ASKED: [BORN]})
    retriever = SKRRetriever(search, router=Knows(), known_text=KNOWN)
    engine = condense_question(retriever, Completer(say))
    response = await ask(engine, way, KNOWN_QUESTION)
    assert response.response == "Paris."
    assert search.colours == []
    response = await ask(engine, way, "And he?")
    assert response.response == "In Cincinnati."
    assert [node.text for node in response.source_nodes] == [BORN]


@pytest.mark.parametrize("way", WAYS[:2])
async def test_without_a_note_their_answer_to_nothing_is_their_own(way: str) -> None:
    engine = context(SKRRetriever(Search({}), router=Knows()), Completer(say))
    assert (await ask(engine, way, KNOWN_QUESTION)).response == "Empty Response"


@pytest.mark.parametrize("way", WAYS)
async def test_condensing_over_our_query_engine(way: str) -> None:
    """LlamaIndex rewrites the question, the query engine routes it."""
    query_engine = SKRQueryEngine.from_defaults(
        Search({ASKED: [BORN]}),
        llm=Speaker(lambda prompt: "Paris." if "capital" in prompt else "Cincinnati [1]."),
        router=Knows(),
        streaming="stream" in way,  # LlamaIndex switches it on in its own engines alone
    )
    llm = Completer(say)
    engine = CondenseQuestionChatEngine.from_defaults(query_engine, llm=llm, memory=memory())
    response = await ask(engine, way, KNOWN_QUESTION)
    assert response.response == "Paris."
    assert response.source_nodes == []
    response = await ask(engine, way, "And he?")
    assert response.response == "Cincinnati [1]."
    (source,) = response.sources  # LlamaIndex reads no nodes off an awaited stream by itself
    assert [node.text for node in source.raw_output.source_nodes] == [BORN]
