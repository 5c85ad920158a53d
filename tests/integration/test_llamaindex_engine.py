"""SKRQueryEngine through a real socket: calls side by side, and an event loop never held up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from blockbuster import BlockingError, blockbuster_ctx
from llama_index.llms.openai_like import OpenAILike

from llamaindex_skr import SKRQueryEngine, SKRRetriever, openai_like
from skr_core.routers import NeverRetrieve
from tests.llamaindex_skr.fakes import ANSWER, BORN, JAWS, QUESTION, Search, Speaker, two_hops
from tests.servers import Messages, OpenAIServer

pytestmark = pytest.mark.integration
TOGETHER = 32


def reply(messages: Messages) -> str:
    return two_hops(messages[-1]["content"])


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    with OpenAIServer(reply) as server:
        yield server


@pytest.fixture
async def llm(server: OpenAIServer) -> AsyncIterator[OpenAILike]:
    llm = openai_like("test", base_url=server.url, api_key="none")
    yield llm
    llm._get_client().close()
    await llm._get_aclient().close()


async def streamed(engine: SKRQueryEngine) -> str:
    response: Any = await engine.aquery(QUESTION)
    return "".join([token async for token in response.async_response_gen()])


async def test_a_question_through_the_wire(llm: OpenAILike, server: OpenAIServer) -> None:
    engine = SKRQueryEngine.from_defaults(Search(), llm=llm)
    for response in (
        await asyncio.to_thread(engine.query, QUESTION),
        await engine.aquery(QUESTION),
    ):
        assert str(response) == ANSWER
        assert [node.text for node in response.source_nodes] == [JAWS, BORN]
        assert not any(spent["estimated"] for spent in response.metadata["usage"].values())
    assert server.calls == 6
    assert not any(request.get("stream") for request in server.requests)


async def test_the_models_own_system_prompt_goes_first(
    llm: OpenAILike, server: OpenAIServer
) -> None:
    llm.system_prompt = "You are a film critic."
    engine = SKRQueryEngine.from_defaults(Search(), llm=llm)
    assert str(await engine.aquery(QUESTION)) == ANSWER
    for request in server.requests:
        system, asked = request["messages"]
        assert (system["role"], system["content"]) == ("system", "You are a film critic.")
        assert asked["role"] == "user"


async def test_a_stream_through_the_wire(llm: OpenAILike, server: OpenAIServer) -> None:
    engine = SKRQueryEngine.from_defaults(Search(), llm=llm, streaming=True)
    response: Any = await asyncio.to_thread(engine.query, QUESTION)
    tokens = await asyncio.to_thread(list, response.response_gen)
    assert len(tokens) > 5
    assert "".join(tokens) == await streamed(engine) == ANSWER
    assert all(
        request["stream"]
        for request in server.requests
        if "ask the search engine" not in request["messages"][-1]["content"]
    )


@pytest.mark.parametrize("streaming", [False, True])
async def test_awaited_queries_wait_side_by_side(
    llm: OpenAILike, server: OpenAIServer, streaming: bool
) -> None:
    engine = SKRQueryEngine.from_defaults(llm=llm, router=NeverRetrieve(), streaming=streaming)
    ask = streamed if streaming else _asked
    await ask(engine)  # whatever is made once is made here
    threads: list[set[threading.Thread]] = []

    def noting(messages: Messages) -> str:
        threads.append(set(threading.enumerate()))
        return "Cincinnati."

    server.reply, server.together = noting, TOGETHER
    before = set(threading.enumerate())
    answers = await asyncio.gather(*(ask(engine) for _ in range(TOGETHER)))
    assert answers == ["Cincinnati."] * TOGETHER
    assert server.peak == TOGETHER
    assert threads[0] <= before  # seen when all of them wait: none waits in a thread


async def test_the_event_loop_is_never_held_up(llm: OpenAILike) -> None:
    engine = SKRQueryEngine.from_defaults(Search(), llm=llm)
    streaming = SKRQueryEngine.from_defaults(Search(), llm=llm, streaming=True)
    retriever = SKRRetriever(Search(), llm=llm)
    await engine.aquery(QUESTION)  # imports and connections are made once, before
    await streamed(streaming)
    with blockbuster_ctx():
        assert str(await engine.aquery(QUESTION)) == ANSWER
        assert await streamed(streaming) == ANSWER
        assert len(await retriever.aretrieve(QUESTION)) == 2


async def test_blockbuster_sees_a_model_that_blocks() -> None:
    import time

    class Sleeper(Speaker):
        def _say(self, *args: Any) -> str:
            time.sleep(0.001)
            return super()._say(*args)

    engine = SKRQueryEngine.from_defaults(Search(), llm=Sleeper())
    with blockbuster_ctx(), pytest.raises(Exception, match=r"call to time\.sleep") as caught:
        await engine.aquery(QUESTION)
    assert isinstance(caught.value.__cause__, BlockingError)


async def _asked(engine: SKRQueryEngine) -> str:
    return str(await engine.aquery(QUESTION))
