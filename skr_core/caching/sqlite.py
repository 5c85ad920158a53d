"""SqliteCache: texts by key in one file, for as many threads and processes as like."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from skr_core.errors import StoreError

T = TypeVar("T")

PATIENCE_S = 10
"""How long another process may hold the file."""

_LOG = logging.getLogger(__name__)


class SqliteCache:
    """A cache in a file of SQLite.

    A file that is damaged is put aside, named ``.damaged``, and an empty one takes its place; a row
    that is damaged is not there. What the disk does not take is not kept.

    Args:
        path: The file; made if missing.

    Raises:
        StoreError: There can be no such file.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "replies.sqlite")
        >>> with SqliteCache(path) as cache:
        ...     cache.put("key", "value")
        >>> with SqliteCache(path) as cache:
        ...     cache.get("key"), cache.get("another")
        ('value', None)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._opened()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{self.path} cannot be used as a cache: {error}") from error

    def __enter__(self) -> SqliteCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        with self._lock:
            self._connection.close()

    def get(self, key: str) -> str | None:
        """The text of a key; None where there is none, or a damaged one."""

        def read(connection: sqlite3.Connection) -> str | None:
            found = connection.execute("SELECT value, sum FROM texts WHERE key = ?", [key])
            value, checked = found.fetchone() or ("", "")
            return value if checked == _sum_of(value) else None

        return self._tried(read)

    async def aget(self, key: str) -> str | None:
        """The same in a thread, because a disk may be slow."""
        return await asyncio.to_thread(self.get, key)

    def put(self, key: str, value: str) -> None:
        """Keep a text; the last one of a key counts."""

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                row = [key, value, _sum_of(value)]
                connection.execute("INSERT OR REPLACE INTO texts VALUES (?, ?, ?)", row)

        self._tried(write)

    async def aput(self, key: str, value: str) -> None:
        """The same in a thread."""
        await asyncio.to_thread(self.put, key, value)

    def _tried(self, use: Callable[[sqlite3.Connection], T]) -> T | None:
        with self._lock:
            try:
                return use(self._connection)
            except sqlite3.DatabaseError as error:
                if _is_damage(error):
                    self._begin_anew()
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

    def _begin_anew(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()
        self._put_aside()
        self._connection = _connected(self.path)

    def _put_aside(self) -> None:
        aside = self.path.with_name(f"{self.path.name}.damaged")
        _LOG.warning("%s is damaged: it is now %s, and a new one begins", self.path, aside.name)
        self.path.replace(aside)
        self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)


def _connected(path: Path) -> sqlite3.Connection:
    # The lock of the cache keeps its threads apart.
    connection = sqlite3.connect(path, timeout=PATIENCE_S, check_same_thread=False)
    try:
        # What a power cut takes is asked for again.
        connection.execute("PRAGMA synchronous = OFF")
        with connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS texts (key TEXT PRIMARY KEY, value TEXT, sum TEXT)"
            )
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is at fault, and not who else uses it or the disk."""
    return type(error) is sqlite3.DatabaseError


def _sum_of(value: str) -> str:
    return hashlib.blake2b(value.encode(), digest_size=8).hexdigest()
