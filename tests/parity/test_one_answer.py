"""One model, router and store: both plug-ins give the same decision, queries, references, text.

However they are asked: with blocking calls, awaited, or streamed in either way; with a model of
ours, or with each framework's own client through a socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse

from langchain_skr import LangChainModel, create_skr_chain
from llamaindex_skr import LlamaIndexModel, SKRQueryEngine, openai_like
from llamaindex_skr.responses import METADATA
from skr_app.country import QUESTION, country_store
from skr_app.extractive import ExtractiveModel
from skr_core import Answer, Budget, Decision, LanguageModel, Settings
from skr_core.plain import to_plain
from skr_core.prompts import QUERY_LEAD
from skr_core.routers import AlwaysRetrieve, NeverRetrieve
from skr_graphs import GraphAnswerer
from skr_store import Store
from tests.servers import Messages, OpenAIServer

QUESTIONS = [
    QUESTION,
    "Which fuel did the lamp burn until 1902?",
    "Who won the chess final on Mars?",
]
Result = dict[str, Any]
Both = Callable[..., Awaitable[tuple[Result, Result]]]


class SingleShot:
    """Retrieves once."""

    def decide(self, question: str) -> Decision:
        return Decision(True, max_rounds=1, score=0.25, threshold=0.125, reason="once will do")

    async def adecide(self, question: str) -> Decision:
        return self.decide(question)


ROUTERS = [AlwaysRetrieve(), NeverRetrieve(), SingleShot()]


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with country_store() as store:
        yield store


@pytest.fixture(params=["sync", "async", "sync stream", "async stream"])
def both(request: pytest.FixtureRequest, store: Store) -> Both:
    """Asks both plug-ins the same, in one of four ways."""
    sync, streaming = "async" not in request.param, "stream" in request.param

    async def both(
        question: str, chat: LanguageModel, llm: LanguageModel, **options: Any
    ) -> tuple[Result, Result]:
        answerer = GraphAnswerer(Settings.of(chat, store, **options))
        chain = create_skr_chain(chat, store, **options)
        engine = SKRQueryEngine.from_defaults(store, llm=llm, streaming=streaming, **options)
        if sync:
            answer = await asyncio.to_thread(answerer.answer, question)
            response: Any = await asyncio.to_thread(engine.query, question)
        else:
            answer = await answerer.aanswer(question)
            response = await engine.aquery(question)
        here, there = [answer.text], [str(response)] if not streaming else []
        if isinstance(response, StreamingResponse):
            here = await asyncio.to_thread(list, chain.stream(question))
            there = await asyncio.to_thread(list, response.response_gen)
        elif isinstance(response, AsyncStreamingResponse):
            here = [token async for token in chain.astream(question)]
            there = [token async for token in response.async_response_gen()]
        return _of_answer(answer, here), _of_response(response, there)

    return both


def _of_answer(answer: Answer, tokens: list[str]) -> Result:
    about = {key: to_plain(getattr(answer, key)) for key in METADATA}
    references = [(each.id, each.text, each.score) for each in answer.references]
    assert "".join(tokens) == answer.text
    return {"tokens": tokens, "references": references, **about}


def _of_response(response: Any, tokens: list[str]) -> Result:
    references = [(each.node_id, each.text, each.score) for each in response.source_nodes]
    return {"tokens": tokens, "references": references, **response.metadata}


@pytest.mark.parametrize("router", ROUTERS, ids=lambda router: type(router).__name__)
@pytest.mark.parametrize("question", QUESTIONS)
async def test_both_plugins_agree(both: Both, router: Any, question: str) -> None:
    langchain, llamaindex = await both(
        question, ExtractiveModel(), ExtractiveModel(), router=router
    )
    assert llamaindex == langchain


@pytest.mark.parametrize(
    "options",
    [
        {"budget": Budget(max_rounds=1)},
        {"budget": Budget(max_calls=2), "when_insufficient": "refuse"},
        {"budget": Budget(max_references=1)},
    ],
    ids=["one round", "two calls, abstaining", "one reference"],
)
async def test_both_plugins_agree_at_a_limit(both: Both, options: Any) -> None:
    langchain, llamaindex = await both(QUESTION, ExtractiveModel(), ExtractiveModel(), **options)
    assert llamaindex == langchain


@pytest.fixture
async def models() -> AsyncIterator[tuple[LangChainModel, LlamaIndexModel, OpenAIServer]]:
    with OpenAIServer(_reply) as server:
        chat = ChatOpenAI(
            model="test", base_url=server.url, api_key="none", temperature=0, stream_usage=True
        )
        llm: Any = openai_like("test", base_url=server.url, api_key="none")
        yield LangChainModel(chat), LlamaIndexModel(llm, streaming=True), server
        chat.root_client.close()
        await chat.root_async_client.close()
        llm._get_client().close()
        await llm._get_aclient().close()


@pytest.mark.integration
@pytest.mark.parametrize("router", ROUTERS, ids=lambda router: type(router).__name__)
async def test_both_clients_agree_through_the_wire(both: Both, models: Any, router: Any) -> None:
    chat, llm, server = models
    langchain, llamaindex = await both(QUESTION, chat, llm, router=router)
    assert llamaindex == langchain
    assert llamaindex["usage"]
    assert not any(spent["estimated"] for spent in llamaindex["usage"].values())
    prompts = [request["messages"] for request in server.requests]
    assert prompts[: len(llamaindex["usage"])]
    assert all(prompts.count(each) >= 2 for each in prompts)  # each was sent by both


def _reply(messages: Messages) -> str:
    prompt = messages[-1]["content"]
    if QUERY_LEAD in prompt:
        return f"{QUERY_LEAD} Ottilie Brandt birthplace\n{QUERY_LEAD} Hallerfeld"
    if "internal knowledge" in prompt:
        return "I believe it was Penmarrow."
    references = prompt.partition("References:")[2]
    if "Hallerfeld" not in references:
        return "I'm sorry, I cannot answer the question based on the provided references."
    return "Ottilie Brandt designed it [1]. She was born in Hallerfeld [2][7]."
