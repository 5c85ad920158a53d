"""Files that neither a kill nor a power cut leaves half written, and a log to go on from."""

from __future__ import annotations

import asyncio
import glob
import os
import platform
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from skr_core.errors import DataError, InputError, StoreError, extra
from skr_core.files.reading import json_line, parse_object

_BEGINNING = b'{"key":'


def replace_file(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file all at once: whoever reads it finds the old content or the new, never half.

    Several may write at the same time: each has a draft of its own, and the last one to end counts.
    What a killed writer left of its draft is removed by the next one on the same machine.

    Args:
        path: The file; may be missing.
        content: The whole, or its parts, so that a large file need not fit in memory.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "note.txt")
        >>> replace_file(path, b"whole"); path.read_bytes()
        b'whole'
    """
    drafts = f".{path.name}.{platform.node()}-"
    _remove_strays(path.parent, drafts)
    draft = path.with_name(f"{drafts}{os.getpid()}-{token_hex(4)}.draft")
    try:
        with draft.open("xb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _remove_strays(folder: Path, drafts: str) -> None:
    """Remove the drafts of processes that are no more."""
    if os.name == "nt":  # where to ask whether a process is there would end it
        return
    for draft in folder.glob(f"{glob.escape(drafts)}*.draft"):
        with suppress(OSError, ValueError):
            try:
                os.kill(int(draft.name.removeprefix(drafts).partition("-")[0]), 0)
            except ProcessLookupError:
                draft.unlink()


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that none of their names is lost in a power cut.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp(), "runs", "first")
        >>> make_folder(folder); make_folder(folder); folder.is_dir()
        True
    """
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make a new or renamed file's name survive a power cut."""
    if os.name == "nt":  # where a folder cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class AppendOnlyFile:
    """A file that only grows, by whole lines that are on the disk when `append` returns.

    One process writes to a file at a time. What an earlier one has written, and was killed before
    it was on the disk, is on the disk from the opening on.

    Args:
        path: The file; made if missing, and so is its folder.

    Raises:
        InputError: The file cannot be written, or another process writes to it.
        MissingDependency: The extra ``learning`` is not installed.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "lines"
        >>> file = AppendOnlyFile(path); file.append(b"one\\n"); file.close()
        >>> path.read_bytes()
        b'one\\n'
    """

    def __init__(self, path: Path) -> None:
        with extra("learning"):
            from filelock import FileLock, Timeout
        self._path = path
        self._lock = FileLock(f"{path}.lock", timeout=0, thread_local=False)
        try:
            make_folder(path.parent)
            self._lock.acquire()
            try:
                self._file = path.open("ab", buffering=0)
                os.fsync(self._file.fileno())
                sync_folder(path.parent)
            except BaseException:
                self._lock.release()
                raise
        except Timeout:
            raise InputError(
                f"{path}: another process is writing to this file: end it, or name another file"
            ) from None
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error}") from error

    def append(self, lines: bytes) -> None:
        """Write whole lines.

        Raises:
            StoreError: The file is closed or was removed, or the disk does not take them; the
                file is as it was before.
        """
        if self._file.closed:
            raise StoreError(f"{self._path} is closed")
        there = os.fstat(self._file.fileno())
        if not there.st_nlink:  # a disk takes lines of a file without a name, and forgets them
            raise StoreError(f"{self._path} was removed while it was open: start again")
        end = there.st_size
        try:
            left = memoryview(lines)
            while left:  # a disk that is nearly full takes a part at first
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except BaseException as error:
            os.ftruncate(self._file.fileno(), end)  # no half line in the middle of the file
            if isinstance(error, OSError):
                raise StoreError(f"{self._path} cannot be written: {error}") from error
            raise

    def close(self) -> None:
        """Give the file back; closing twice does nothing."""
        self._file.close()
        self._lock.release()


def cut_torn_line(path: Path) -> None:
    r"""Put right what a killed process or a power cut left of the last line of JSON Lines.

    A torn line is removed, and so is one that a file system filled with zeros: neither was ever
    acknowledged. A whole one that lacks only its line end gets it. A missing file stays missing.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "rows.jsonl")
        >>> size = path.write_bytes(b'{"key":"a"}\n{"key":"b"')
        >>> cut_torn_line(path); path.read_bytes()
        b'{"key":"a"}\n'
    """
    if not path.exists():
        return
    with path.open("r+b") as file:
        start, line = _last_line(file)
        if parse_object(line) is None:
            if not line.endswith(b"\n") or b"\x00" in line:
                file.truncate(start)
        elif not line.endswith(b"\n"):
            file.seek(0, os.SEEK_END)
            file.write(b"\n")


def _last_line(file: BinaryIO) -> tuple[int, bytes]:
    """Where the last line begins, and the line; its own end does not end it."""
    start, line = file.seek(0, os.SEEK_END), b""
    while start:
        before = max(0, start - 65_536)
        file.seek(before)
        line = file.read(start - before) + line
        start = before
        if (line_end := line.rfind(b"\n", 0, len(line) - 1)) >= 0:
            return start + line_end + 1, line[line_end + 1 :]
    return start, line


class KeyedLog:
    """Rows by their ``key``, in a file of JSON Lines or in memory alone; safe from several threads.

    What was appended is on the disk when `append` returns. A process killed while writing leaves
    at most one torn line, the last, which opening cuts off. Of two rows with one key the later
    counts. One process writes to a file at a time. A file of another kind is left as it is.

    Args:
        path: The file; made if missing. None keeps the rows in memory.

    Attributes:
        path: The file; None where there is none.
        rows: The appended rows, by key.

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
        self._between_threads, self._process = threading.Lock(), os.getpid()
        self._file: AppendOnlyFile | None = None
        if self.path is None:
            return
        path = self.path
        if path.suffix == ".gz":
            raise InputError(f"{path}: rows are appended, so the file cannot be compressed")
        self._file = AppendOnlyFile(path)
        try:
            self.rows = _read_rows(path)  # checks all, before anything is cut off
            cut_torn_line(path)
        except BaseException as error:
            self._file.close()
            if isinstance(error, OSError):
                raise InputError(f"{path} cannot be read: {error}") from error
            raise

    def __enter__(self) -> KeyedLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back; closing twice does nothing."""
        if self._file is not None:
            self._file.close()

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep rows; each has a ``key``, a text.

        Raises:
            StoreError: The log is closed, or of the process that this one was forked from, or the
                disk does not take them; the file is as it was before.
        """
        if self._file is not None and self._process != os.getpid():
            raise StoreError(
                f"{self.path} is written to by the process that this one was forked from: append "
                "there, or open a file of its own here"
            )
        with self._between_threads:
            if self._file is not None:
                # The key comes first, so that the beginning of a line shows a file of this kind.
                lines = (json_line({"key": row["key"], **row}) for row in rows)
                self._file.append(b"".join(lines))
            self.rows.update({row["key"]: row for row in rows})

    async def aappend(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Async version of `append`, in a thread, because a disk may be slow."""
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
