"""A journal: rows with a key, appended as they are made, so that an interrupted run goes on."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from filelock import FileLock, Timeout

from skr_core.errors import DataError, InputError, StoreError


class Journal:
    """Rows by their ``key``, in a file of JSON Lines or in memory alone; safe from several threads.

    What was appended is on the disk when `append` returns. A process killed while writing leaves
    at most one torn line, the last, which opening cuts off. Of two rows with one key the later
    counts.

    Args:
        path: The file; made if missing. None keeps the rows in memory.

    Attributes:
        rows: What was appended, by key.

    Raises:
        InputError: The file cannot be written, or another process writes to it.
        DataError: A line is broken that no killed process can have left.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
        >>> with Journal(path) as journal:
        ...     journal.append([{"key": "a", "value": 1}])
        >>> with Journal(path) as journal:
        ...     journal.rows["a"]["value"]
        1
    """

    def __init__(self, path: str | Path | None) -> None:
        self.rows: dict[str, Mapping[str, Any]] = {}
        self._between_threads = threading.Lock()
        self._path = None if path is None else Path(path)
        self._file: Any = None
        self._lock: FileLock | None = None
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(f"{self._path}.lock", timeout=0, thread_local=False)
            self._lock.acquire()
            try:
                self.rows = _read_and_repair(self._path)
                self._file = self._path.open("ab", buffering=0)
            except BaseException:
                self._lock.release()
                raise
        except Timeout:
            raise InputError(f"{self._path}: another run is writing to this file") from None
        except OSError as error:
            raise InputError(f"{self._path} cannot be written: {error}") from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None and self._lock is not None:
            self._file.close()
            self._lock.release()
            self._file = None

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep rows; each has a ``key``.

        Raises:
            StoreError: The disk does not take them; the file is as it was before.
        """
        with self._between_threads:
            if self._file is not None:
                end = os.fstat(self._file.fileno()).st_size
                try:
                    self._file.write(b"".join(map(_line, rows)))
                    os.fsync(self._file.fileno())
                except OSError as error:
                    os.ftruncate(self._file.fileno(), end)
                    raise StoreError(f"{self._path} cannot be written: {error}") from error
            self.rows.update({str(row["key"]): row for row in rows})

    async def aappend(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """The same in a thread, because a disk may be slow."""
        await asyncio.to_thread(self.append, rows)


def _line(row: Mapping[str, Any]) -> bytes:
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    try:
        return orjson.dumps(dict(row), option=options)
    except TypeError:  # a lone surrogate in a model's output
        return orjson.dumps(_encodable(dict(row)), option=options)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_encodable(str(key)): _encodable(each) for key, each in value.items()}
    return [_encodable(each) for each in value] if isinstance(value, list | tuple) else value


def _read_and_repair(path: Path) -> dict[str, Mapping[str, Any]]:
    if not path.exists():
        return {}
    content = path.read_bytes()
    whole, _, torn = content.rpartition(b"\n")
    if torn:
        os.truncate(path, len(content) - len(torn))
    rows: dict[str, Mapping[str, Any]] = {}
    for number, line in enumerate(whole.split(b"\n") if whole else (), start=1):
        try:
            row = orjson.loads(line)
            rows[str(row["key"])] = row
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise DataError(path, number, "this is no row of a run's journal") from None
    return rows
