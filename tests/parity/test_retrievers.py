"""Both SKRRetrievers refuse the same, and find the same references."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import langchain_skr
import llamaindex_skr
from skr_core.errors import InputError, RetrieverError
from skr_core.testing import MappingRetriever, ScriptedModel

QUESTION = "Where was Ada Quill born?"
FOUND = ["Ada Quill was born in Port Elm.", "Port Elm is a town.", "It is old."]
Both = Callable[..., list[Callable[[str], Awaitable[list[Any]]]]]


@pytest.fixture(params=["sync", "async"])
def both(request: pytest.FixtureRequest) -> Both:
    """Makes both retrievers of the same parts, asked in one of two ways."""

    def both(source: Any, *, model: Any = None, k: int | None = None) -> Any:
        langchain = langchain_skr.SKRRetriever(retriever=source, model=model, k=k)
        llamaindex = llamaindex_skr.SKRRetriever(source, llm=model, k=k)
        if request.param == "async":
            return [langchain.ainvoke, llamaindex.aretrieve]
        blocking: list[Callable[[str], Any]] = [langchain.invoke, llamaindex.retrieve]
        return [lambda query, ask=ask: asyncio.to_thread(ask, query) for ask in blocking]

    return both


@pytest.fixture(params=["once", "until they suffice"])
def model(request: pytest.FixtureRequest) -> ScriptedModel | None:
    return None if request.param == "once" else ScriptedModel(["In Port Elm [1]."])


async def test_they_find_the_same(both: Both, model: ScriptedModel | None) -> None:
    for k, number in ((None, 3), (2, 2)):
        here, there = [
            await find(QUESTION)
            for find in both(MappingRetriever({QUESTION: FOUND}), model=model, k=k)
        ]
        assert [document.id for document in here] == [node.node_id for node in there]
        assert [document.page_content for document in here] == FOUND[:number]


@pytest.mark.parametrize("query", ["", "  ", "\n"])
async def test_a_blank_query_is_refused(
    both: Both, model: ScriptedModel | None, query: str
) -> None:
    for find in both(MappingRetriever({QUESTION: FOUND}), model=model):
        with pytest.raises(InputError, match="the question is empty"):
            await find(query)


async def test_failures_are_alike(both: Both, model: ScriptedModel | None) -> None:
    for find in both(MappingRetriever({}, failing=[QUESTION]), model=model):
        with pytest.raises(RetrieverError, match="no connection") as caught:
            await find(QUESTION)
        assert "\n" not in str(caught.value)
