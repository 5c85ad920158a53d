"""A log of rows with a key, from which interrupted work goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from skr_core.errors import DataError, InputError, extra
from skr_core.files.changing import AppendOnlyFile, cut_torn_line
from skr_core.files.jsonl import json_line, parse_object

if TYPE_CHECKING:
    from filelock import FileLock

_BEGINNING = b'{"key":'


class KeyedLog:
    """Rows by their ``key``, in a file of JSON Lines or in memory alone; safe from several threads.

    What was appended is on the disk when `append` returns. A process killed while writing leaves
    at most one torn line, the last, which opening cuts off. Of two rows with one key the later
    counts. One process writes to a file at a time. A file of another kind is left as it is.

    Args:
        path: The file; made if missing. None keeps the rows in memory.

    Attributes:
        path: The file; None where there is none.
        rows: What was appended, by key.

    Raises:
        InputError: The file cannot be written, or another process writes to it.
        DataError: A line is broken that no killed process can have left.
        MissingDependency: There is a file, and the extra ``learning`` is not installed.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
        >>> with KeyedLog(path) as log:
        ...     log.append([{"key": "a", "value": 1}])
        >>> with KeyedLog(path) as log:
        ...     log.rows["a"]["value"]
        1
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.rows: dict[str, Mapping[str, Any]] = {}
        self._between_threads = threading.Lock()
        self._file: AppendOnlyFile | None = None
        self._lock: FileLock | None = None
        if self.path is None:
            return
        path = self.path
        if path.suffix == ".gz":
            raise InputError(f"{path}: rows are appended, so the file cannot be compressed")
        with extra("learning"):
            from filelock import FileLock, Timeout
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(f"{path}.lock", timeout=0, thread_local=False)
            self._lock.acquire()
            try:
                self.rows = _read_rows(path)  # checks all, before anything is cut off
                cut_torn_line(path)
                self._file = AppendOnlyFile(path)
            except BaseException:
                self._lock.release()
                raise
        except Timeout:
            raise InputError(f"{path}: another process is writing to this file") from None
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error}") from error

    def __enter__(self) -> KeyedLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back; closing twice does nothing."""
        if self._file is not None and self._lock is not None:
            self._file.close()
            self._lock.release()

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep rows; each has a ``key``, a text.

        Raises:
            StoreError: The log is closed, or the disk does not take them; the file is as it was
                before.
        """
        with self._between_threads:
            if self._file is not None:
                # The key comes first, so that the beginning of a line tells a file of this kind.
                lines = (json_line({"key": row["key"], **row}) for row in rows)
                self._file.append(b"".join(lines))
            self.rows.update({row["key"]: row for row in rows})

    async def aappend(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """The same in a thread, because a disk may be slow."""
        await asyncio.to_thread(self.append, rows)


def _read_rows(path: Path) -> dict[str, Mapping[str, Any]]:
    rows: dict[str, Mapping[str, Any]] = {}
    if not path.exists():
        return rows
    with path.open("rb") as file:
        if not _may_begin_a_row(file.read(len(_BEGINNING))):
            raise DataError(path, 1, "this is not a file that rows are added to: name a new one")
        file.seek(0)
        for number, line in enumerate(file, start=1):
            row = parse_object(line)
            if row is not None and isinstance(row.get("key"), str):
                rows[row["key"]] = row
            elif row is not None or not _is_torn(line, file):
                raise DataError(path, number, "this is not a row with a key")
    return rows


def _is_torn(line: bytes, file: BinaryIO) -> bool:
    """Whether a killed process or a power cut can have left this line of a file being read."""
    is_last = not line.endswith(b"\n") or (b"\x00" in line and not file.read(1))
    return is_last and _may_begin_a_row(line[: len(_BEGINNING)].partition(b"\x00")[0])


def _may_begin_a_row(start: bytes) -> bool:
    # Some file systems fill with zeros what was not written before a power cut.
    return _BEGINNING.startswith(start.rstrip(b"\x00\n"))
