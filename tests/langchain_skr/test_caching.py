"""LangChain's caches, LangGraph's node cache, and what LangChain's own cache replied."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.language_models import FakeListChatModel
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda
from langchain_openai import ChatOpenAI
from langgraph.cache.memory import InMemoryCache as NodeCache
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy
from typing_extensions import TypedDict

from langchain_skr import LangChainModel, create_skr_chain
from langchain_skr.caching import settings_of
from skr_core.prompts.asking import answer_directly
from skr_core.routers import PromptRouter
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs.building_blocks import create_route_node
from skr_learn.reply_cache import CachedModel
from tests.servers import OpenAIServer

ASKED = answer_directly("What is the capital of France?")
SEARCH = MappingRetriever({"Capital?": ["Paris is the capital of France."]})


def chat(server: OpenAIServer, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(model="tiny", base_url=server.url, api_key="none", **options)


@pytest.mark.parametrize("awaited", [False, True])
def test_a_chain_asks_nothing_twice(awaited: bool) -> None:
    inner = FakeListChatModel(responses=["SUFFICIENT\nIt is Paris [1].", "SUFFICIENT\nNo [1]."])
    cache = InMemoryCache()
    for _ in range(2):  # another chain, the same cache
        chain = create_skr_chain(CachedModel(inner, cache), SEARCH)
        said = asyncio.run(chain.ainvoke("Capital?")) if awaited else chain.invoke("Capital?")
        assert said == "It is Paris [1]."


def test_settings_are_part_of_the_key() -> None:
    with OpenAIServer() as server:
        cache = InMemoryCache()
        cold, warm = chat(server, temperature=0), chat(server, temperature=1)
        for model in (cold, warm, chat(server, max_tokens=5), cold.bind(stop=["."])):
            CachedModel(model, cache).generate(ASKED)
        assert server.calls == 4
        usage = CachedModel(chat(server, temperature=0), cache).generate(ASKED).usage
        assert server.calls == 4
        assert usage.cached_calls == 1
        assert usage.cached_prompt_tokens > 0


def test_keys_hold_no_secret() -> None:
    model = ChatOpenAI(model="tiny", api_key="sk-secret")
    assert "sk-secret" not in settings_of(model)


def test_a_completion_model_and_fallbacks_have_settings() -> None:
    one, other = FakeListLLM(responses=["a"]), FakeListLLM(responses=["b"])
    assert settings_of(one) != settings_of(other)
    assert settings_of(one.with_fallbacks([one])) != settings_of(one.with_fallbacks([other]))


def test_a_model_that_a_runs_config_chooses_is_another() -> None:
    warm = FakeListChatModel(responses=["a"]).configurable_fields(
        responses=ConfigurableField(id="said")
    )
    model = LangChainModel(warm)
    versions = []

    def look(_: object, config: RunnableConfig) -> None:
        versions.append(model.version)

    for said, thread in (("a", "1"), ("b", "1"), ("b", "2")):
        RunnableLambda(look).invoke(None, {"configurable": {"said": said, "thread_id": thread}})
    assert versions[0] != versions[1] == versions[2]


@pytest.mark.parametrize("awaited", [False, True])
def test_what_langchains_own_cache_replied_is_counted_apart(awaited: bool) -> None:
    with OpenAIServer() as server:
        model = LangChainModel(chat(server, cache=InMemoryCache()))

        def ask():
            return asyncio.run(model.agenerate(ASKED)) if awaited else model.generate(ASKED)

        first, second = ask(), ask()
        assert server.calls == 1
        assert first.usage.calls == 1
        assert second.usage == first.usage.from_cache()


def test_a_route_node_takes_langgraphs_cache_policy() -> None:
    class State(TypedDict, total=False):
        question: str
        decision: dict[str, Any]

    model = ScriptedModel(["No, I do not.", "Yes, I know."])
    builder = StateGraph(State)
    builder.add_node("route", create_route_node(PromptRouter(model)), cache_policy=CachePolicy())
    builder.add_edge(START, "route")
    graph = builder.compile(cache=NodeCache())
    first, second = (graph.invoke({"question": "Who?"}) for _ in range(2))
    assert first == second
    assert len(model.prompts) == 1
