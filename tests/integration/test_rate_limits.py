"""A busy server's 429 through chain and engine: caught as what it is, in every way users catch."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import openai
import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from llama_index.llms.openai_like import OpenAILike

from langchain_skr import create_skr_chain
from llamaindex_skr import SKRQueryEngine, openai_like
from skr_core.errors import ModelError
from skr_core.testing import MappingRetriever
from tests.servers import OpenAIServer

pytestmark = pytest.mark.integration

QUESTION = "What is the capital of France?"
SEARCH: Any = RunnableLambda(lambda query: [Document("Paris is the capital of France.")])
Ask = Callable[[Any], Awaitable[str]]


@pytest.fixture
def busy() -> Iterator[OpenAIServer]:
    with OpenAIServer(fault="rate_limit", keep_alive=False) as server:
        yield server


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    async def ask(system: Any) -> str:
        if isinstance(system, SKRQueryEngine):
            if request.param == "sync":
                return str(await asyncio.to_thread(system.query, QUESTION))
            return str(await system.aquery(QUESTION))
        if request.param == "sync":
            return str(await asyncio.to_thread(system.invoke, QUESTION))
        return str(await system.ainvoke(QUESTION))

    return ask


async def closed(client: Any, awaited: Any) -> None:
    client.close()
    await awaited.close()


async def test_a_chain_raises_what_its_model_raises(ask: Ask, busy: OpenAIServer) -> None:
    chat = ChatOpenAI(model="test", base_url=busy.url, api_key="none", max_retries=0)
    chain = create_skr_chain(chat, SEARCH)
    with pytest.raises(openai.RateLimitError) as caught:
        await ask(chain)
    check(caught.value)
    await closed(chat.root_client, chat.root_async_client)


async def test_with_fallbacks_falls_back(ask: Ask, busy: OpenAIServer) -> None:
    chat = ChatOpenAI(model="test", base_url=busy.url, api_key="none", max_retries=0)
    other = RunnableLambda(lambda question: "from the other")
    chain = create_skr_chain(chat, SEARCH)
    kept = chain.with_fallbacks([other], exceptions_to_handle=(openai.RateLimitError,))
    assert await ask(kept) == "from the other"
    strict = chain.with_fallbacks([other], exceptions_to_handle=(openai.BadRequestError,))
    with pytest.raises(openai.RateLimitError):
        await ask(strict)
    await closed(chat.root_client, chat.root_async_client)


async def test_an_engine_raises_what_its_model_raises(ask: Ask, busy: OpenAIServer) -> None:
    llm: OpenAILike = openai_like("test", base_url=busy.url, api_key="none", tries=1)
    search = MappingRetriever({QUESTION: ["Paris is the capital of France."]})
    engine = SKRQueryEngine.from_defaults(search, llm=llm)
    with pytest.raises(openai.RateLimitError) as caught:
        await ask(engine)
    check(caught.value)
    await closed(llm._get_client(), llm._get_aclient())


def check(error: openai.RateLimitError) -> None:
    assert isinstance(error, ModelError)
    assert re.match(r"openai:test: \w*RateLimitError: ", str(error))
    assert (error.status_code, error.response.headers["retry-after"]) == (429, "0.01")
    cause = error.__cause__
    assert isinstance(cause, openai.RateLimitError)
    assert not isinstance(cause, ModelError)
