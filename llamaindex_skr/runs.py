"""GraphRun: one question's run through the graph, with its tokens, its answer and its events.

Each kind of event of the graph is a class of events for LlamaIndex's instrumentation.

Example:
    >>> from llama_index.core.instrumentation.event_handlers import BaseEventHandler
    >>> class Show(BaseEventHandler):
    ...     def handle(self, event, **kwargs):
    ...         if isinstance(event, SKRRouteEvent):
    ...             print(event.decision.reason)
    >>> root = instrumentation.get_dispatcher()
    >>> root.add_event_handler(Show())
    >>> emit({"type": "route", "decision": {"retrieve": False, "reason": "it is known"}})
    it is known
    >>> _ = root.event_handlers.pop()
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from llama_index.core import instrumentation
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.span import active_span_id

from skr_core.errors import InputError
from skr_core.flow import arun, run
from skr_core.plain import from_plain
from skr_core.references.fusion import arranged
from skr_core.settings import ActionAnswerer
from skr_core.types import Answer, Citation, Decision, Reference, Reflection, StopReason, Verdict
from skr_graphs import SKRContext, StreamedSources

if TYPE_CHECKING:
    from skr_core.schemas import ResponseFormat
    from skr_graphs import CompiledGraph, SelfCompletionGraph, SKROutput

dispatcher = instrumentation.get_dispatcher("llamaindex_skr")  # type: ignore[attr-defined]  # no __all__


class SKREvent(BaseEvent):
    """An event of this project; the base class of all the others."""

    @classmethod
    def class_name(cls) -> str:
        """The name of the class."""
        return cls.__name__


class SKRCondenseEvent(SKREvent):
    """The question was rewritten so that it stands without its conversation.

    Attributes:
        question: The question that is routed and searched.
        error: The reason why the question was left as it is; empty where it was rewritten.
    """

    question: str
    error: str


class SKRRouteEvent(SKREvent):
    """The decision whether to retrieve was made."""

    decision: Decision


class SKRStartEvent(SKREvent):
    """A task is about to begin.

    Attributes:
        task: The task's name, such as ``route`` or ``answer_with_references``, as in ``usage``.
        round: The round, counted from 1; 0 before the first.
    """

    task: str
    round: int


class SKRQueryEvent(SKREvent):
    """A query is about to be searched, in a round counted from 1."""

    round: int
    query: str


class SKRReferencesEvent(SKREvent):
    """A round's searches are done.

    Attributes:
        round: The round, counted from 1.
        added: The references that the round added.
        total: The number of references that the model is given.
    """

    round: int
    added: list[Reference]
    total: int


class SKRDraftEvent(SKREvent):
    """A draft was written."""

    round: int
    text: str


class SKRReflectionEvent(SKREvent):
    """A draft was judged."""

    round: int
    reflection: Reflection


class SKRRetractEvent(SKREvent):
    """The tokens streamed so far do not belong to the answer and should no longer be shown."""


class SKRVerdictEvent(SKREvent):
    """An arbiter has decided which of several answers is served."""

    verdict: Verdict


class SKRAnswerEvent(SKREvent):
    """The answer is final."""

    answer: str
    citations: list[Citation]
    stop_reason: StopReason


_EVENTS: dict[str, type[SKREvent]] = {
    "condense": SKRCondenseEvent,
    "route": SKRRouteEvent,
    "start": SKRStartEvent,
    "query": SKRQueryEvent,
    "references": SKRReferencesEvent,
    "draft": SKRDraftEvent,
    "reflection": SKRReflectionEvent,
    "retract": SKRRetractEvent,
    "verdict": SKRVerdictEvent,
    "answer": SKRAnswerEvent,
}


def emit(event: Mapping[str, Any], span_id: str | None = None) -> None:
    """Hand an event of the graph to LlamaIndex's handlers; tokens are no event here.

    Args:
        event: The event, as in ``stream_mode="custom"``, see `skr_graphs.events`.
        span_id: The span that it belongs to; by default the one that is open.
    """
    if event_class := _EVENTS.get(event["type"]):
        fields: dict[str, Any] = {key: value for key, value in event.items() if key != "type"}
        if span_id is not None:
            fields["span_id"] = span_id
        dispatcher.event(event_class(**fields))


@dataclass(frozen=True)
class PerQuestion:
    """What an application says anew for each question, as the function of a run's config.

    LlamaIndex's runs have no config, so an application says by other means who asks, such as a
    ``ContextVar``. A stream may be read in another context than the one it was asked in: what holds
    is what was said when it was asked.

    Attributes:
        given: The application's function.
    """

    given: Callable[[], str]

    def __call__(self, config: Mapping[str, Any]) -> str:
        """Return what it says."""
        return self.given()

    def now(self) -> PerQuestion:
        """Ask the application at once; what it says stays the same."""
        said = self.given()
        return PerQuestion(lambda: said)


def per_question(given: str | Callable[[], str] | None) -> str | PerQuestion | None:
    """A text as it is, and an application's function as one of a run's config."""
    return PerQuestion(given) if callable(given) else given


class GraphRun:
    """Hands the graph's events to LlamaIndex, yields the answer's tokens, keeps the answer.

    Events belong to the span that was open when the run was made, wherever it is consumed.

    Args:
        graph: A compiled self-completion graph.
        question: The user's question.
        context: The settings of this run that differ from the graph's own.
        history: The messages before the question, as LangGraph takes them: role and content.
        images: The images of the question, as LangChain's content blocks.
        stream: Whether the answer's tokens are read as they come; by default the context says so.

    Attributes:
        references: The references that the tokens to come may cite.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> from skr_core.routers import NeverRetrieve
        >>> from skr_graphs import create_self_completion_graph
        >>> graph = create_self_completion_graph(model=ScriptedModel(["In Paris."])).compile()
        >>> run = GraphRun(graph, "Where?", SKRContext(router=NeverRetrieve(), stream=True))
        >>> list(run.tokens())
        ['In', ' Paris.']
        >>> run.answer.stop_reason
        'known'
    """

    def __init__(
        self,
        graph: CompiledGraph,
        question: str,
        context: SKRContext | None = None,
        *,
        history: Sequence[dict[str, Any]] = (),
        images: Sequence[dict[str, Any]] = (),
        stream: bool | None = None,
    ) -> None:
        from skr_graphs.node import context_around  # LangGraph is loaded when it is used
        from skr_graphs.state import OUTPUT_KEYS

        self._graph: Any = graph  # its overloads know no list of stream modes
        context = context or SKRContext()
        # Each run has a context of its own, so that closing one does not close another.
        said: dict[str, Any] = {
            name: each.now()
            for name in ("scope", "instructions")
            if isinstance(each := getattr(context, name), PerQuestion)
        }
        stream = context.stream if stream is None else stream
        self._context = replace(context, stream=stream, around=context_around(), **said)
        given: dict[str, Any] = {"question": question}
        if images:
            content = [{"type": "text", "text": question}, *images]
            given = {"messages": [{"role": "user", "content": content}]}
        if history:
            given["history"] = list(history)
        self._input: dict[str, Any] = {
            "input": given,
            "context": self._context,
            "stream_mode": ["custom", "values"],
            "output_keys": list(OUTPUT_KEYS),
        }
        self._span_id = active_span_id.get()
        self._output: SKROutput | None = None
        self._sources = StreamedSources()
        self.references: Sequence[Reference] = ()

    @property
    def response_format(self) -> ResponseFormat | None:
        """The schema of the answer's object; None where it is a text."""
        from skr_graphs.graph import response_format_of

        return response_format_of(self._graph)

    @property
    def answer(self) -> Answer:
        """The answer, once the run has come to its end."""
        from skr_graphs import answer_of

        if self._output is None or not self._output.get("stop_reason"):
            raise RuntimeError("the run has not come to its end: consume its tokens first")
        return answer_of(self._output)

    def tokens(self) -> Generator[str, None, None]:
        """Run the graph; yields the tokens of the final answer, and no others.

        Closing the generator ends the model's reply.
        """
        chunks = self._graph.stream(**self._input)
        with self._context.reading(chunks):
            for mode, chunk in chunks:
                if token := self._take(mode, chunk):
                    yield token

    async def atokens(self) -> AsyncGenerator[str, None]:
        """Async version of `tokens`."""
        async with aclosing(self._graph.astream(**self._input)) as chunks:
            async for mode, chunk in chunks:
                if token := self._take(mode, chunk):
                    yield token

    def complete(self) -> Answer:
        """Run the graph to its end."""
        for _ in self.tokens():
            pass
        return self.answer

    async def acomplete(self) -> Answer:
        """Async version of `complete`."""
        async for _ in self.atokens():
            pass
        return self.answer

    def found(self) -> Sequence[Reference]:
        """Run up to the first answer; returns what a model would read for it, in that order."""
        for mode, chunk in self._graph.stream(**self._until_found):
            self._take(mode, chunk)
        return run(arranged(self._context.retriever, self._in_hand()))

    async def afound(self) -> Sequence[Reference]:
        """Async version of `found`."""
        async with aclosing(self._graph.astream(**self._until_found)) as chunks:
            async for mode, chunk in chunks:
                self._take(mode, chunk)
        return await arun(arranged(self._context.retriever, self._in_hand()))

    @property
    def _until_found(self) -> dict[str, Any]:
        answers = ["answer", "answer_directly"]
        return {**self._input, "output_keys": ["rounds", "pool"], "interrupt_before": answers}

    def _in_hand(self) -> list[Reference]:
        state: Any = self._output
        given = state["rounds"][-1]["given"] if state["rounds"] else []
        return [from_plain(Reference, state["pool"][key]) for key in given]

    def _take(self, mode: str, chunk: Any) -> str:
        if mode == "values":
            self._output = chunk
        elif chunk["type"] == "token":
            return str(chunk["text"])
        else:
            emit(chunk, self._span_id)
            references = self._sources.take(chunk)
            self.references = self.references if references is None else references
        return ""


class PicklableGraph:
    """A mixin for engines and retrievers: pickles hold the factory of their graph, not the graph.

    Example:
        >>> import pickle
        >>> from llamaindex_skr import SKRQueryEngine
        >>> from skr_core.routers import NeverRetrieve
        >>> engine = SKRQueryEngine.from_defaults(llm="extractive", router=NeverRetrieve())
        >>> type(pickle.loads(pickle.dumps(engine))).__name__
        'SKRQueryEngine'
    """

    _graph: Any
    _context: SKRContext
    _factory: Callable[[], SelfCompletionGraph] | None = None

    def _answerer(self) -> ActionAnswerer:
        """What asks this engine's graph by every action, with the engine's own context."""
        from skr_graphs.graph import answerer_of_graph  # LangGraph is loaded when it is used

        return answerer_of_graph(self._graph, self._context)

    def _use_graph(self, graph: object) -> None:
        """Take a compiled graph of the caller's own; raises `InputError` for anything else."""
        if not hasattr(graph, "astream"):
            name = type(self).__name__
            raise InputError(
                f"{name} is made from a compiled graph, not from {type(graph).__name__}: "
                f"{name}.from_defaults(...) takes a retriever or an index"
            )
        self._graph = graph

    def __getstate__(self) -> dict[str, Any]:
        """The attributes without the graph; raises TypeError where the graph is the caller's."""
        if self._factory is None:
            name = type(self).__name__
            raise TypeError(
                f"the graph of this {name} is your own and cannot be pickled: make the {name} "
                "where it is needed, or by from_defaults"
            )
        return {name: value for name, value in vars(self).items() if name != "_graph"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes, and make the graph again."""
        vars(self).update(state)
        self._graph = state["_factory"]().compile(name="skr")
