"""The file a collection writes: one record a line, on the disk before it counts as done."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import orjson
from filelock import FileLock, Timeout

from skr_core.errors import DataError, InputError, StoreError
from skr_core.self_knowledge.records import (
    SelfKnowledge,
    Stamp,
    check_same_stamp,
    read_self_knowledge,
    record_line,
)

_BEGINNING = b'{"question":'


class Ledger:
    """Records of one stamp in one file, appended as they are made; safe from several threads.

    A process killed while writing leaves at most one torn line, the last; opening cuts it off.

    Args:
        path: The file; made if missing.
        stamp: Of every record in it.

    Attributes:
        records: What the file holds, by the key of its question.

    Raises:
        InputError: The file is compressed, cannot be written, or another process writes to it.
        DataError: A line is broken that no killed process can have left.
        StampMismatch: The file holds records that were made with something else.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "records.jsonl"
        >>> with Ledger(path, Stamp()) as ledger:
        ...     ledger.append(SelfKnowledge("Who?", ("Ada",), "Ada", "Bob", 1.0, 0.0))
        >>> [record.question for record in read_self_knowledge(path)]
        ['Who?']
    """

    def __init__(self, path: Path, stamp: Stamp) -> None:
        if path.suffix == ".gz":
            raise InputError(f"{path}: records are appended, so they cannot be compressed")
        self._path = path
        self._between_threads = threading.Lock()
        self._between_processes = _lock(path)
        try:
            _repair(path)
            held = read_self_knowledge(path, mixed_stamps=True) if _has_text(path) else []
            check_same_stamp([stamp, *(record.stamp for record in held)], path)
            self.records = {question_key(record.question): record for record in held}
            self._file = path.open("ab", buffering=0)
        except BaseException as error:
            self._between_processes.release()
            if isinstance(error, OSError):
                raise InputError(f"{path} cannot be written: {error}") from error
            raise

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._between_processes.release()

    def append(self, record: SelfKnowledge) -> None:
        """Write a record; returns when it is on the disk.

        Raises:
            StoreError: The disk does not take it; the file is as it was before.
        """
        with self._between_threads:
            end = os.fstat(self._file.fileno()).st_size
            try:
                self._file.write(record_line(record))
                os.fsync(self._file.fileno())
            except OSError as error:
                os.ftruncate(self._file.fileno(), end)  # no half line in the middle of the file
                raise StoreError(f"{self._path} cannot be written: {error}") from error
            self.records[question_key(record.question)] = record

    async def aappend(self, record: SelfKnowledge) -> None:
        """The same in a thread, because a disk may be slow."""
        await asyncio.to_thread(self.append, record)


def question_key(question: str) -> str:
    """What makes two questions the same: their words, whatever the case and the space between.

    Example:
        >>> question_key("Who  wrote Emma?") == question_key("who wrote emma? ")
        True
    """
    # As the file holds it: a lone surrogate is written as a question mark.
    return " ".join(question.encode("utf-8", "replace").decode().casefold().split())


def _lock(path: Path) -> FileLock:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{path}.lock", timeout=0, thread_local=False)
        lock.acquire()
    except Timeout:
        raise InputError(f"{path}: another collection is writing to this file") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}") from error
    return lock


def _has_text(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _repair(path: Path) -> None:
    """Complete or cut off what stands after the last line end."""
    if not _has_text(path):
        return
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    tail = content[end:]
    if not tail:
        return
    try:
        orjson.loads(tail)
    except orjson.JSONDecodeError:
        torn = tail.rstrip(b"\x00")  # some file systems fill with zeros after a power cut
        if not (torn.startswith(_BEGINNING) or _BEGINNING.startswith(torn)):
            raise DataError(path, content.count(b"\n") + 1, "this is not a record") from None
        os.truncate(path, end)
    else:
        with path.open("ab") as file:
            file.write(b"\n")
