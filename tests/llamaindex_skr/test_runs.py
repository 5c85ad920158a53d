"""Runs of the graph: their events and spans in LlamaIndex and OpenTelemetry, and their pickles."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.query import QueryEndEvent, QueryStartEvent
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.llms.callbacks import llm_chat_callback
from llama_index.core.prompts import PromptTemplate
from opentelemetry import trace
from pydantic import Field, PrivateAttr

from llamaindex_skr import (
    LlamaIndexModel,
    SKRAnswerEvent,
    SKRChatEngine,
    SKREvent,
    SKRQueryEngine,
    SKRQueryEvent,
    SKRReferencesEvent,
    SKRReflectionEvent,
    SKRRetractEvent,
    SKRRetriever,
    SKRRouteEvent,
    SKRSelector,
    SKRStartEvent,
)
from skr_core import PromptTemplates
from skr_core.prompts import DEFAULT_TEMPLATES
from skr_core.prompts.papers import RALLM_TEMPLATES
from skr_core.routers import AlwaysRetrieve, NeverRetrieve, PromptRouter
from skr_core.testing import MappingRetriever
from skr_graphs import create_self_completion_graph
from tests.llamaindex_skr.fakes import (
    ANSWER,
    BORN,
    FOLLOW_UP,
    JAWS,
    QUESTION,
    Search,
    Speaker,
    late,
)
from tests.spans import only, outcome_in, recorded


class Events(BaseEventHandler):
    _seen: list[BaseEvent] = PrivateAttr(default_factory=list)

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        self._seen.append(event)

    @property
    def seen(self) -> list[BaseEvent]:
        return self._seen

    @property
    def ours(self) -> list[Any]:
        return [event for event in self._seen if isinstance(event, SKREvent)]


class Spans(BaseSpanHandler[BaseSpan]):
    """Remembers each span's parent."""

    _parents: dict[str, str | None] = PrivateAttr(default_factory=dict)

    def new_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any = None,
        parent_span_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> BaseSpan:
        self._parents[id_] = parent_span_id
        return BaseSpan(id_=id_, parent_id=parent_span_id)

    def prepare_to_exit_span(self, id_: str, *args: Any, **kwargs: Any) -> BaseSpan | None:
        return self.open_spans.get(id_)

    def prepare_to_drop_span(self, id_: str, *args: Any, **kwargs: Any) -> BaseSpan | None:
        return self.open_spans.get(id_)

    def line_of(self, id_: str | None) -> list[str]:
        """A span and those around it, by name, the innermost first."""
        names = []
        while id_ is not None:
            names.append(id_.split("-")[0])
            id_ = self._parents[id_]
        return names

    def lines(self, name: str) -> list[list[str]]:
        return [self.line_of(id_) for id_ in self._parents if id_.startswith(name)]


@pytest.fixture
def events() -> Iterator[Events]:
    handler, root = Events(), get_dispatcher()
    root.add_event_handler(handler)
    yield handler
    root.event_handlers.remove(handler)


@pytest.fixture
def spans() -> Iterator[Spans]:
    handler, root = Spans(), get_dispatcher()
    root.add_span_handler(handler)
    yield handler
    root.span_handlers.remove(handler)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_query_sends_its_events_in_order(
    events: Events, spans: Spans, mode: str, streaming: bool
) -> None:
    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=streaming)
    if mode == "sync":
        response: Any = await asyncio.to_thread(engine.query, QUESTION)
        tokens = list(response.response_gen) if streaming else []
    else:
        response = await engine.aquery(QUESTION)
        tokens = [token async for token in response.async_response_gen()] if streaming else []
    names = [event.class_name().removeprefix("SKR").removesuffix("Event") for event in events.ours]
    assert names == [
        *("Start", "Route", "Query", "References", "Start", "Draft", "Reflection"),
        *("Start", "Query", "References", "Start", "Draft", "Reflection", "Answer"),
    ]
    of = {kind: [each for each in events.ours if isinstance(each, kind)] for kind in KINDS}
    assert of[SKRRouteEvent][0].decision.retrieve
    assert [(each.round, each.query) for each in of[SKRQueryEvent]] == [
        (1, QUESTION),
        (2, FOLLOW_UP),
    ]
    added = [[found.text for found in each.added] for each in of[SKRReferencesEvent]]
    assert added == [[JAWS], [BORN]]
    assert [each.reflection.sufficient for each in of[SKRReflectionEvent]] == [False, True]
    assert of[SKRAnswerEvent][0].answer == ANSWER
    assert of[SKRAnswerEvent][0].citations[0].marker == 1
    assert bool(tokens) == streaming

    query = "query" if mode == "sync" else "aquery"
    outer = [f"SKRQueryEngine._{query}", f"SKRQueryEngine.{query}"]
    for event in events.ours:
        assert spans.line_of(event.span_id) == outer
    inner = "retrieve" if mode == "sync" else "aretrieve"
    assert spans.lines(f"Search.{inner}") == [[f"Search.{inner}", *outer]] * 2
    assert [type(event) for event in events.seen if isinstance(event, STANDARD)] == list(STANDARD)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("templates", "shown"),
    [(RALLM_TEMPLATES, True), (DEFAULT_TEMPLATES, False)],
    ids=["no verdict", "verdict"],
)
async def test_a_late_refusal_is_retracted_if_it_was_shown(
    events: Events, streaming: bool, templates: PromptTemplates, shown: bool
) -> None:
    engine = SKRQueryEngine.from_defaults(
        Search(), llm=Speaker(late), streaming=streaming, templates=templates
    )
    assert str(engine.query(QUESTION)) == ANSWER
    retracted = [each for each in events.ours if isinstance(each, SKRRetractEvent)]
    assert len(retracted) == (streaming and shown)


KINDS = (SKRRouteEvent, SKRQueryEvent, SKRReferencesEvent, SKRReflectionEvent, SKRAnswerEvent)
STANDARD = (QueryStartEvent, QueryEndEvent)


@pytest.mark.parametrize("llm", [None, Speaker()], ids=["search", "self-completion"])
@pytest.mark.parametrize("router", [AlwaysRetrieve(), NeverRetrieve()])
async def test_a_retriever_sends_its_decision_once(events: Events, llm: Any, router: Any) -> None:
    retriever = SKRRetriever(Search(), router=router, llm=llm)
    retriever.retrieve(QUESTION)
    await retriever.aretrieve(QUESTION)
    sent = [event.decision for event in events.ours if isinstance(event, SKRRouteEvent)]
    assert sent == [router.decide(QUESTION)] * 2


def test_a_selector_sends_its_decision(events: Events) -> None:
    SKRSelector(NeverRetrieve()).select(["one", "other"], QUESTION)
    (event,) = events.ours
    assert event.decision == NeverRetrieve().decide(QUESTION)
    assert event.model_dump()["class_name"] == "SKRRouteEvent"


# Each call of a model and each search, once, and spans within the caller's


async def _streamed(engine: Any) -> str:
    response = await engine.aquery(QUESTION)
    return "".join([piece async for piece in response.async_response_gen()])


Way = tuple[bool, Callable[[Any], str]]
WAYS: dict[str, Way] = {
    "query": (False, lambda engine: str(engine.query(QUESTION))),
    "aquery": (False, lambda engine: str(asyncio.run(engine.aquery(QUESTION)))),
    "streamed": (True, lambda engine: "".join(engine.query(QUESTION).response_gen)),
    "streamed async": (True, lambda engine: asyncio.run(_streamed(engine))),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param]


class Instrumented(Speaker):
    """Sends events of its calls, as models of LlamaIndex do."""

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
    llm = Instrumented()
    assert ask(SKRQueryEngine.from_defaults(Search(), llm=llm, streaming=streaming)) == ANSWER
    seen = Counter(event.class_name() for event in events.seen)
    calls = len(llm.sent)
    assert calls > 1
    assert (seen["LLMChatStartEvent"], seen["LLMChatEndEvent"]) == (calls, calls)
    assert (seen["RetrievalStartEvent"], seen["RetrievalEndEvent"]) == (2, 2)
    assert (seen["QueryStartEvent"], seen["QueryEndEvent"], seen["SKRAnswerEvent"]) == (1, 1, 1)


OTHERS: dict[str, tuple[Callable[[Any], Any], str, tuple[Any, ...], dict[str, int]]] = {
    "chat": (
        lambda llm: SKRChatEngine.from_defaults(Search(), llm=llm),
        "chat",
        (QUESTION,),
        {"RetrievalStartEvent": 2, "SKRAnswerEvent": 1},
    ),
    "retriever": (
        lambda llm: SKRRetriever(Search(), llm=llm),
        "retrieve",
        (QUESTION,),
        {"RetrievalStartEvent": 3, "SKRReferencesEvent": 2},  # its own, and two within
    ),
    "selector": (
        lambda llm: SKRSelector(PromptRouter(LlamaIndexModel(llm))),
        "select",
        (["from memory", "from the wiki"], QUESTION),
        {"RetrievalStartEvent": 0},
    ),
}


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("kind", OTHERS)
async def test_a_handler_sees_each_call_of_the_others_once(
    events: Events, kind: str, mode: str
) -> None:
    make, verb, given, expected = OTHERS[kind]
    llm = Instrumented()
    drop_in = make(llm)
    if mode == "sync":
        await asyncio.to_thread(getattr(drop_in, verb), *given)
    else:
        await getattr(drop_in, f"a{verb}")(*given)
    seen = Counter(event.class_name() for event in events.seen)
    assert llm.sent
    assert (seen["LLMChatStartEvent"], seen["LLMChatEndEvent"]) == (len(llm.sent), len(llm.sent))
    assert {name: seen[name] for name in expected} == expected
    assert seen["SKRRouteEvent"] == 1


def test_the_callers_span_has_the_outcome(way: Way) -> None:
    streaming, ask = way
    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=streaming)
    with recorded() as exporter, trace.get_tracer("user").start_as_current_span("request"):
        assert ask(engine) == ANSWER
    outcome = outcome_in(only(exporter))
    assert (outcome["stop_reason"], outcome["rounds"]) == ("sufficient", 2)


# Pickles


@pytest.mark.parametrize("streaming", [False, True])
def test_an_engine_that_was_used_comes_out_of_a_pickle(streaming: bool) -> None:
    search = MappingRetriever({QUESTION: [JAWS]})
    engine = SKRQueryEngine.from_defaults(search, llm="extractive", streaming=streaming)
    before = str(engine.query(QUESTION))
    again = pickle.loads(pickle.dumps(engine))
    assert str(again.query(QUESTION)) == before
    assert str(asyncio.run(_asked(again))) == before


async def _asked(engine: SKRQueryEngine) -> str:
    response: Any = await engine.aquery(QUESTION)
    return str(await response.get_response()) if hasattr(response, "get_response") else response


def test_prompts_that_were_replaced_stay_replaced_in_a_pickle() -> None:
    engine = SKRQueryEngine.from_defaults(MappingRetriever({}), llm="extractive")
    engine.update_prompts({"answer_directly": PromptTemplate("In a word: {query_str}")})
    again = pickle.loads(pickle.dumps(engine))
    assert again.get_prompts()["answer_directly"].template == "In a word: {question}"


def test_an_engine_over_one_s_own_graph_says_why_it_is_in_no_pickle() -> None:
    engine = SKRQueryEngine(create_self_completion_graph().compile())
    with pytest.raises(TypeError, match="cannot be pickled: make the SKRQueryEngine"):
        pickle.dumps(engine)


def test_a_chat_comes_out_of_a_pickle_with_what_was_said() -> None:
    chat = SKRChatEngine.from_defaults(MappingRetriever({QUESTION: [JAWS]}), llm="extractive")
    before = str(chat.chat(QUESTION))
    again = pickle.loads(pickle.dumps(chat))
    assert [each.content for each in again.chat_history] == [QUESTION, before]
    assert str(again.chat(QUESTION)) == before


@pytest.mark.parametrize("llm", [None, "extractive"])
def test_a_retriever_that_was_used_comes_out_of_a_pickle(llm: str | None) -> None:
    retriever = SKRRetriever(MappingRetriever({QUESTION: [JAWS]}), llm=llm)
    before = [each.text for each in retriever.retrieve(QUESTION)]
    again = pickle.loads(pickle.dumps(retriever))
    assert [each.text for each in again.retrieve(QUESTION)] == before == [JAWS]


# Events come before their tasks


class Started(BaseEventHandler):
    tasks: list[str] = Field(default_factory=list)

    def handle(self, event: Any, **_: Any) -> None:
        if isinstance(event, SKRStartEvent):
            self.tasks.append(event.task)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_task_is_announced_before_the_model_has_replied(mode: str) -> None:
    handler, seen = Started(), []

    class Patient(Speaker):
        """Replies when the event says that it is asked, or after a minute."""

        def chat(self, messages: Any, **kwargs: Any) -> Any:
            for _ in range(6_000):
                if handler.tasks and handler.tasks[-1] != "route":
                    break
                time.sleep(0.01)
            seen.append(handler.tasks[-1])
            return super().chat(messages, **kwargs)

        async def achat(self, messages: Any, **kwargs: Any) -> Any:
            for _ in range(6_000):
                if handler.tasks and handler.tasks[-1] != "route":
                    break
                await asyncio.sleep(0.01)
            seen.append(handler.tasks[-1])
            return await super().achat(messages, **kwargs)

    engine = SKRQueryEngine.from_defaults(Search(), llm=Patient())
    get_dispatcher().add_event_handler(handler)
    try:
        if mode == "sync":
            await asyncio.to_thread(engine.query, QUESTION)
        else:
            await engine.aquery(QUESTION)
    finally:
        get_dispatcher().event_handlers.remove(handler)
    assert seen[0] == "answer_with_references"
    assert handler.tasks[0] == "route"
