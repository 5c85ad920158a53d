"""The adapters through a real socket, both frameworks from one body."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from openai import OpenAI

from langchain_skr import LangChainModel
from langchain_skr import load_model as load_for_langchain
from llamaindex_skr import LlamaIndexModel
from llamaindex_skr import load_model as load_for_llamaindex
from skr_core import Generation, LanguageModel, Prompt, Usage
from skr_core.budget import Price, estimate_usage
from skr_core.errors import ModelError
from skr_core.models.limited import Spending
from skr_core.routers import UncertaintyRouter
from tests.servers import Fault, Messages, OpenAIServer

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

QUESTION = "What is the capital of France?"
PROMPT = Prompt("answer_directly", QUESTION, QUESTION)
REPLY = "Paris is the capital of France."
TRIES = 3
Ask = Callable[..., Awaitable[Generation]]
Load = Callable[..., LanguageModel]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    async def ask(model: LanguageModel, prompt: Prompt = PROMPT, **kwargs: Any) -> Generation:
        if request.param == "sync":
            # In a thread, as a blocking caller has no event loop to hold up.
            return await asyncio.to_thread(model.generate, prompt, **kwargs)
        return await model.agenerate(prompt, **kwargs)

    return ask


@pytest.fixture(params=["langchain", "llamaindex"])
async def load(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Load]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    loaded: list[LanguageModel] = []

    def load(server: OpenAIServer, **options: Any) -> LanguageModel:
        make = load_for_langchain if request.param == "langchain" else load_for_llamaindex
        loaded.append(make("openai:test", base_url=server.url, **options))
        return loaded[-1]

    yield load
    for model in loaded:
        if isinstance(model, LangChainModel):
            chat: Any = model.model
            chat.root_client.close()
            await chat.root_async_client.close()
        elif isinstance(model, LlamaIndexModel):
            llm: Any = model.llm
            llm._get_client().close()
            await llm._get_aclient().close()


async def test_a_reply_with_its_usage(ask: Ask, load: Load) -> None:
    with OpenAIServer(lambda messages: REPLY) as server:
        generation = await ask(load(server))
    assert generation.text == REPLY
    assert generation.usage == Usage(6, 6, calls=1)
    (request,) = server.requests
    assert request["messages"] == [{"role": "user", "content": QUESTION}]
    assert "temperature" not in request
    assert "stream_options" not in request


async def test_the_system_is_told_before_the_earlier_turns(ask: Ask, load: Load) -> None:
    prompt = replace(PROMPT, system="Be brief.", history=("Hello.", "Hello!"))
    with OpenAIServer(lambda messages: REPLY) as server:
        await ask(load(server), prompt)
    (request,) = server.requests
    assert [(each["role"], each["content"]) for each in request["messages"]] == [
        ("system", "Be brief."),
        ("user", "Hello."),
        ("assistant", "Hello!"),
        ("user", QUESTION),
    ]


async def test_a_temperature_is_sent_where_it_is_asked_for(ask: Ask, load: Load) -> None:
    with OpenAIServer(lambda messages: REPLY) as server:
        await ask(load(server, temperature=0.5))
        await ask(load(server), on_token=lambda piece: None)
    assert [request.get("temperature", "none") for request in server.requests] == [0.5, "none"]


async def test_a_streamed_reply_with_its_usage(ask: Ask, load: Load) -> None:
    pieces: list[str] = []
    with OpenAIServer(lambda messages: REPLY) as server:
        generation = await ask(load(server), on_token=pieces.append)
    assert pieces == ["Paris", " is", " the", " capital", " of", " France."]
    assert generation.text == REPLY
    assert generation.usage == Usage(6, 6, calls=1)
    assert server.requests[0]["stream"] is True


async def test_what_the_server_read_from_its_cache_is_told(ask: Ask, load: Load) -> None:
    with OpenAIServer(lambda messages: REPLY, cache_step=4) as server:
        model = load(server)
        first, again = await ask(model), await ask(model)
        streamed = await ask(model, on_token=lambda piece: None)
    assert first.usage == Usage(6, 6, calls=1)
    assert again.usage == streamed.usage == Usage(6, 6, calls=1, cache_read_tokens=4)


async def test_logprobs(ask: Ask) -> None:
    with OpenAIServer(lambda messages: REPLY) as server:
        chat = ChatOpenAI(model="test", base_url=server.url, api_key="none", logprobs=True)
        whole = await ask(LangChainModel(chat))
        streamed = await ask(LangChainModel(chat), on_token=lambda piece: None)
        chat.root_client.close()
        await chat.root_async_client.close()
    assert whole.logprobs == streamed.logprobs == (-0.1,) * 6
    assert streamed.usage.estimated  # a ChatOpenAI with an address of its own asks for none


async def test_a_loaded_model_asks_for_logprobs_when_told_to(ask: Ask, load: Load) -> None:
    with OpenAIServer(lambda messages: REPLY) as server:
        model = load(server, logprobs=True)
        whole, streamed = await ask(model), await ask(model, on_token=lambda piece: None)
        decision = await UncertaintyRouter(model).adecide(QUESTION)
        await ask(load(server))
    assert whole.logprobs == streamed.logprobs == (-0.1,) * 6
    assert decision.score == pytest.approx(1 - math.exp(-0.1))
    assert [request.get("logprobs") for request in server.requests] == [True, True, True, None]


@pytest.mark.parametrize("fault", ["rate_limit", "server_error"])
async def test_a_passing_fault_is_retried(ask: Ask, load: Load, fault: Fault) -> None:
    with OpenAIServer(lambda messages: REPLY, fault=fault, times=1) as server:
        assert (await ask(load(server))).text == REPLY
    assert server.calls == 2


async def test_a_busy_server_is_asked_three_times_in_all(ask: Ask, load: Load) -> None:
    with (
        OpenAIServer(fault="rate_limit") as server,
        pytest.raises(ModelError, match=r"^openai:test: \w*RateLimitError: .*slow down"),
    ):
        await ask(load(server))
    assert server.calls == TRIES


@pytest.mark.parametrize("on_token", [None, lambda piece: None], ids=["whole", "streamed"])
@pytest.mark.parametrize("fault", ["broken_json", "no_choices", "truncated", "empty"])
async def test_a_broken_reply_is_a_model_error(
    ask: Ask, load: Load, fault: Fault, on_token: Any
) -> None:
    with OpenAIServer(fault=fault) as server, pytest.raises(ModelError) as caught:
        await ask(load(server), on_token=on_token)
    assert "\n" not in str(caught.value)
    assert server.calls <= TRIES


@pytest.mark.parametrize("on_token", [None, lambda piece: None], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"error": {"message": "out of memory, sk-abcdefghijklmnopqrst"}}, "out of memory, [red"),
        ({"object": "error", "message": "no such model"}, "says: no such model"),
        ({"choices": []}, "without choices"),
        ({"choices": [{"message": {"content": None, "refusal": "Never."}}]}, "refuses: Never."),
        ("<html>Log in at the proxy</html>", "<html>Log in at the proxy</html>"),
    ],
)
async def test_what_is_no_reply_is_told_in_the_server_s_words(
    ask: Ask, load: Load, sent: Any, told: str, on_token: Any
) -> None:
    body = sent.encode() if isinstance(sent, str) else json.dumps(sent).encode()
    with OpenAIServer(lambda messages: body) as server, pytest.raises(ModelError) as caught:
        await ask(load(server), on_token=on_token)
    assert told in str(caught.value)
    assert "sk-abc" not in str(caught.value)
    assert server.calls == 1


@pytest.mark.parametrize("on_token", [None, lambda piece: None], ids=["whole", "streamed"])
@pytest.mark.parametrize("count", [-100_000, "many", 6.5, True, {"a": 1}, [1], 10**30, math.nan])
async def test_usage_that_cannot_be_is_estimated(
    ask: Ask, load: Load, count: Any, on_token: Any
) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": count}
    choice = {"index": 0, "message": {"role": "assistant", "content": REPLY}}
    body = json.dumps({"id": "1", "choices": [choice], "usage": usage}).encode()
    with OpenAIServer(lambda messages: body) as server:
        model = load(server)
        spent = Spending(max_spend=1.0, prices={model.name: Price(1.0, 1.0)})
        generation = await ask(spent.limit(model), on_token=on_token)
    assert generation.usage == estimate_usage(PROMPT, REPLY) == spent.usage
    assert spent.dollars > 0


async def test_a_stream_that_does_not_say_why_it_ended_was_cut_off(ask: Ask, load: Load) -> None:
    chunk = {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Paris is"}}]}
    body = f"data: {json.dumps(chunk)}\n\n".encode()
    with OpenAIServer(lambda messages: body) as server:
        generation = await ask(load(server), on_token=lambda piece: None)
    assert (generation.text, generation.finish_reason) == ("Paris is", "cut_off")
    assert generation.is_cut_off


async def test_a_prompt_is_redirected_to_no_other_host(ask: Ask, load: Load) -> None:
    with OpenAIServer() as other:
        there = other.url.replace("127.0.0.1", "localhost") + "/chat/completions"
        with (
            OpenAIServer(location=there) as server,
            pytest.raises(ModelError, match="redirects to http://localhost"),
        ):
            await ask(load(server))
        assert (server.calls, other.calls) == (1, 0)


async def test_redirects_are_followed_within_the_host_and_not_for_ever(
    ask: Ask, load: Load
) -> None:
    with OpenAIServer(lambda messages: REPLY) as other:
        with OpenAIServer(location=other.url + "/chat/completions") as server:
            assert (await ask(load(server))).text == REPLY
        assert other.calls == 1
    with OpenAIServer() as server:
        server.location = server.url + "/chat/completions"
        with pytest.raises(ModelError, match="again and again"):
            await ask(load(server))
        assert server.calls == 4


async def test_no_server_is_a_model_error(ask: Ask, load: Load) -> None:
    with OpenAIServer() as server:
        model = load(server)
    with pytest.raises(ModelError, match=r"Error: .*(refused|Refused|attempts failed)"):
        await ask(model)


async def test_awaited_calls_wait_side_by_side_without_threads(load: Load) -> None:
    threads: list[set[threading.Thread]] = []

    def reply(messages: Messages) -> str:
        threads.append(set(threading.enumerate()))
        return REPLY

    with OpenAIServer(reply) as server:
        model = load(server)
        await model.agenerate(PROMPT)  # whatever is made once is made here
        server.together = 32
        replies = await asyncio.gather(*(model.agenerate(PROMPT) for _ in range(32)))
    assert server.peak == 32
    # Seen when all 32 wait. Afterwards ChatOpenAI parses replies in the loop's own small pool.
    assert threads[1] <= threads[0]
    assert [reply.text for reply in replies] == [REPLY] * 32


def test_embeddings_come_in_order_and_say_the_same_each_time() -> None:
    with OpenAIServer() as server, OpenAI(base_url=server.url, api_key="none") as client:
        assert [model.id for model in client.models.list()] == ["test"]
        texts = ["Paris in France", "Paris in Texas", "bees"]
        reply = client.embeddings.create(model="test", input=texts)
    paris, texas, bees = (item.embedding for item in reply.data)
    assert dot(paris, paris) == pytest.approx(1)
    assert dot(paris, texas) > dot(paris, bees)


def dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
