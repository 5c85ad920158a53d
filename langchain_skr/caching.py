"""A LangChain cache behind the port, and what LangChain keys a model's replies by."""

from __future__ import annotations

from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import Generation
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.config import var_child_runnable_config

from langchain_skr.models import layers_of

MODEL = "skr-rag"
"""Stands where LangChain's caches expect a model; our keys hold theirs."""

_OF_RUNS = ("__", "thread_id", "checkpoint", "langgraph")
"""How the names in a config begin that say nothing about a model."""


class LangChainCache:
    """A LangChain ``BaseCache`` as a `skr_core.ports.Cache`; one without async runs in a thread.

    Args:
        cache: The cache, such as ``InMemoryCache`` or one of a database.

    Example:
        >>> from langchain_core.caches import InMemoryCache
        >>> cache = LangChainCache(InMemoryCache())
        >>> cache.put("key", "value")
        >>> cache.get("key")
        'value'
    """

    def __init__(self, cache: BaseCache) -> None:
        self.cache = cache

    def get(self, key: str) -> str | None:
        """The text of a key, or None."""
        return _text(self.cache.lookup(key, MODEL))

    async def aget(self, key: str) -> str | None:
        """The same, awaited."""
        return _text(await self.cache.alookup(key, MODEL))

    def put(self, key: str, value: str) -> None:
        """Keep a text."""
        self.cache.update(key, MODEL, [Generation(text=value)])

    async def aput(self, key: str, value: str) -> None:
        """The same, awaited."""
        await self.cache.aupdate(key, MODEL, [Generation(text=value)])


def settings_of(model: Runnable[Any, Any]) -> str:
    """What LangChain's own caches key a model's replies by, beside the messages.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> model = FakeListChatModel(responses=["Paris"])
        >>> settings_of(model) == settings_of(model.bind(stop=["."]))
        False
    """
    from langchain_core.language_models import BaseLLM  # brings YAML, for completion models alone
    from langchain_core.runnables import RunnableWithFallbacks

    said: list[str] = []
    for layer in layers_of(model):
        if isinstance(layer, BaseChatModel):
            said.append(layer._get_llm_string())
        elif isinstance(layer, BaseLLM):
            said.append(str(sorted(layer.asdict().items())))
        elif isinstance(layer, RunnableBindingBase):
            said.append(str(sorted(layer.kwargs.items())))
        elif isinstance(layer, RunnableWithFallbacks):
            said += [settings_of(fallback) for fallback in layer.fallbacks]
        else:  # a run's config chooses the model
            said.append(_chosen())
    return "\n".join(said)


def _chosen() -> str:
    chosen = (var_child_runnable_config.get() or {}).get("configurable", {})
    return str(sorted((name, str(each)) for name, each in chosen.items() if _is_of_model(name)))


def _is_of_model(name: str) -> bool:
    return not name.startswith(_OF_RUNS)


def _text(found: Any) -> str | None:
    return str(found[0].text) if found else None
