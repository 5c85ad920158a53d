"""SKRRetriever: a LangChain retriever that finds nothing when the model knows the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self, TypeVar, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, ensure_config, patch_config
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from langgraph.errors import GraphBubbleUp
from pydantic import ConfigDict, PositiveInt, field_validator, model_validator

from langchain_skr.documents import RetrieverLike, as_retriever, checked_documents, to_document
from langchain_skr.factories import as_instructions, create_skr_graph
from langchain_skr.models import ModelLike, as_language_model
from skr_core.budget import Budget
from skr_core.errors import InputError, RetrieverError, retrieved, translated
from skr_core.flow import Flow, arun, call, run
from skr_core.plain import to_plain
from skr_core.ports import LanguageModel, Router
from skr_core.prompts.asking import checked_question
from skr_core.replies.queries import checked_rule
from skr_core.routers.constant import FixedDecision
from skr_core.routers.routing_alone import routing_alone
from skr_core.settings import RouterLike, Settings, as_router, decided
from skr_core.types import Decision
from skr_graphs import CompiledGraph, SKRContext, answer_of, decide, unstreamed
from skr_graphs.node import context_around

T = TypeVar("T")

DECISION_EVENT = "skr_decision"
"""Name of the custom event with each call's decision, whether to retrieve or not."""


class SKRRetriever(BaseRetriever):
    """A retriever around another: no document when the model knows, enough when it does not.

    Without a `model` the wrapped retriever is asked once and its documents come back untouched.
    With one, retrieval goes on until the references suffice: the model drafts an answer, says
    what is missing, and that is searched too (RaLLM §5). The very documents come back either
    way; where several have the same text, word by word, see `to_document`.

    Each call dispatches its decision as the custom event ``skr_decision``, which
    ``astream_events`` and callback handlers see. An argument that it does not have is refused.

    Attributes:
        retriever: A LangChain retriever, vector store or runnable, or a `Retriever`; or several by
            name, whose rankings are fused.
        router: The router; by default every query is retrieved for. The file of a saved router
            is loaded for this retriever, and for the model where one is given. Of a policy the
            decision before the search is taken; one warning says what is left out.
        k: The largest number of documents; None leaves it to the retriever, or to the budget in a
            loop. May also be given to ``invoke``. A vector store is asked for as many.
        model: The model for self-completion, which is off without it: a LangChain model, an id for
            ``init_chat_model``, or a `LanguageModel`.
        budget: The limits of self-completion.
        instructions: The words before each prompt that asks the model for an answer, as for
            `create_skr_graph`: the answer that a router looks at should be the app's own.
        allow_query: The rule of which queries self-completion may search, as for
            `create_skr_graph`. Needs a `model`.

    Raises:
        InputError: While retrieving: the query is empty, or `k` is below 1.
        RetrieverError: While retrieving: the retriever failed or returned no documents, or, with
            a `model`, every search did.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> from skr_core.routers import NeverRetrieve
        >>> search = RunnableLambda(lambda query: [Document("Paris is the capital of France.")])
        >>> len(SKRRetriever(retriever=search).invoke("Capital of France?"))
        1
        >>> SKRRetriever(retriever=search, router=NeverRetrieve()).invoke("Capital of France?")
        []
    """

    model_config = ConfigDict(extra="forbid")  # LangChain's own ignore what they do not know

    retriever: RetrieverLike
    router: RouterLike | None = None
    k: PositiveInt | None = None
    model: ModelLike | None = None
    budget: Budget | None = None
    instructions: Any = None
    allow_query: Any = None

    # "plain": the checks are ours alone. Pydantic's would check less, in other words.
    @field_validator("retriever", mode="plain")
    @classmethod
    def _usable_retriever(cls, value: Any) -> Any:
        as_retriever(value)  # raises for what is none
        return value.as_retriever() if isinstance(value, VectorStore) else value

    @field_validator("model", mode="plain")
    @classmethod
    def _usable_model(cls, value: Any) -> LanguageModel | None:
        return None if value is None else as_language_model(value)

    @field_validator("router", mode="plain")
    @classmethod
    def _any_router(cls, value: Any) -> Any:
        return value  # made usable below, where model and retriever are known

    @model_validator(mode="after")
    def _usable_router(self) -> Self:
        self._router()
        checked_rule(self.allow_query, has_model=self.model is not None)
        return self

    def invoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Find documents; the retriever within is given the same config."""
        with _inherited(config):
            return super().invoke(input, config, **kwargs)

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Async version of `invoke`."""
        with _inherited(config):
            return await super().ainvoke(input, config, **kwargs)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        callbacks = run_manager.get_child()
        with unstreamed(patch_config(ensure_config(), callbacks=callbacks)):
            return run(self._documents(query, k, {"callbacks": callbacks}))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        callbacks = run_manager.get_child()
        with unstreamed(patch_config(ensure_config(), callbacks=callbacks)):
            return await arun(self._documents(query, k, {"callbacks": callbacks}))

    def _documents(self, query: str, k: int | None, config: RunnableConfig) -> Flow[list[Document]]:
        question = checked_question(query)
        k = self.k if k is None else k
        if k is not None and k < 1:
            raise InputError(f"k must be at least 1, not {k}")
        router = self._router()
        if self.model is None:
            decision = yield from decided(router, question)
        else:  # which gives the direct answer to a router that looks at it
            system = Settings.of(
                as_language_model(self.model),
                router=router,
                instructions=as_instructions(self.instructions),
            )
            decision = yield from decide(question, system.of_run(ensure_config()))
        event = (DECISION_EVENT, to_plain(decision))
        yield from call(dispatch_custom_event, adispatch_custom_event, *event, config=config)
        if not decision.retrieve:
            return []
        search = self._search if self.model is None else self._self_complete
        return (yield from search(question, k, decision, config))[:k]

    def _search(
        self, query: str, k: int | None, decision: Decision, config: RunnableConfig
    ) -> Flow[list[Document]]:
        source = _asked_for(k, self.retriever)
        with translated(RetrieverError, as_retriever(source).name, GraphBubbleUp):
            if isinstance(source, Runnable):
                found = yield from call(
                    cast("Callable[..., Any]", source.invoke),
                    cast("Callable[..., Any]", source.ainvoke),
                    query,
                    config,
                )
                return checked_documents(found)
            port = as_retriever(source)
            references = yield from call(port.retrieve, port.aretrieve, query)
        return [to_document(reference) for reference in references]

    def _self_complete(
        self, query: str, k: int | None, decision: Decision, config: RunnableConfig
    ) -> Flow[list[Document]]:
        budget = self.budget or Budget()
        context = SKRContext(
            router=FixedDecision(decision),
            budget=replace(budget, max_references=k) if k else budget,
            around=context_around(),
        )
        graph = self._graph(k)
        output = yield from call(
            cast("Callable[..., Any]", graph.invoke),
            cast("Callable[..., Any]", graph.ainvoke),
            {"question": query},
            config,
            context=context,
        )
        answer = answer_of(output)
        return [to_document(reference) for reference in retrieved(answer)]

    def __getstate__(self) -> dict[Any, Any]:
        """The fields alone: what is made of them is made anew, and no pickle holds a graph."""
        state = super().__getstate__()
        fields = {name: state["__dict__"][name] for name in type(self).model_fields}
        return {**state, "__dict__": fields}

    def _router(self) -> Router:
        def make() -> Router:
            model = None if self.model is None else as_language_model(self.model)
            router = as_router(self.router, model, as_retriever(self.retriever))
            return routing_alone(router, "SKRRetriever", has_model=model is not None)

        return self._made_of_parts("_made_router", make)

    def _graph(self, k: int | None) -> CompiledGraph:
        def make() -> CompiledGraph:
            # The text is not wanted, so no call is spent on a last answer.
            return create_skr_graph(
                cast("ModelLike", self.model),  # without one there is no loop
                _asked_for(k, self.retriever),
                when_insufficient="refuse",
                instructions=self.instructions,
                allow_query=self.allow_query,
            )

        return self._made_of_parts("_made_graph", make, k)

    def _made_of_parts(self, name: str, make: Callable[[], T], *others: object) -> T:
        """What was made of these very parts: any may be replaced, also in a copy of this one."""
        source = self.retriever
        several = source.values() if isinstance(source, Mapping) else ()
        settings = (self.router, self.instructions, self.allow_query)
        parts = (self.model, source, *several, *settings, *others)
        made_of, made = self.__dict__.get(name, ((), None))
        if [*map(id, made_of)] != [*map(id, parts)]:
            made = make()
            self.__dict__[name] = (parts, made)
        return cast("T", made)


def _asked_for(k: int | None, retriever: RetrieverLike) -> RetrieverLike:
    """The retriever, of which a vector store is asked for k; others may fail on a number."""
    if isinstance(retriever, Mapping):
        return {name: cast("Any", _asked_for(k, each)) for name, each in retriever.items()}
    source = retriever.as_retriever() if isinstance(retriever, VectorStore) else retriever
    return source.bind(k=k) if k and isinstance(source, VectorStoreRetriever) else source


@contextmanager
def _inherited(config: RunnableConfig | None) -> Iterator[None]:
    """Let what a retriever runs inherit its config, of which LangChain hands on callbacks alone."""
    token = var_child_runnable_config.set(ensure_config(config))
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
