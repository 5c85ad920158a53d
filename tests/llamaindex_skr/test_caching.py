"""LlamaIndex's key-value stores keep replies, under an LLM's settings."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.storage.kvstore import SimpleKVStore
from llama_index.llms.openai_like import OpenAILike

from llamaindex_skr import SKRQueryEngine
from llamaindex_skr.caching import settings_of
from skr_core.prompts.asking import answer_directly
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_learn.reply_cache import CachedModel

ASKED = answer_directly("What is the capital of France?")
SEARCH = MappingRetriever({"Capital?": ["Paris is the capital of France."]})


@pytest.mark.parametrize("awaited", [False, True])
def test_an_engine_asks_nothing_twice(awaited: bool) -> None:
    model = ScriptedModel(["SUFFICIENT\nIt is Paris [1]."])
    store = SimpleKVStore()
    for _ in range(2):
        engine = SKRQueryEngine.from_defaults(SEARCH, llm=CachedModel(model, store))
        response = asyncio.run(engine.aquery("Capital?")) if awaited else engine.query("Capital?")
        assert str(response) == "It is Paris [1]."
    assert len(model.prompts) == 1
    assert response.metadata is not None
    usage = response.metadata["usage"]["answer_with_references"]
    assert (usage["calls"], usage["cached_calls"]) == (0, 1)


def test_a_store_that_was_persisted_replies(tmp_path: Path) -> None:
    path = str(tmp_path / "replies.json")
    store = SimpleKVStore()
    said = CachedModel(MockLLM(max_tokens=2), store).generate(ASKED)
    store.persist(path)
    again = CachedModel(MockLLM(max_tokens=2), SimpleKVStore.from_persist_path(path))
    assert again.generate(ASKED).usage == said.usage.from_cache()
    other = CachedModel(MockLLM(max_tokens=3), SimpleKVStore.from_persist_path(path))
    assert other.generate(ASKED).usage.cached_calls == 0


def test_settings_count_and_keys_do_not() -> None:
    def settings(**options) -> str:
        return settings_of(OpenAILike(model="tiny", api_base="http://localhost/v1", **options))

    assert settings(temperature=0.1) != settings(temperature=0.2)
    assert settings(max_tokens=1) != settings(max_tokens=2)
    assert settings(api_key="sk-one") == settings(api_key="sk-two")
    assert "sk-one" not in settings(api_key="sk-one")
