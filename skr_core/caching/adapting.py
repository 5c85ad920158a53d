"""as_cache: a framework's cache where one of ours is wanted.

Each plug-in knows its framework's caches. It is imported when such a cache is given, by name, so
that nothing here depends on a framework.

Example:
    >>> from langchain_core.caches import InMemoryCache
    >>> cache = as_cache(InMemoryCache())
    >>> cache.put("key", "value")
    >>> cache.get("key"), cache.get("another")
    ('value', None)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from skr_core.errors import InputError
from skr_core.ports import Cache


class LangChainCacheLike(Protocol):
    """What a LangChain ``BaseCache`` shows of itself."""

    def lookup(self, prompt: str, llm_string: str) -> Any:
        """What is kept for a prompt and a model."""

    def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
        """Keep it."""


class LlamaIndexStoreLike(Protocol):
    """What a LlamaIndex ``BaseKVStore`` shows of itself."""

    def get(self, key: str, collection: str = ...) -> Any:
        """What is kept under a key."""

    def put(self, key: str, val: dict[Any, Any], collection: str = ...) -> None:
        """Keep it."""


AnyCache = Cache | LangChainCacheLike | LlamaIndexStoreLike
"""What is taken for a cache."""

ADAPTERS = {
    "langchain_core": ("langchain_skr.caching", "LangChainCache"),
    "llama_index": ("llamaindex_skr.caching", "LlamaIndexCache"),
}
"""By the framework that a class comes from: the module and the class that adapt its caches."""


def as_cache(cache: AnyCache) -> Cache:
    """Make a `Cache` of what a caller gave.

    Args:
        cache: A `Cache`, which is passed through, a LangChain ``BaseCache`` or a LlamaIndex
            ``BaseKVStore``.

    Raises:
        InputError: It is none of these.
    """
    given: object = cache
    for base in type(given).__mro__:
        if adapter := ADAPTERS.get(base.__module__.partition(".")[0]):
            module, name = adapter
            adapted: Cache = getattr(import_module(module), name)(given)
            return adapted
    if isinstance(given, Cache):
        return given
    raise InputError(
        f"a cache is wanted, not {type(given).__name__}: give a SqliteCache, a LangChain BaseCache "
        "or a LlamaIndex BaseKVStore"
    )
