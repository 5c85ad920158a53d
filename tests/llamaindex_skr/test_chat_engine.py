"""SKRChatEngine, sync and async, whole and streamed."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.base.response.schema import Response
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import LLM, MockLLM
from llama_index.core.memory import ChatMemoryBuffer, Memory
from pydantic import Field
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from llamaindex_skr import (
    SKRChatEngine,
    SKRCondenseEvent,
    SKRStreamingChatResponse,
)
from skr_core import Budget
from skr_core.errors import InputError, ModelError
from skr_core.prompts.papers import RALLM_TEMPLATES
from skr_core.routers import NeverRetrieve
from skr_core.testing import BrokenModel, ScriptedModel
from skr_graphs import create_self_completion_graph
from tests.llamaindex_skr.fakes import ANSWER, FOLLOW_UP, QUESTION, Search, Speaker, late

FIRST = "Who directed the film Jaws?"
LEANING = "And where was he born?"
JAWS, BORN = "Jaws was directed by Steven Spielberg.", "Steven Spielberg was born in Cincinnati."
FOUND = {FIRST: [JAWS], FOLLOW_UP: [BORN], QUESTION: [JAWS, "Steven Spielberg was born in Ohio."]}
HISTORY = [ChatMessage(FIRST, role="user"), ChatMessage("Spielberg [1].", role="assistant")]

Chat = Callable[..., Awaitable[Any]]


class Talker(Speaker):
    """Answers, and rewrites a question; keeps all that it was sent."""

    conversations: list[list[tuple[str, str]]] = Field(default_factory=list)

    def __init__(self) -> None:
        super().__init__(self.say)

    @staticmethod
    def say(prompt: str) -> str:
        if "Standalone question:" in prompt:
            return f"<think>he = Spielberg</think>Standalone question: {FOLLOW_UP}"
        if "internal knowledge" in prompt:
            return "Ohio, as far as I know."
        return "SUFFICIENT\nSpielberg [1]."

    def _say(self, messages: Sequence[ChatMessage], mode: str) -> str:
        self.conversations.append([(each.role.value, str(each.content)) for each in messages])
        return super()._say(messages, mode)


@pytest.fixture(params=["chat", "achat", "stream_chat", "astream_chat"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def chat(way: str) -> Chat:
    """Says something in one of four ways; a streamed response is read to its end."""

    async def chat(engine: SKRChatEngine, message: str, *args: Any) -> Any:
        if way == "chat":
            return await asyncio.to_thread(engine.chat, message, *args)
        if way == "achat":
            return await engine.achat(message, *args)
        if way == "stream_chat":
            response = await asyncio.to_thread(engine.stream_chat, message, *args)
            said = await asyncio.to_thread(lambda: "".join(response.response_gen))
        else:
            response = await engine.astream_chat(message, *args)
            said = "".join([token async for token in response.async_response_gen()])
        assert said == response.response == str(response)
        return response

    return chat


def engine_of(llm: Any, search: Search | None = None, **options: Any) -> SKRChatEngine:
    return SKRChatEngine.from_defaults(search or Search(FOUND), llm=llm, **options)


def said(engine: SKRChatEngine) -> list[tuple[str, str]]:
    return [(each.role.value, str(each.content)) for each in engine.chat_history]


async def test_a_message_that_leans_on_the_turns_is_understood(chat: Chat, way: str) -> None:
    llm, search = Talker(), Search(FOUND)
    engine = engine_of(llm, search)
    await chat(engine, FIRST)
    response = await chat(engine, LEANING)
    assert response.response == "Spielberg [1]."
    assert [node.text for node in response.source_nodes] == [BORN]
    assert response.metadata["grounded"] is True
    assert response.metadata["stop_reason"] == "sufficient"
    assert list(response.metadata["usage"]) == ["condense", "answer_with_references"]
    assert response.metadata["rounds"][0]["queries"] == [FOLLOW_UP]
    *turns, (role, prompt) = llm.conversations[-1]
    assert turns == [("user", FIRST), ("assistant", "Spielberg.")]
    assert role == "user"
    assert f"Question: {LEANING}" in prompt
    assert said(engine) == [
        ("user", FIRST),
        ("assistant", "Spielberg [1]."),
        ("user", LEANING),
        ("assistant", "Spielberg [1]."),
    ]
    mode = "sync" if way in ("chat", "stream_chat") else "async"
    assert {each.split()[0] for each in llm.modes + search.modes} == {mode}
    streamed = [each for each in llm.modes if "stream" in each]
    assert len(streamed) == (2 if "stream" in way else 0)


async def test_a_reset_forgets_and_a_history_takes_its_place(chat: Chat) -> None:
    llm = Talker()
    engine = engine_of(llm)
    await chat(engine, FIRST)
    engine.reset()
    assert engine.chat_history == []
    await chat(engine, QUESTION)
    assert len(llm.conversations[-1]) == 1
    await chat(engine, LEANING, list(HISTORY))
    assert llm.conversations[-1][:-1] == [("user", FIRST), ("assistant", "Spielberg.")]
    assert said(engine)[2:] == [("user", LEANING), ("assistant", "Spielberg [1].")]
    assert len(engine.chat_history) == 4


async def check_memory(chat: Chat, memory: Any) -> None:
    llm = Talker()
    await chat(engine_of(llm, memory=memory), LEANING)
    assert llm.conversations[-1][:-1] == [("user", FIRST), ("assistant", "Spielberg.")]
    kept = await memory.aget_all()
    assert [str(each.content) for each in kept][2:] == [LEANING, "Spielberg [1]."]


async def test_a_buffer_of_llamaindex_s(chat: Chat) -> None:
    await check_memory(chat, ChatMemoryBuffer.from_defaults(chat_history=list(HISTORY)))


async def test_a_memory_of_llamaindex_s(chat: Chat, tmp_path: Path) -> None:
    # Without a pool, whose connections LlamaIndex leaves open.
    database = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/memory.db", poolclass=NullPool)
    memory = Memory.from_defaults(async_engine=database)
    await memory.aput_messages(list(HISTORY))
    await check_memory(chat, memory)
    await database.dispose()


async def test_what_was_said_before_may_be_given_at_once(chat: Chat) -> None:
    llm = Talker()
    tool = ChatMessage("found", role="tool")
    engine = engine_of(llm, chat_history=[ChatMessage("Be brief.", role="system"), *HISTORY, tool])
    await chat(engine, LEANING)
    assert llm.conversations[-1][:-1] == [
        ("system", "Be brief."),
        ("user", FIRST),
        ("assistant", "Spielberg.\n\n[tool said] found"),
    ]


async def test_a_known_message_is_answered_from_memory_after_the_turns(chat: Chat) -> None:
    llm, search = Talker(), Search(FOUND)
    engine = engine_of(llm, search, router=NeverRetrieve(), chat_history=list(HISTORY))
    response = await chat(engine, LEANING)
    assert response.response == "Ohio, as far as I know."
    assert response.source_nodes == []
    assert response.metadata["grounded"] is False
    assert search.modes == []
    assert llm.conversations[-1][:-1] == [("user", FIRST), ("assistant", "Spielberg.")]


async def test_the_budget_bounds_the_turns(chat: Chat) -> None:
    llm = Talker()
    long = [ChatMessage("word " * 500, role=role) for role in ("user", "assistant")] * 10
    engine = engine_of(llm, chat_history=[*long, *HISTORY], budget=Budget(max_history_tokens=50))
    await chat(engine, QUESTION)
    assert llm.conversations[-1][:-1] == [("user", FIRST), ("assistant", "Spielberg.")]
    assert len(engine.chat_history) == 24, "nothing is forgotten"


async def test_a_failure_leaves_the_memory_as_it_was(chat: Chat) -> None:
    engine = engine_of(BrokenModel())
    with pytest.raises(ModelError, match="broken on purpose"):
        await chat(engine, FIRST)
    assert engine.chat_history == []
    with pytest.raises(InputError, match="empty"):
        await chat(engine, " ")
    kept = engine_of(BrokenModel(), chat_history=[ChatMessage("Be brief.", role="system")])
    with pytest.raises(ModelError, match="broken on purpose"):
        await chat(kept, FIRST, list(HISTORY))
    assert said(kept) == [("system", "Be brief.")]


async def test_a_history_that_is_given_stays_its_owner_s(chat: Chat) -> None:
    engine, given = engine_of(Talker()), list(HISTORY)
    await chat(engine, LEANING, given)
    assert given == HISTORY
    assert len(engine.chat_history) == 4


async def test_without_a_conversation_it_answers_as_the_query_engine(chat: Chat) -> None:
    from llamaindex_skr import SKRQueryEngine

    llm, other = Speaker(), Speaker()
    response = await chat(engine_of(llm, Search()), QUESTION)
    engine = SKRQueryEngine.from_defaults(Search(), llm=other)
    assert response.response == str(engine.query(QUESTION)) == ANSWER
    assert llm.sent == other.sent
    assert len(response.source_nodes) == 2


async def test_condensing_sends_an_event(chat: Chat) -> None:
    sent: list[str] = []

    class Listen(BaseEventHandler):
        def handle(self, event: Any, **kwargs: Any) -> None:
            if isinstance(event, SKRCondenseEvent):
                sent.append(event.question)

    handlers = get_dispatcher().event_handlers  # type: ignore[attr-defined]
    handlers.append(listener := Listen())
    try:
        await chat(engine_of(Talker(), chat_history=list(HISTORY)), LEANING)
    finally:
        handlers.remove(listener)
    assert sent == [FOLLOW_UP]


async def test_the_response_is_one_of_llamaindex(chat: Chat, way: str) -> None:
    response = await chat(engine_of(Talker()), FIRST)
    if "stream" in way:
        assert isinstance(response, SKRStreamingChatResponse)
        assert response.is_done
    (source,) = response.sources
    assert isinstance(source.raw_output, Response)
    assert source.raw_input == {"query": FIRST}
    assert (source.content, source.raw_output.source_nodes) == (
        response.response,
        response.source_nodes,
    )


@pytest.mark.parametrize("way", ["stream_chat", "astream_chat"])
async def test_a_refusal_that_comes_late_is_not_in_the_memory(way: str) -> None:
    engine = engine_of(Speaker(late), Search(), templates=RALLM_TEMPLATES)
    if way == "stream_chat":
        response: Any = engine.stream_chat(QUESTION)
        shown = "".join(response.response_gen)
    else:
        response = await engine.astream_chat(QUESTION)
        shown = "".join([token async for token in response.async_response_gen()])
    assert shown != ANSWER
    assert response.response == str(response) == ANSWER
    assert said(engine)[-1] == ("assistant", ANSWER)


def test_a_stream_gives_its_tokens_as_they_come(capsys: pytest.CaptureFixture[str]) -> None:
    engine = engine_of(Speaker(), Search())
    response = engine.stream_chat(QUESTION)
    tokens = list(response.response_gen)
    assert tokens[:3] == ["Steven", " Spielberg", " directed"]
    engine.reset()
    engine.stream_chat(QUESTION).print_response_stream()
    assert capsys.readouterr().out == ANSWER
    response = engine.stream_chat(QUESTION)
    assert [node.text for node in response.source_nodes], "known from the first token on"


async def test_a_stream_that_was_left_is_read_on_and_remembered() -> None:
    engine = engine_of(Speaker(), Search())
    response: Any = engine.stream_chat(QUESTION)
    assert next(response.response_gen) == "Steven"
    assert "".join(response.response_gen) == ANSWER.removeprefix("Steven")
    awaited: Any = await engine.astream_chat(QUESTION)
    assert await anext(awaited.async_response_gen()) == "Steven"
    rest = [token async for token in awaited.async_response_gen()]
    assert "".join(rest) == ANSWER.removeprefix("Steven")
    assert said(engine)[1::2] == [("assistant", ANSWER)] * 2


async def test_a_closed_stream_is_at_its_end() -> None:
    engine = engine_of(Speaker(), Search())
    response: Any = engine.stream_chat(QUESTION)
    assert next(response.response_gen) == "Steven"
    response.response_gen.close()
    assert list(response.chat_stream) == []
    awaited: Any = await engine.astream_chat(QUESTION)
    assert await anext(awaited.async_response_gen()) == "Steven"
    await awaited.async_response_gen().aclose()
    assert [each async for each in awaited.achat_stream] == []
    assert engine.chat_history == []


async def test_a_stream_that_is_dropped_is_no_turn() -> None:
    troubles: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, about: troubles.append(about))
    engine = engine_of(Speaker(), Search())
    left: Any = engine.stream_chat(QUESTION)
    assert next(left.response_gen) == "Steven"
    unread: Any = await engine.astream_chat(QUESTION)
    half: Any = await engine.astream_chat(QUESTION)
    assert await anext(half.async_response_gen()) == "Steven"
    del left, unread, half
    gc.collect()
    for _ in range(20):  # what is dropped closes itself in tasks
        await asyncio.sleep(0)
    await asyncio.get_running_loop().shutdown_asyncgens()
    assert troubles == []
    assert engine.chat_history == []


@pytest.mark.parametrize("streaming", [False, True])
def test_sync_calls_start_no_event_loop(monkeypatch: pytest.MonkeyPatch, streaming: bool) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("an event loop was started")

    engine = engine_of(Talker())
    for name in ("run", "new_event_loop", "get_event_loop"):
        monkeypatch.setattr(asyncio, name, refuse)
    for message in (FIRST, LEANING):
        if streaming:
            assert "".join(engine.stream_chat(message).response_gen) == "Spielberg [1]."
        else:
            assert engine.chat(message).response == "Spielberg [1]."
    engine.reset()


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to retrieve from"):
        SKRChatEngine.from_defaults(llm=MockLLM())
    with pytest.raises(InputError, match="not both"):
        engine_of(MockLLM(), memory=Memory.from_defaults(), chat_history=list(HISTORY))
    for wrong in (None, HISTORY[0]):
        with pytest.raises(InputError, match="a question is a text or a QueryBundle, not"):
            engine_of(MockLLM()).chat(wrong)  # type: ignore[arg-type]
    for name in ("chat_mode", "condense_prompt", "skip_condense", "verbose", "streaming"):
        with pytest.raises(TypeError, match=f"takes no '{name}': "):
            engine_of(MockLLM(), **{name: True})


def test_a_graph_of_ones_own_and_the_settings_model(use_default: Callable[[LLM], None]) -> None:
    graph = create_self_completion_graph(model=ScriptedModel(["Paris."]), router=NeverRetrieve())
    assert str(SKRChatEngine(graph.compile()).chat("Where?")) == "Paris."
    use_default(MockLLM(max_tokens=2))
    assert str(SKRChatEngine.from_defaults(Search(FOUND)).chat(FIRST)) == "text text"


def test_chat_repl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    messages = iter([FIRST, "exit"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(messages))
    engine_of(Talker()).chat_repl()
    assert "Assistant: Spielberg [1]." in capsys.readouterr().out


def test_nodes_are_filtered_inside_the_loop() -> None:
    from llama_index.core.postprocessor import SimilarityPostprocessor

    strict = SimilarityPostprocessor(similarity_cutoff=0.9)
    engine = engine_of(Talker(), node_postprocessors=[strict], when_insufficient="refuse")
    assert engine.chat(FIRST).source_nodes == []
