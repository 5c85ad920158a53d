"""SKRRetriever in both colours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from llama_index.core.schema import NodeWithScore, QueryBundle

from llamaindex_skr import SKRRetriever
from skr_core.budget import Budget
from skr_core.errors import InputError, ModelError, RetrieverError
from skr_core.prompts.templates import QUERY_LEAD, REFUSAL
from skr_core.routers import NeverRetrieve
from skr_core.testing import BrokenModel, MappingRetriever
from skr_core.types import Decision
from tests.llamaindex_skr.fakes import BORN, FOLLOW_UP, JAWS, QUESTION, Search, Speaker, index

Find = Callable[..., Awaitable[list[NodeWithScore]]]


@pytest.fixture(params=["sync", "async"])
def find(request: pytest.FixtureRequest) -> Find:
    async def find(retriever: SKRRetriever, query: Any = QUESTION) -> list[NodeWithScore]:
        if request.param == "sync":
            return await asyncio.to_thread(retriever.retrieve, query)
        return await retriever.aretrieve(query)

    return find


class SingleShot:
    """A router that allows one round."""

    def decide(self, question: str) -> Decision:
        return Decision(True, max_rounds=1)

    async def adecide(self, question: str) -> Decision:
        return self.decide(question)


async def test_the_wrapped_retrievers_nodes_come_back_untouched(find: Find) -> None:
    found = await find(SKRRetriever(index()))
    assert {node.node_id for node in found} <= {"node-Jaws ", "node-Steve", "node-Paris"}
    assert len(found) == 2


async def test_nothing_where_the_model_knows(find: Find) -> None:
    search = Search()
    assert await find(SKRRetriever(search, router=NeverRetrieve())) == []
    assert await find(SKRRetriever(search, router=NeverRetrieve(), llm=Speaker())) == []
    assert search.colours == []


async def test_k(find: Find) -> None:
    assert len(await find(SKRRetriever(index(), k=3))) == 3
    assert len(await find(SKRRetriever(index(), k=1))) == 1
    assert len(await find(SKRRetriever(Search({QUESTION: [JAWS, BORN]}), k=1))) == 1
    search = Search({QUESTION: [JAWS], FOLLOW_UP: [BORN]})
    assert len(await find(SKRRetriever(search, k=1, llm=Speaker()))) == 1
    with pytest.raises(InputError, match="k must be at least 1"):
        SKRRetriever(search, k=0)


async def test_a_query_bundle_arrives_whole(find: Find) -> None:
    bundles: list[QueryBundle] = []

    class Noting(Search):
        def _of(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            bundles.append(query_bundle)
            return []

    bundle = QueryBundle(QUESTION, embedding=[1.0])
    await find(SKRRetriever(Noting()), bundle)
    assert bundles == [bundle]


async def test_with_a_model_it_retrieves_until_the_references_suffice(find: Find) -> None:
    llm, search = Speaker(), Search()
    found = await find(SKRRetriever(search, llm=llm))
    assert [node.text for node in found] == [JAWS, BORN]
    assert len(llm.sent) == 3
    assert set(search.colours) == set(llm.colours)


async def test_no_call_is_spent_on_an_answer_nobody_reads(find: Find) -> None:
    llm = Speaker(lambda prompt: f"{QUERY_LEAD} new" if QUERY_LEAD in prompt else REFUSAL)
    found = await find(SKRRetriever(Search(), llm=llm, budget=Budget(max_rounds=2)))
    assert [node.text for node in found] == [JAWS]
    assert len(llm.sent) == 2  # a draft and the queries; nothing new was found, so no more


async def test_the_decisions_rounds_hold(find: Find) -> None:
    llm = Speaker()
    found = await find(SKRRetriever(Search(), llm=llm, router=SingleShot()))
    assert [node.text for node in found] == [JAWS]
    assert len(llm.sent) == 1


async def test_what_fails_is_told(find: Find) -> None:
    broken = MappingRetriever({}, failing=[QUESTION])
    for llm in (None, Speaker()):
        with pytest.raises(RetrieverError, match="no connection"):
            await find(SKRRetriever(broken, llm=llm))
    with pytest.raises(ModelError):
        await find(SKRRetriever(Search(), llm=BrokenModel()))
    with pytest.raises(InputError, match="empty"):
        await find(SKRRetriever(Search()), " ")
    with pytest.raises(InputError, match="a retriever is wanted"):
        SKRRetriever(object())
