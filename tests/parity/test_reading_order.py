"""What only reorders decides how the model reads, and not which references are kept.

Each hop of a question finds its one telling passage first and others behind it.
``LongContextReorder`` puts the best at both ends of a prompt; taken for ranks, its order would push
what a later hop has found out of the prompt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from langchain_skr import create_skr_chain
from llamaindex_skr import SKRChatEngine, SKRQueryEngine
from skr_core import Budget, Generation, OnToken, Prompt
from skr_core.budget import estimate_usage

HOPS = ("Who kept the lamp?", "Where was Malachy Orr born?", "Which river crosses Bexley?")
FACTS = ("Malachy Orr kept the lamp.", "He was born in Bexley.", "The Amber crosses Bexley.")

Ask = Callable[[Any], Any]


def found(query: str, k: int) -> list[str]:
    """The fact of a hop, and other passages behind it."""
    hop = HOPS.index(query)
    return [FACTS[hop], *(f"Letter {n} of bundle {hop} names nobody." for n in range(1, k))]


class Reader:
    """Answers once it has read as many facts as the question has hops, and cites each."""

    name = "reader"

    def __init__(self, hops: int) -> None:
        self.facts = FACTS[:hops]
        self.read: list[str] = []

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        self.read = [each.text for each in prompt.references]
        missing = [n for n, fact in enumerate(self.facts) if fact not in self.read]
        if missing:
            said = f"INSUFFICIENT\nSearch: {HOPS[missing[0]]}"
        else:
            cited = (f"{each[:-1]} [{self.read.index(each) + 1}]." for each in self.facts)
            said = f"SUFFICIENT\n{' '.join(cited)}"
        return Generation(said, estimate_usage(prompt, said))

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        return self.generate(prompt, on_token=on_token)


class Nodes(BaseRetriever):
    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        texts = found(query_bundle.query_str, self.k)
        return [
            NodeWithScore(node=TextNode(text=text), score=1 / rank)
            for rank, text in enumerate(texts, start=1)
        ]


class Reorder(BaseDocumentTransformer):
    """LangChain's ``LongContextReorder``, whose package is not installed here."""

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        ordered: list[Document] = []
        documents.reverse()  # type: ignore[attr-defined]  # as LangChain's does, in place
        for n, each in enumerate(documents):
            if n % 2:
                ordered.append(each)
            else:
                ordered.insert(0, each)
        return ordered

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Any:
        return self.transform_documents(documents)


class Ranked(BaseDocumentCompressor):
    """A reranker, which gives no scores: what was last is best."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        return documents[::-1]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    def ask(app: Any) -> Any:
        names = {SKRQueryEngine: "query", SKRChatEngine: "chat"}
        name = next((each for kind, each in names.items() if isinstance(app, kind)), "invoke")
        if request.param == "sync":
            return getattr(app, name)(HOPS[0])
        return asyncio.run(getattr(app, f"a{name}")(HOPS[0]))

    return ask


def engine(model: Reader, k: int, *postprocessors: BaseNodePostprocessor) -> SKRQueryEngine:
    return SKRQueryEngine.from_defaults(
        Nodes(k), llm=model, node_postprocessors=postprocessors, budget=Budget(max_rounds=3)
    )


def chain(model: Reader, k: int, *parts: Any, **options: Any) -> Any:
    search = RunnableLambda(lambda query: [*map(Document, found(query, k))])
    pipeline = DocumentCompressorPipeline(transformers=list(parts)) if parts else None
    options = {"return_sources": True, "budget": Budget(max_rounds=3), **options}
    return create_skr_chain(model, search, compressor=pipeline, **options)


def is_right(answer: str, read: Sequence[str], hops: int) -> bool:
    """Whether each fact is told, and cited under the number of its own passage."""
    return all(f"{each[:-1]} [{read.index(each) + 1}]." in answer for each in FACTS[:hops])


@pytest.mark.parametrize("hops", [2, 3])
@pytest.mark.parametrize("k", range(4, 11))
def test_hops_are_answered_right_and_read_in_the_order_given(ask: Ask, hops: int, k: int) -> None:
    plain, reordered, by_transformer = Reader(hops), Reader(hops), Reader(hops)
    without = ask(engine(plain, k))
    response = ask(engine(reordered, k, LongContextReorder()))
    sourced = ask(chain(by_transformer, k, Reorder()))
    assert is_right(str(without), plain.read, hops)
    assert is_right(str(response), reordered.read, hops)
    assert is_right(sourced["answer"], by_transformer.read, hops)
    assert sorted(reordered.read) == sorted(plain.read), "the same references are kept"
    assert reordered.read != plain.read
    best, second = plain.read[:2]
    assert {reordered.read[0], reordered.read[-1]} == {best, second}, "the best at both ends"
    assert by_transformer.read == reordered.read
    assert [each.text for each in response.source_nodes] == reordered.read
    assert [each.page_content for each in sourced["context"]] == by_transformer.read


def test_a_chat_and_a_prompt_of_documents_too(ask: Ask) -> None:
    model = Reader(2)
    response = ask(
        SKRChatEngine.from_defaults(Nodes(4), llm=model, node_postprocessors=[LongContextReorder()])
    )
    assert is_right(str(response), model.read, 2)
    assert FACTS[0] in (model.read[0], model.read[-1])
    template = PromptTemplate.from_template("{page_content}")
    shown = ask(chain(model, 4, Reorder(), document_prompt=template))
    assert is_right(shown["answer"], model.read, 2)
    assert FACTS[0] in (model.read[0], model.read[-1])


def test_what_does_not_fit_is_left_out_by_rank(ask: Ask) -> None:
    model = Reader(2)
    budget = Budget(max_rounds=3, max_reference_tokens=80)
    sourced = ask(chain(model, 10, Reorder(), budget=budget))
    assert is_right(sourced["answer"], model.read, 2)
    assert len(model.read) < 10


class Query(BaseNodePostprocessor):
    """A reranker that leaves the scores as they are; without a query it has no order."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("a query is wanted")
        return nodes[::-1]


def test_a_reranker_ranks_even_where_it_changes_no_score(ask: Ask) -> None:
    model = Reader(1)
    ask(engine(model, 4, Query()))
    assert model.read == found(HOPS[0], 4)[::-1]
    ask(engine(model, 4, Query(), LongContextReorder()))
    last = found(HOPS[0], 4)[-1]
    assert last in (model.read[0], model.read[-1]), "what it ranks best stands at one end"
    ask(chain(model, 4, Ranked()))
    assert model.read == found(HOPS[0], 4)[::-1]
    ask(chain(model, 4, Ranked(), Reorder()))
    assert last in (model.read[0], model.read[-1])
