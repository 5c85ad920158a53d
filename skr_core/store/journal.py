"""An append-only record of a store's references, from which its index can be made again.

The first line names the embedder, every other line is a reference. An addition is on the disk
before it is acknowledged; a process killed while writing leaves at most one torn line, the last.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from skr_core.errors import DataError, StoreError
from skr_core.types import Reference

FORMAT = 1
LONGEST_HEADER = 65_536
"""Bytes; a file of another kind may be one line without end."""
NO_JOURNAL = "this is not a journal of references"


class Journal:
    """The file ``references.jsonl`` of one store; safe to use from several threads.

    Args:
        path: The file; made if missing.
        embedder: Name of the embedder, written to the first line of a new file.

    Attributes:
        embedder: The name in the first line, which is the one given only for a new file.
        ids: Of the references recorded, in the order of their addition.

    Raises:
        DataError: A line other than the last is broken.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "references.jsonl"
        >>> with Journal(path, "hashing-1024-v1") as journal:
        ...     journal.append([Reference.of("Paris is in France.", "Paris")])
        >>> [reference.title for reference in read_journal(path)]
        ['Paris']
    """

    def __init__(self, path: Path, embedder: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        check_beginning(path)
        _cut_torn_line(path)
        if not path.exists() or path.stat().st_size == 0:
            _write_header(path, embedder)
        with path.open("rb") as file:
            self.embedder = _parse_header(file.readline(), path)
        self.ids = dict.fromkeys(reference.id for reference in read_journal(path))
        self._file = path.open("ab", buffering=0)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, references: Sequence[Reference]) -> None:
        """Record references; returns when they are on the disk. Known ids are passed over."""
        with self._lock:
            new = {item.id: item for item in references if item.id not in self.ids}
            if not new:
                return
            end = os.fstat(self._file.fileno()).st_size
            try:
                self._file.write(b"".join(_encode(reference) for reference in new.values()))
                os.fsync(self._file.fileno())
            except OSError as error:
                os.ftruncate(self._file.fileno(), end)  # no half line in the middle of the file
                raise StoreError(f"{self._path} cannot be written: {error}") from error
            self.ids.update(dict.fromkeys(new))

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        self._file.close()


def read_journal(path: Path) -> Iterator[Reference]:
    """Read the references of a journal one by one, as they were added.

    A torn last line is passed over.

    Raises:
        DataError: This is no journal, or a line is broken.
    """
    with path.open("rb") as lines:
        _parse_header(lines.readline(LONGEST_HEADER), path)
        for number, line in enumerate(lines, start=2):
            if line.endswith(b"\n"):
                yield _decode(line, path, number)


def check_beginning(path: Path) -> None:
    """Refuse a file of another kind that has a journal's name; a missing file is none.

    Raises:
        DataError: It begins neither with a journal's first line nor with a part of one, which is
            what a process killed while making it leaves.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        line = file.readline(LONGEST_HEADER)
    start = _header("").partition(b'""')[0]
    if line.endswith(b"\n"):
        _parse_header(line, path)
    elif not (line.startswith(start) or start.startswith(line)):
        raise DataError(path, 1, NO_JOURNAL)


def rewrite_journal(path: Path, embedder: str) -> None:
    """Put another embedder's name into the first line, all at once or not at all.

    Raises:
        DataError: This is no journal.
    """
    check_beginning(path)
    _cut_torn_line(path)
    draft = path.with_suffix(".draft")
    with path.open("rb") as old, draft.open("wb") as new:
        next(old, None)
        new.write(_header(embedder))
        new.writelines(old)
        new.flush()
        os.fsync(new.fileno())
    draft.replace(path)
    _sync_folder(path.parent)


def _encode(reference: Reference) -> bytes:
    return orjson.dumps(
        {
            "id": reference.id,
            "title": reference.title,
            "text": reference.text,
            "metadata": dict(reference.metadata),
        },
        option=orjson.OPT_APPEND_NEWLINE,
    )


def _decode(line: bytes, path: Path, number: int) -> Reference:
    try:
        row: dict[str, Any] = orjson.loads(line)
        return Reference(row["id"], row["text"], row["title"], metadata=row["metadata"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise DataError(path, number, f"not a recorded reference ({error})") from error


def _header(embedder: str) -> bytes:
    row = {"format": FORMAT, "embedder": embedder}
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _write_header(path: Path, embedder: str) -> None:
    with path.open("wb") as file:
        file.write(_header(embedder))
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(path.parent)


def _parse_header(line: bytes, path: Path) -> str:
    try:
        row: dict[str, Any] = orjson.loads(line)
        if row["format"] != FORMAT:
            raise DataError(path, 1, f"format {row['format']} is not known here, only {FORMAT}")
        return str(row["embedder"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise DataError(path, 1, NO_JOURNAL) from error


def _cut_torn_line(path: Path) -> None:
    """Remove what stands after the last line end: it was never acknowledged."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65_536)
            file.seek(start)
            line_end = file.read(end - start).rfind(b"\n")
            if line_end >= 0:
                end = start + line_end + 1
                break
            end = start
        file.truncate(end)


def _sync_folder(folder: Path) -> None:
    """Make a new or renamed file's name survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
