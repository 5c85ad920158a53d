"""The decision whether to retrieve, inside LlamaIndex's own parts: SKRRetriever and SKRSelector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.callbacks import CallbackManager
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import ToolMetadata
from llama_index.core.vector_stores.types import MetadataFilters

from llamaindex_skr.llms import ModelLike, as_language_model
from llamaindex_skr.messages import image_blocks
from llamaindex_skr.nodes import to_node
from llamaindex_skr.prompts import InstructionsLike, as_words
from llamaindex_skr.runs import GraphRun, PicklableGraph, emit, per_question
from llamaindex_skr.sources import Index, LlamaIndexRetriever, RetrieverLike, as_retriever, bundled
from skr_core.budget import Budget
from skr_core.errors import InputError, ModelError, retrieved
from skr_core.flow import Flow, arun, call, run
from skr_core.plain import to_plain
from skr_core.ports import Retriever
from skr_core.prompts.asking import checked_question
from skr_core.prompts.templates import PromptTemplates
from skr_core.replies.queries import AllowQuery, checked_rule
from skr_core.routers.constant import FixedDecision
from skr_core.routers.routing_alone import routing_alone
from skr_core.settings import RouterLike, Settings, as_router, decided, hinting
from skr_core.types import Decision
from skr_graphs import SKRContext

KNOWN_TEXT = "No document is needed for this question: answer it from what you know."
"""A `known_text` for `SKRRetriever`: the prompts of LlamaIndex's engines say to answer from
documents alone."""

_NUMBER = "k is the number of nodes"
_WORDS = (
    "the words before every answer are instructions=..., those of the prompts "
    "templates=PromptTemplates(...)"
)


class SKRRetriever(PicklableGraph, BaseRetriever):
    """A retriever that finds nothing when the model knows, and enough when it does not.

    Without an `llm` the wrapped retriever is asked once and its nodes come back untouched. With
    one, retrieval goes on until the references suffice: the model drafts an answer, names what is
    missing, and that is searched too (RaLLM §5). The very nodes come back either way; where several
    have the same text, word by word, see `to_node`.

    LlamaIndex's own query and chat engines answer "Empty Response" where nothing was retrieved, so
    a router that may skip retrieval belongs into `SKRQueryEngine` or `SKRChatEngine`; here it is
    for callers who handle an empty list themselves, or give a `known_text`.

    Args:
        retriever: A LlamaIndex retriever or index, or a `Retriever`; or several by name, whose
            rankings are fused.
        router: The router; retrieves always by default. The file of a saved router is loaded for
            this retriever, and for the model where one is given. Of a policy the decision before
            the search is taken; one warning says what is left out.
        k: The largest number of nodes; None leaves it to the retriever, or to the budget in a loop.
            An index that takes ``similarity_top_k`` is asked for as many.
        llm: The model that turns self-completion on: a LlamaIndex LLM, a model id, or a
            `LanguageModel`.
        budget: The limits of self-completion.
        templates: The words of its prompts.
        instructions: The words before each prompt that asks the `llm` for an answer, as for
            `SKRQueryEngine`: the answer that a router looks at should be the app's own.
        allow_query: The rule of which queries self-completion may search, as for `SKRQueryEngine`.
        known_text: The text of the one node that comes back where the model knows, in place of
            none: for LlamaIndex's own chat and query engines, see `KNOWN_TEXT`.
        callback_manager: The callback manager of LlamaIndex.

    Raises:
        InputError: The retriever or the model is none of the above, or `k` is below 1.
        RetrieverError: While retrieving with an `llm`: every search failed.

    Example:
        >>> from skr_core.routers import NeverRetrieve
        >>> from skr_core.testing import MappingRetriever
        >>> search = MappingRetriever({"Capital?": ["Paris is the capital."]})
        >>> SKRRetriever(search).retrieve("Capital?")[0].text
        'Paris is the capital.'
        >>> SKRRetriever(search, router=NeverRetrieve()).retrieve("Capital?")
        []
    """

    @hinting(
        top_k=_NUMBER,
        similarity_top_k=_NUMBER,
        prompt=_WORDS,
        system_prompt=_WORDS,
        text_qa_template=_WORDS,
    )
    def __init__(
        self,
        retriever: RetrieverLike,
        *,
        router: RouterLike | None = None,
        k: int | None = None,
        llm: ModelLike | None = None,
        budget: Budget | None = None,
        templates: PromptTemplates | None = None,
        instructions: InstructionsLike | None = None,
        allow_query: AllowQuery | None = None,
        known_text: str | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        _checked_number(k)
        from skr_graphs import create_self_completion_graph  # LangGraph is loaded when it is used

        super().__init__(callback_manager)
        model = None if llm is None else as_language_model(llm)
        budget = budget or Budget()
        self._k = k
        self._known = [] if known_text is None else [_note(known_text)]
        self._given = partial(
            as_retriever, retriever, model=model, callback_manager=callback_manager
        )
        given: Any = retriever.values() if isinstance(retriever, Mapping) else retriever
        given = given if isinstance(retriever, Mapping | list | tuple) else [retriever]
        # A ready retriever is not asked for as many, but cut to as many.
        self._takes_k = all(isinstance(each, Index) for each in given)
        self._source = self._made(k)
        self._router = routing_alone(
            as_router(router, model, self._source), "SKRRetriever", has_model=model is not None
        )
        self._settings: Settings | None = None
        words = per_question(as_words(instructions))
        checked_rule(allow_query, has_model=model is not None)
        if model is not None:
            self._settings = Settings.of(
                model, router=self._router, templates=templates, instructions=words
            )
        self._context = SKRContext(
            model=model,
            retriever=self._source,
            budget=_up_to(k, budget),
            templates=templates,
            instructions=words,
            allow_query=allow_query,
            # The answer is not wanted, so no call is spent on a last one.
            when_insufficient="refuse",
        )
        self._factory = create_self_completion_graph
        self._graph = self._factory().compile(name="skr")

    @hinting(top_k=_NUMBER, similarity_top_k=_NUMBER)
    def with_options(
        self,
        *,
        k: int | None = None,
        filters: MetadataFilters | None = None,
        budget: Budget | None = None,
    ) -> Self:
        """Return a retriever for one request, which runs the same compiled graph.

        What is given takes the place of the retriever's own; this retriever stays as it is.

        Args:
            k: The largest number of nodes.
            filters: The conditions that the metadata of an index's nodes must meet, such as the
                tenant's. They reach each of several retrievers, or are refused.
            budget: The limits of self-completion.

        Raises:
            InputError: A retriever within takes no `filters`, or `k` is below 1.

        Example:
            >>> from skr_core.testing import MappingRetriever
            >>> retriever = SKRRetriever(MappingRetriever({"Capital?": ["Paris.", "Lyon."]}))
            >>> len(retriever.with_options(k=1).retrieve("Capital?"))
            1
        """
        made = object.__new__(type(self))  # no copy: that would make the graph again
        vars(made).update(vars(self))
        made._k = _checked_number(k) or self._k
        if filters is not None:
            made._given = partial(self._given, filters=filters)
        made._source = made._made(made._k)
        limits = budget or self._context.budget or Budget()
        made._context = replace(
            self._context, retriever=made._source, budget=_up_to(made._k, limits)
        )
        return made

    def _made(self, k: int | None) -> Retriever:
        """What is searched; an index is asked for `k` nodes where it takes a number."""
        if k and self._takes_k:
            with suppress(InputError):
                return self._given(similarity_top_k=k)
        return self._given()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return run(self._nodes(query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await arun(self._nodes(query_bundle))

    def _nodes(self, query_bundle: QueryBundle) -> Flow[list[NodeWithScore]]:
        question = checked_question(query_bundle.query_str)
        if self._settings is None:
            decision = yield from decided(self._router, question)
        else:  # whose model gives the direct answer to a router that looks at it
            from skr_graphs import decide  # LangGraph is loaded when it is used

            decision = yield from decide(question, self._settings.of_run({}))
        if decision.retrieve and self._settings is not None:
            # The graph emits the decision.
            return (yield from self._complete(question, decision, query_bundle))
        emit({"type": "route", "decision": to_plain(decision)})
        if not decision.retrieve:
            return [*self._known]
        return (yield from self._search(query_bundle))[: self._k]

    def _search(self, query_bundle: QueryBundle) -> Flow[list[NodeWithScore]]:
        source = self._source
        if isinstance(source, LlamaIndexRetriever):  # its nodes, and its errors, as they are
            inner = source.retriever
            return (yield from call(inner.retrieve, inner.aretrieve, query_bundle))
        source = bundled(source, query_bundle)
        found = yield from call(source.retrieve, source.aretrieve, query_bundle.query_str)
        return [to_node(reference) for reference in found]

    def _complete(
        self, question: str, decision: Decision, query_bundle: QueryBundle
    ) -> Flow[list[NodeWithScore]]:
        context = replace(
            self._context,
            router=FixedDecision(decision),
            retriever=bundled(self._source, query_bundle),
        )
        images = image_blocks(query_bundle)
        graph_run = GraphRun(self._graph, question, context, images=images)
        answer = yield from call(graph_run.complete, graph_run.acomplete)
        return [to_node(reference) for reference in retrieved(answer)]


class SKRSelector(BaseSelector):
    """Chooses among a router's choices: those that retrieve, or those that answer directly.

    It takes the place of ``LLMSingleSelector`` in a ``RouterQueryEngine`` or ``RouterRetriever``.
    The question alone decides: names and descriptions of the choices are read only by the
    `selector` that chooses among several of one kind. The selection is never empty, and its reason
    is the decision's.

    Args:
        router: The router that decides whether to retrieve; or the file of a saved one that asks
            no model. Of a policy the decision before the search is taken; one warning says what is
            left out.
        retrieving: The places of the choices that retrieve, from 0; by default all but the first.
            The others answer directly.
        selector: A selector of LlamaIndex, such as ``LLMSingleSelector``, that chooses where
            several choices retrieve, or several answer directly. Without one all of them are
            selected.

    Raises:
        InputError: `retrieving` names no place, the router only weighs answers, or it looks at a
            direct answer and has no model to ask; or, while selecting, a place without a choice,
            or every place.
        ModelError: While selecting: the selector chose a place without a choice.

    Example:
        >>> from skr_core.routers import AlwaysRetrieve, NeverRetrieve
        >>> choices = ["from memory", "from the wiki", "from the web"]
        >>> SKRSelector(AlwaysRetrieve()).select(choices, "Who?").inds
        [1, 2]
        >>> known = SKRSelector(NeverRetrieve()).select(choices, "Who?")
        >>> known.ind, known.reason
        (0, 'no question is retrieved for')
    """

    def __init__(
        self,
        router: RouterLike,
        *,
        retrieving: int | Sequence[int] | None = None,
        selector: BaseSelector | None = None,
    ) -> None:
        places = (retrieving,) if isinstance(retrieving, int) else retrieving
        if places is not None and (not places or min(places) < 0):
            raise InputError(f"retrieving must be places of choices, from 0, not {retrieving}")
        self._router = routing_alone(as_router(router), "SKRSelector")
        self._retrieving = None if places is None else frozenset(map(int, places))
        self._selector = selector

    def _select(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return run(self._selection(choices, query))

    async def _aselect(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return await arun(self._selection(choices, query))

    def _selection(
        self, choices: Sequence[ToolMetadata], query: QueryBundle
    ) -> Flow[SelectorResult]:
        places = range(len(choices))
        retrieving = set(places[1:]) if self._retrieving is None else self._retrieving
        direct = [place for place in places if place not in retrieving]
        if not direct or not retrieving.issubset(places) or not retrieving:
            raise InputError(
                f"SKRSelector chooses between what answers directly and what retrieves: of "
                f"{len(choices)} choices {sorted(retrieving)} cannot be those that retrieve"
            )
        question = checked_question(query.query_str)
        decision = yield from decided(self._router, question)
        emit({"type": "route", "decision": to_plain(decision)})
        wanted = sorted(retrieving) if decision.retrieve else direct
        if self._selector is None or len(wanted) == 1:
            chosen = [SingleSelection(index=place, reason=decision.reason) for place in wanted]
            return SelectorResult(selections=chosen)
        return (yield from self._among(wanted, choices, query, decision.reason))

    def _among(
        self, wanted: Sequence[int], choices: Sequence[ToolMetadata], query: QueryBundle, why: str
    ) -> Flow[SelectorResult]:
        """Let the selector choose among the choices of one kind."""
        selector: Any = self._selector
        some = [choices[place] for place in wanted]
        result = yield from call(selector.select, selector.aselect, some, query)
        if not result.selections or not all(0 <= each < len(some) for each in result.inds):
            raise ModelError(f"the selector chose {result.inds} of {len(some)} choices, from 0")
        return SelectorResult(
            selections=[
                SingleSelection(index=wanted[each.index], reason=f"{why}; {each.reason}")
                for each in result.selections
            ]
        )

    def _get_prompts(self) -> PromptDictType:
        return {}  # a router keeps its own

    def _update_prompts(self, prompts: PromptDictType) -> None:
        pass

    def _get_prompt_modules(self) -> PromptMixinType:
        return {} if self._selector is None else {"selector": self._selector}


def _checked_number(k: int | None) -> int | None:
    if k is not None and k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    return k


def _up_to(k: int | None, budget: Budget) -> Budget:
    return replace(budget, max_references=k) if k else budget


def _note(text: str) -> NodeWithScore:
    """A node that says in place of documents that none is needed."""
    return NodeWithScore(node=TextNode(text=text, metadata={"known": True}))
