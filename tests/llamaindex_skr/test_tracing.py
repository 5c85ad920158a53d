"""What LlamaIndex's handlers and OpenTelemetry see of an engine: every call, once, in its place."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.llms.callbacks import llm_chat_callback
from opentelemetry import trace
from pydantic import PrivateAttr

from llamaindex_skr import SKRQueryEngine
from tests.llamaindex_skr.fakes import ANSWER, QUESTION, Search, Speaker
from tests.spans import named, parent_of, recorded


class Events(BaseEventHandler):
    _names: Counter[str] = PrivateAttr(default_factory=Counter)

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        self._names[event.class_name()] += 1

    @property
    def names(self) -> Counter[str]:
        return self._names


@pytest.fixture
def events() -> Iterator[Events]:
    handler, root = Events(), get_dispatcher()
    root.add_event_handler(handler)
    yield handler
    root.event_handlers.remove(handler)


async def _streamed(engine: Any) -> str:
    response = await engine.aquery(QUESTION)
    return "".join([piece async for piece in response.async_response_gen()])


Way = tuple[bool, Callable[[Any], str]]
WAYS: dict[str, Way] = {
    "query": (False, lambda engine: str(engine.query(QUESTION))),
    "aquery": (False, lambda engine: str(asyncio.run(engine.aquery(QUESTION)))),
    "streamed": (True, lambda engine: "".join(engine.query(QUESTION).response_gen)),
    "streamed and awaited": (True, lambda engine: asyncio.run(_streamed(engine))),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param]


class Told(Speaker):
    """Tells LlamaIndex of its calls, as models of LlamaIndex's do."""

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return super().chat(messages, **kwargs)

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return await super().achat(messages, **kwargs)

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        return super().stream_chat(messages, **kwargs)

    @llm_chat_callback()
    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        return await super().astream_chat(messages, **kwargs)


def test_a_handler_sees_each_call_once(events: Events, way: Way) -> None:
    streaming, ask = way
    llm = Told()
    assert ask(SKRQueryEngine.from_defaults(Search(), llm=llm, streaming=streaming)) == ANSWER
    told = events.names
    calls = len(llm.sent)
    assert calls > 1
    assert (told["LLMChatStartEvent"], told["LLMChatEndEvent"]) == (calls, calls)
    assert (told["RetrievalStartEvent"], told["RetrievalEndEvent"]) == (2, 2)
    assert (told["QueryStartEvent"], told["QueryEndEvent"], told["SKRAnswerEvent"]) == (1, 1, 1)


def test_spans_lie_within_the_callers(way: Way) -> None:
    streaming, ask = way
    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=streaming)
    with recorded() as exporter, trace.get_tracer("user").start_as_current_span("request") as user:
        assert ask(engine) == ANSWER
    found = named(exporter)
    assert len(found["skr.answer"]) == len(found["skr.retrieve"]) == 2
    [question] = found.pop("skr.question")
    assert parent_of(question) == user.get_span_context().span_id
    assert (question.attributes or {})["skr.stop_reason"] == "sufficient"
    steps = [span for name, spans in found.items() if name != "request" for span in spans]
    assert {parent_of(span) for span in steps} == {question.context.span_id}
