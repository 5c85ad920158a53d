"""Events reach LlamaIndex's handlers, in order and in the span of their query."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.query import QueryEndEvent, QueryStartEvent
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from pydantic import PrivateAttr

from llamaindex_skr import (
    SKRAnswerEvent,
    SKREvent,
    SKRQueryEngine,
    SKRQueryEvent,
    SKRReferencesEvent,
    SKRReflectionEvent,
    SKRRetractEvent,
    SKRRetriever,
    SKRRouteEvent,
    SKRSelector,
)
from skr_core.prompts.papers import RALLM_TEMPLATES
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates
from skr_core.routers import AlwaysRetrieve, NeverRetrieve
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
@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_query_tells_its_walk(
    events: Events, spans: Spans, colour: str, streaming: bool
) -> None:
    engine = SKRQueryEngine.from_defaults(Search(), llm=Speaker(), streaming=streaming)
    if colour == "sync":
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

    query = "query" if colour == "sync" else "aquery"
    outer = [f"SKRQueryEngine._{query}", f"SKRQueryEngine.{query}"]
    for event in events.ours:
        assert spans.line_of(event.span_id) == outer
    inner = "retrieve" if colour == "sync" else "aretrieve"
    assert spans.lines(f"Search.{inner}") == [[f"Search.{inner}", *outer]] * 2
    assert [type(event) for event in events.seen if isinstance(event, STANDARD)] == list(STANDARD)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("templates", "shown"),
    [(RALLM_TEMPLATES, True), (DEFAULT_TEMPLATES, False)],
    ids=["no verdict", "verdict"],
)
async def test_a_refusal_that_comes_late_is_taken_back_if_it_was_shown(
    events: Events, streaming: bool, templates: PromptTemplates, shown: bool
) -> None:
    engine = SKRQueryEngine.from_defaults(
        Search(), llm=Speaker(late), streaming=streaming, templates=templates
    )
    assert str(engine.query(QUESTION)) == ANSWER
    taken_back = [each for each in events.ours if isinstance(each, SKRRetractEvent)]
    assert len(taken_back) == (streaming and shown)


KINDS = (SKRRouteEvent, SKRQueryEvent, SKRReferencesEvent, SKRReflectionEvent, SKRAnswerEvent)
STANDARD = (QueryStartEvent, QueryEndEvent)


@pytest.mark.parametrize("llm", [None, Speaker()], ids=["search", "self-completion"])
@pytest.mark.parametrize("router", [AlwaysRetrieve(), NeverRetrieve()])
async def test_a_retriever_tells_its_decision_once(events: Events, llm: Any, router: Any) -> None:
    retriever = SKRRetriever(Search(), router=router, llm=llm)
    retriever.retrieve(QUESTION)
    await retriever.aretrieve(QUESTION)
    told = [event.decision for event in events.ours if isinstance(event, SKRRouteEvent)]
    assert told == [router.decide(QUESTION)] * 2


def test_a_selector_tells_its_decision(events: Events) -> None:
    SKRSelector(NeverRetrieve()).select(["one", "other"], QUESTION)
    (event,) = events.ours
    assert event.decision == NeverRetrieve().decide(QUESTION)
    assert event.model_dump()["class_name"] == "SKRRouteEvent"
