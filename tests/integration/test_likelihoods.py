"""Likelihoods of given texts from a completions server, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from langchain_skr import create_skr_chain
from llamaindex_skr import SKRQueryEngine
from skr_core import Generation
from skr_core.errors import InputError, ModelError, NoLikelihoodsError
from skr_core.models.openai_server import CompletionScorer
from skr_learn.arbiters import MarginArbiter
from tests.servers import OpenAIServer
from tests.skr_graphs.deciding import SUM, WRONG, adding, library

pytestmark = pytest.mark.integration

Score = Callable[..., Awaitable[Generation]]


def knowing(*words: str) -> Callable[[str, str], float]:
    """Words that stand before, or are known, are likely."""

    def likelihood(before: str, word: str) -> float:
        bare = word.strip().strip(".?")
        return -0.125 if bare in words or bare in before else -4.0

    return likelihood


@pytest.fixture(params=["sync", "async"])
def score(request: pytest.FixtureRequest) -> Score:
    async def score(scorer: CompletionScorer, prompt: str, text: str) -> Generation:
        if request.param == "sync":
            return await asyncio.to_thread(scorer.score, prompt, text)
        return await scorer.ascore(prompt, text)

    return score


def scorer_of(server: OpenAIServer) -> CompletionScorer:
    return CompletionScorer("llama", base_url=server.url)


async def test_the_text_comes_back_with_its_own_tokens(score: Score) -> None:
    with OpenAIServer(keep_alive=False, likelihood=knowing("New")) as server:
        found = await score(scorer_of(server), "Question: Where?\nAnswer:", "New York City")
    assert (found.text, found.logprobs) == ("New York City", (-0.125, -4.0, -4.0))
    assert found.mean_logprob == pytest.approx(-2.708, abs=1e-3)
    assert (found.usage.prompt_tokens, found.usage.completion_tokens, found.usage.calls) == (
        7,
        1,
        1,
    )
    assert server.scored == [
        {
            "model": "llama",
            "prompt": "Question: Where?\nAnswer: New York City",
            "echo": True,
            "logprobs": 1,
            "max_tokens": 1,
            "temperature": 0.0,
        }
    ]


@pytest.mark.parametrize("options", [{}, {"likelihood": knowing(), "echoes": False}])
async def test_a_server_that_tells_none_is_told_in_one_line(
    score: Score, options: dict[str, Any]
) -> None:
    with (
        OpenAIServer(keep_alive=False, **options) as server,
        pytest.raises(NoLikelihoodsError, match="gives no likelihood of a given text") as caught,
    ):
        await score(scorer_of(server), "Answer:", "Paris")
    assert "vLLM" in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_server_that_is_out_of_order_has_failed(score: Score) -> None:
    broken = OpenAIServer(keep_alive=False, likelihood=knowing(), fault="server_error")
    with broken as server, pytest.raises(ModelError) as caught:
        await score(scorer_of(server), "Answer:", "Paris")
    assert not isinstance(caught.value, NoLikelihoodsError)


def test_a_scorer_serves_one_event_loop_after_another() -> None:
    with OpenAIServer(keep_alive=False, likelihood=knowing()) as server:
        scorer = scorer_of(server)
        for _ in range(2):
            assert asyncio.run(scorer.ascore("Answer:", "Paris")).logprobs == (-4.0,)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(keep_alive=False, likelihood=knowing("42")) as server:
        yield server


@pytest.mark.parametrize("colour", ["sync", "async"])
@pytest.mark.parametrize("framework", ["langchain", "llamaindex"])
async def test_both_plug_ins_serve_the_answer_that_the_model_finds_much_likelier(
    framework: str, colour: str, server: OpenAIServer
) -> None:
    options: Any = {"arbiter": MarginArbiter(), "likelihoods": scorer_of(server)}
    if framework == "langchain":
        chain = create_skr_chain(adding(), library(), **options)
        ask, aask = chain.invoke, chain.ainvoke
    else:
        engine: Any = SKRQueryEngine.from_defaults(library(), llm=adding(), **options)
        ask, aask = engine.query, engine.aquery
    answer = await asyncio.to_thread(ask, SUM) if colour == "sync" else await aask(SUM)
    assert str(answer) == "42"
    assert len(server.scored) == 6
    server.likelihood = knowing("Adam")
    answer = await asyncio.to_thread(ask, SUM) if colour == "sync" else await aask(SUM)
    assert str(answer) == WRONG


def test_a_key_must_be_given_for_openai_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match="set OPENAI_API_KEY"):
        CompletionScorer("babbage-002")
