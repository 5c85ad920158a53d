"""SKRRetriever: a LlamaIndex retriever that stays silent when the model knows the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Never

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llamaindex_skr import advice
from llamaindex_skr.adapters import (
    LlamaIndexRetriever,
    ModelLike,
    RetrieverLike,
    as_language_model,
    as_retriever,
)
from llamaindex_skr.bundles import bundled
from llamaindex_skr.events import tell
from llamaindex_skr.graph_run import GraphRun
from llamaindex_skr.nodes import to_node
from llamaindex_skr.remaking import RemadeGraph
from skr_core.budget import Budget
from skr_core.errors import InputError, OptionError, retrieved
from skr_core.flow import Flow, arun, call, run
from skr_core.options import refuse_unknown
from skr_core.plain import to_plain
from skr_core.prompts.asking import checked_question
from skr_core.prompts.templates import PromptTemplates
from skr_core.routers.constant import FixedDecision
from skr_core.settings import RouterLike, as_router, decided
from skr_core.types import Decision
from skr_graphs.context import SKRContext

_OPTIONS = (
    *("retriever", "router", "k", "llm", "budget", "templates", "known_text"),
    "callback_manager",
)

KNOWN = "No document is needed for this question: answer it from what you know."
"""A `known_text`: the prompts of LlamaIndex's engines say to answer from documents alone."""


class SKRRetriever(RemadeGraph, BaseRetriever):
    """Wraps a retriever: ``[]`` when the model knows, what suffices when it does not.

    Without an `llm` the wrapped retriever is asked once and its nodes come back untouched. With
    one, retrieval goes on until the references suffice: the model drafts an answer, says what is
    missing, and that is searched too (RaLLM §5). The very nodes come back either way; where several
    say the same, word by word, see `to_node`.

    LlamaIndex's own query and chat engines answer "Empty Response" where nothing was retrieved, so
    a router that may skip retrieval belongs into `SKRQueryEngine` or `SKRChatEngine`; here it is
    for callers who handle an empty list themselves, or give a `known_text`.

    Args:
        retriever: A LlamaIndex retriever or index, or a `Retriever`; or several by name, whose
            rankings are fused.
        router: Decides whether to retrieve; always, by default. The folder of a saved router is
            loaded for this retriever, and for the model where one is given.
        k: Nodes at most; None leaves it to the retriever, or to the budget in a loop. An index
            that takes ``similarity_top_k`` is asked for as many.
        llm: Turns self-completion on: a LlamaIndex LLM, a model id, or a `LanguageModel`.
        budget: The limits of self-completion.
        templates: The words of its prompts.
        known_text: Text of the one node that comes back where the model knows, in place of none:
            for LlamaIndex's own chat and query engines, see `KNOWN`.
        callback_manager: LlamaIndex's.

    Raises:
        InputError: The retriever or the model is none of the above, or `k` is below 1.
        OptionError: It takes no keyword of a name that was given.
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

    def __init__(
        self,
        retriever: RetrieverLike,
        *,
        router: RouterLike | None = None,
        k: int | None = None,
        llm: ModelLike | None = None,
        budget: Budget | None = None,
        templates: PromptTemplates | None = None,
        known_text: str | None = None,
        callback_manager: CallbackManager | None = None,
        **unknown: Never,
    ) -> None:
        refuse_unknown("SKRRetriever", unknown, _OPTIONS, advice.RETRIEVER)
        if k is not None and k < 1:
            raise InputError(f"k must be at least 1, not {k}")
        from skr_graphs import create_self_completion_graph  # LangGraph is loaded when it is used

        super().__init__(callback_manager)
        model = None if llm is None else as_language_model(llm)
        budget = budget or Budget()
        self._k = k
        self._known = [] if known_text is None else [_note(known_text)]
        try:
            self._source = as_retriever(retriever, model=model, similarity_top_k=k)
        except OptionError:  # what takes no number gives what it finds, which is cut
            self._source = as_retriever(retriever, model=model)
        self._router = as_router(router, model, self._source)
        self._completes = model is not None
        self._context = SKRContext(
            model=model,
            retriever=self._source,
            budget=replace(budget, max_references=k) if k else budget,
            templates=templates,
            # The text is not wanted, so no call is spent on a last answer.
            when_insufficient="refuse",
        )
        self._factory = create_self_completion_graph
        self._graph = self._factory().compile(name="skr")

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return run(self._nodes(query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await arun(self._nodes(query_bundle))

    def _nodes(self, query_bundle: QueryBundle) -> Flow[list[NodeWithScore]]:
        question = checked_question(query_bundle.query_str)
        decision = yield from decided(self._router, question)
        if decision.retrieve and self._completes:
            # The graph tells the decision.
            return (yield from self._complete(question, decision, query_bundle))
        tell({"type": "route", "decision": to_plain(decision)})
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
        graph_run = GraphRun(self._graph, question, context)
        answer = yield from call(graph_run.complete, graph_run.acomplete)
        return [to_node(reference) for reference in retrieved(answer)]


def _note(text: str) -> NodeWithScore:
    """What stands in a prompt in place of documents, and is none."""
    return NodeWithScore(node=TextNode(text=text, metadata={"known": True}))
