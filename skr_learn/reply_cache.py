"""ReplyCache and CachedModel: replies kept in a file, so that collecting asks nothing twice.

An application's own cache is its framework's, such as LangChain's ``set_llm_cache``. This one knows
what collecting needs: samples are told apart, and a reply from it counts as a cached call.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from skr_core.errors import StoreError
from skr_core.files.foreign import check_parts, check_tables
from skr_core.flow import Flow, arun, call, run
from skr_core.forks import OfProcess, renew_in_children
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.models.windows import Window, window_of
from skr_core.plain import from_plain, to_plain
from skr_core.ports import LanguageModel, OnToken, temperature_of, version_of
from skr_core.types import Generation, Prompt

_SCHEMA = "CREATE TABLE texts (key TEXT PRIMARY KEY, value TEXT)"
PATIENCE_S = 10
"""How long another process may hold the file."""

_LOG = logging.getLogger(__name__)


class ReplyCache(OfProcess):
    """Texts by key in a file of SQLite, for as many threads and processes as like.

    A file that is damaged, or another, is put aside, named ``.damaged``, and an empty one takes its
    place. What the disk does not take is not kept; the log says so.

    Args:
        path: The file; made if missing.

    Raises:
        StoreError: There can be no such file.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "replies.sqlite")
        >>> with ReplyCache(path) as cache:
        ...     cache.put("key", "value")
        >>> with ReplyCache(path) as cache:
        ...     cache.get("key"), cache.get("another")
        ('value', None)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None
        self._closed = False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            check_parts(self.path.parent, [f"{self.path.name}-"])
            self._connection = self._opened()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{self.path} cannot be used as a cache: {error}") from error
        renew_in_children(self)

    def hold(self) -> None:
        """Before a fork: a child would take its parent's locks of the file for its own."""
        self._lock.acquire()
        self._let_go()

    def resume(self) -> None:
        """After a fork, in the parent; what is asked next opens the file."""
        self._lock.release()

    def forget(self) -> None:
        """After a fork, in the child."""
        self._lock = threading.Lock()

    def __enter__(self) -> ReplyCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        with self._lock:
            self._closed = True
            self._let_go()

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def get(self, key: str) -> str | None:
        """Return the text of a key; None where there is none."""
        found = self._tried("SELECT value FROM texts WHERE key = ?", key)
        return str(found[0]) if found else None

    async def aget(self, key: str) -> str | None:
        """Async version of `get`, in a thread, because a disk may be slow."""
        return await asyncio.to_thread(self.get, key)

    def put(self, key: str, value: str) -> None:
        """Keep a text; the last one of a key counts."""
        self._tried("INSERT OR REPLACE INTO texts VALUES (?, ?)", key, value)

    async def aput(self, key: str, value: str) -> None:
        """Async version of `put`, in a thread."""
        await asyncio.to_thread(self.put, key, value)

    def _tried(self, statement: str, *values: str) -> tuple[Any, ...] | None:
        with self._lock:
            if self._closed:
                return None
            try:
                connection = self._connection = self._connection or self._opened()
                with connection:
                    found: tuple[Any, ...] | None
                    found = connection.execute(statement, values).fetchone()
                    return found
            except sqlite3.DatabaseError as error:
                if _is_damage(error):
                    self._let_go()
                    self._put_aside()
                    self._connection = self._opened()
                else:  # locked for long, or the disk is full
                    _LOG.warning("%s: %s", self.path, error)
                return None

    def _opened(self) -> sqlite3.Connection:
        try:
            return _connected(self.path)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            self._put_aside()
            return _connected(self.path)

    def _put_aside(self) -> None:
        aside = self.path.with_name(f"{self.path.name}.damaged")
        _LOG.warning("%s is damaged: it is now %s, and a new one begins", self.path, aside.name)
        self.path.replace(aside)
        for beside in ("-wal", "-shm"):
            self.path.with_name(f"{self.path.name}{beside}").unlink(missing_ok=True)


def _connected(path: Path) -> sqlite3.Connection:
    # The lock of the cache keeps its threads apart.
    connection = sqlite3.connect(path, timeout=PATIENCE_S, check_same_thread=False)
    try:
        check_tables(connection, _SCHEMA)
        # What a power cut takes is asked for again.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        with connection:
            connection.execute(_SCHEMA.replace("TABLE", "TABLE IF NOT EXISTS"))
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Say whether the file is at fault, and not who else uses it or the disk."""
    return type(error) is sqlite3.DatabaseError


class CachedModel:
    """Keeps a model's replies, each under the model's name and settings and the prompt.

    A reply from the cache costs nothing: its usage counts a cached call, which no budget counts. It
    comes as one piece where a stream was asked for. What failed is asked again, and so is a reply
    that was cut off. Routers that draw samples ask for each of them; the cache tells them apart.

    Settings are read from the model's ``version``, which the adapters of both frameworks have:
    temperature, tokens at most, stop words and the like. A model of your own has one too where
    something else than its name decides what it replies.

    Args:
        model: A `LanguageModel`, a LangChain model or a LlamaIndex LLM.
        cache: The cache.

    Attributes:
        name: The model's.

    Example:
        >>> import tempfile
        >>> from skr_core.testing import ScriptedModel
        >>> cache = ReplyCache(Path(tempfile.mkdtemp(), "replies.sqlite"))
        >>> model = CachedModel(ScriptedModel(["Paris.", "Lyon."]), cache)
        >>> prompt = Prompt("answer_directly", "Capital of France?", "Capital of France?")
        >>> model.generate(prompt).text, model.generate(prompt).text
        ('Paris.', 'Paris.')
        >>> usage = model.generate(prompt).usage
        >>> usage.calls, usage.cached_calls
        (0, 1)
        >>> cache.close()
    """

    def __init__(self, model: AnyModel, cache: ReplyCache) -> None:
        self.model: LanguageModel = as_language_model(model)
        self.cache = cache

    @property
    def name(self) -> str:
        """The model's name: what was recorded with it holds for it without a cache too."""
        return self.model.name

    @property
    def version(self) -> str:
        """The model's settings, as far as it says them."""
        return version_of(self.model)

    @property
    def temperature(self) -> float | None:
        """The temperature of the model's replies, as far as it says it."""
        return temperature_of(self.model)

    @property
    def window(self) -> Window | None:
        """The tokens that the model declares to take."""
        return window_of(self.model)

    @property
    def takes_schemas(self) -> bool:
        """Whether the model is sent the schema of an object by its provider's own means."""
        return bool(getattr(self.model, "takes_schemas", False))

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """Look the reply up, or ask the model."""
        return run(self._generation(prompt, on_token))

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """Async version of `generate`."""
        return await arun(self._generation(prompt, on_token))

    def _generation(self, prompt: Prompt, on_token: OnToken | None) -> Flow[Generation]:
        model, cache = self.model, self.cache
        key = self._key(prompt)
        kept = _generation_in((yield from call(cache.get, cache.aget, key)))
        if kept is not None:
            if on_token is not None:
                on_token(kept.text)
            return replace(kept, usage=kept.usage.from_cache())
        made = yield from call(model.generate, model.agenerate, prompt, on_token=on_token)
        if isinstance(made, Generation) and made.text.strip() and not made.is_cut_off:
            yield from call(cache.put, cache.aput, key, json.dumps(to_plain(made)))
        return made

    def _key(self, prompt: Prompt) -> str:
        """Hash all that a model is shown; how well a retriever liked a reference is not."""
        references = [[each.title, each.text] for each in prompt.references]
        shown = {**to_plain(prompt), "references": references}
        if prompt.schema is None:
            del shown["schema"]
        parts = [self.name, self.version, shown]
        joined = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.blake2b(joined.encode(), digest_size=16).hexdigest()


def _generation_in(kept: str | None) -> Generation | None:
    if kept is None:
        return None
    try:
        made = from_plain(Generation, json.loads(kept), strict=True)
    except (ValueError, TypeError, RecursionError):  # written by another version, or by others
        return None
    return made if made.text.strip() else None
