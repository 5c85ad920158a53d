"""A LlamaIndex key-value store behind the port, and what decides an LLM's replies."""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import LLM
from llama_index.core.storage.kvstore.types import BaseKVStore

COLLECTION = "skr_rag"

_NOT_SETTINGS = ("api_key", "default_headers", "timeout", "max_retries", "reuse_client")
"""Of an LLM's fields: they decide whether it replies, and not what."""


class LlamaIndexCache:
    """A LlamaIndex ``BaseKVStore``, which its ingestion caches are made of too, as a cache.

    Args:
        store: The store, such as ``SimpleKVStore`` or one of a database.

    Example:
        >>> from llama_index.core.storage.kvstore import SimpleKVStore
        >>> cache = LlamaIndexCache(SimpleKVStore())
        >>> cache.put("key", "value")
        >>> cache.get("key")
        'value'
    """

    def __init__(self, store: BaseKVStore) -> None:
        self.store = store

    def get(self, key: str) -> str | None:
        """The text of a key, or None."""
        return _text(self.store.get(key, collection=COLLECTION))

    async def aget(self, key: str) -> str | None:
        """The same, awaited."""
        return _text(await self.store.aget(key, collection=COLLECTION))

    def put(self, key: str, value: str) -> None:
        """Keep a text."""
        self.store.put(key, {"text": value}, collection=COLLECTION)

    async def aput(self, key: str, value: str) -> None:
        """The same, awaited."""
        await self.store.aput(key, {"text": value}, collection=COLLECTION)


def settings_of(llm: LLM) -> str:
    """An LLM's class and settings, such as temperature and tokens at most.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> settings_of(MockLLM(max_tokens=1)) == settings_of(MockLLM(max_tokens=2))
        False
    """
    fields = {name: each for name, each in llm.to_dict().items() if name not in _NOT_SETTINGS}
    return str(sorted(fields.items()))


def _text(found: dict[str, Any] | None) -> str | None:
    return str(found["text"]) if found else None
