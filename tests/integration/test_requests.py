"""Requests are counted on the wire: one call is one of them, whatever event loops come and go."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
from langchain_openai import ChatOpenAI
from llama_index.llms.openai_like import OpenAILike

from langchain_skr import create_skr_chain
from langchain_skr import load_model as load_for_langchain
from llamaindex_skr import SKRQueryEngine
from llamaindex_skr import load_model as load_for_llamaindex
from skr_core import Budget, LanguageModel, Prompt
from skr_core.bounds import Bounds, bounded
from skr_core.errors import ModelError
from skr_core.flow import arun, call, run
from skr_core.models.adapting import as_language_model
from skr_core.models.clients import async_client
from skr_core.testing import MappingRetriever
from tests.servers import OpenAIServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.usefixtures("quick_retries"),
    # Connections of event loops that are over.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

QUESTION = "What is the capital of France?"
PROMPT = Prompt("answer_directly", QUESTION, QUESTION)
SEARCH = MappingRetriever({QUESTION: ["Paris is the capital of France."]})
LOOPS = 4
TRIES = 3
Load = Callable[..., LanguageModel]


@pytest.fixture(autouse=True, scope="module")
def collected() -> Iterator[None]:
    yield
    gc.collect()  # while such warnings are ignored


@pytest.fixture(params=[load_for_langchain, load_for_llamaindex], ids=["langchain", "llamaindex"])
def load(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Load:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return request.param


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize("on_token", [None, lambda piece: None], ids=["whole", "streamed"])
def test_one_request_a_call_in_each_event_loop(load: Load, on_token: Any) -> None:
    with OpenAIServer() as server:
        model = load("openai:test", base_url=server.url)
        for loop in range(1, LOOPS + 1):
            asyncio.run(model.agenerate(PROMPT, on_token=on_token))
            assert server.calls == loop


def chat_openai(url: str) -> Any:
    client = async_client()
    return ChatOpenAI(model="test", base_url=url, api_key="none", http_async_client=client)  # type: ignore[arg-type]


def openai_like(url: str) -> Any:
    client = async_client()
    return OpenAILike(
        model="test", api_base=url, api_key="none", is_chat_model=True, async_http_client=client
    )


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize("make", [chat_openai, openai_like])
def test_a_client_of_ones_own_sends_one_request_with_our_connections(
    make: Callable[[str], Any],
) -> None:
    """With its own it sends the first one of each further event loop twice."""
    with OpenAIServer() as server:
        model = as_language_model(make(server.url))
        for loop in range(1, LOOPS + 1):
            asyncio.run(model.agenerate(PROMPT))
            assert server.calls == loop


@pytest.mark.usefixtures("connections")
def test_one_request_a_question_in_each_event_loop(load: Load) -> None:
    with OpenAIServer(lambda messages: "SUFFICIENT\nParis [1].") as server:
        model = load("openai:test", base_url=server.url)
        chain = create_skr_chain(model, SEARCH)
        engine = SKRQueryEngine.from_defaults(SEARCH, llm=model)
        for loop in range(LOOPS):
            assert asyncio.run(chain.ainvoke(QUESTION)) == "Paris [1]."
            asyncio.run(engine.aquery(QUESTION))
            chain.invoke(QUESTION)
            assert server.calls == 3 * (loop + 1)


def connections_to(server: OpenAIServer) -> int:
    found = psutil.Process().net_connections("tcp")
    return sum(each.raddr[1:] == (server.port,) for each in found if each.raddr)


@pytest.mark.usefixtures("connections")
def test_a_loop_that_is_shut_down_closes_its_connections(load: Load) -> None:
    with OpenAIServer() as server:
        model = load("openai:test", base_url=server.url)
        for _ in range(LOOPS):
            asyncio.run(model.agenerate(PROMPT))
            assert connections_to(server) == 0


@pytest.mark.usefixtures("connections")
def test_those_of_loops_that_are_closed_alone_are_given_up(load: Load) -> None:
    with OpenAIServer() as server:
        model = load("openai:test", base_url=server.url)
        for _ in range(LOOPS):
            loop = asyncio.new_event_loop()
            loop.run_until_complete(model.agenerate(PROMPT))
            loop.close()
        gc.collect()
        assert connections_to(server) <= 2
        assert server.calls == LOOPS


@pytest.mark.parametrize("fault", ["server_error", "rate_limit"])
def test_a_chain_tries_three_times_in_all(load: Load, fault: Any) -> None:
    with OpenAIServer(fault=fault) as server:
        chain = create_skr_chain(load("openai:test", base_url=server.url), SEARCH)
        with pytest.raises(ModelError):
            chain.invoke(QUESTION)
        assert server.calls == TRIES


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize("fault", ["server_error", "rate_limit"])
def test_an_awaited_chain_does_too(load: Load, fault: Any) -> None:
    with OpenAIServer(fault=fault) as server:
        chain = create_skr_chain(load("openai:test", base_url=server.url), SEARCH)
        with pytest.raises(ModelError):
            asyncio.run(chain.ainvoke(QUESTION))
        assert server.calls == TRIES


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize(
    "drive", [run, lambda flow: asyncio.run(arun(flow))], ids=["sync", "async"]
)
def test_a_wait_beyond_the_deadline_is_not_begun(load: Load, drive: Any) -> None:
    with OpenAIServer(fault="rate_limit", retry_after="50") as server:
        model = load("openai:test", base_url=server.url)
        started = time.monotonic()
        with pytest.raises(ModelError, match="slow down"):
            drive(bounded(call(model.generate, model.agenerate, PROMPT), Bounds.within(30)))
        assert time.monotonic() - started < 15
        assert server.calls == 1


def test_the_length_of_a_reply_is_sent(load: Load) -> None:
    with OpenAIServer(lambda messages: "SUFFICIENT\nParis [1].") as server:
        model = load("openai:test", base_url=server.url)
        for budget in (
            Budget(),
            Budget(max_reply_tokens=300),
            Budget(max_tokens=900),
            Budget(max_tokens=50_000),
        ):
            create_skr_chain(model, SEARCH, budget=budget).invoke(QUESTION)
    sent = [each.get("max_tokens", each.get("max_completion_tokens")) for each in server.requests]
    assert sent == [None, 300, 900, None]
