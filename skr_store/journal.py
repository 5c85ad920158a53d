"""An append-only record of a store's references, from which its index can be made again.

The first line names the embedder, every other line is a reference. An addition is on the disk
before it is acknowledged; a process killed while writing leaves at most one torn line, the last.
Each line holds its own checksum: one that was changed is refused, not believed.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from skr_core.errors import DataError
from skr_core.files import AppendOnlyFile, cut_torn_line, json_line, replace_file
from skr_core.types import Reference, content_id
from skr_store.storable import provenance, with_provenance

FORMAT = 1
LONGEST_HEADER = 65_536
"""Bytes; a file of another kind may be one line without end."""
NO_JOURNAL = "this is not a journal of references"


class Journal:
    """The file ``references.jsonl`` of one store; safe to use from several threads.

    Args:
        path: The file; made if missing.
        embedder: Name of the embedder, written to the first line of a new file.
        read_ids: Tells the ids of the references recorded where they are known already; otherwise
            the file is read.

    Attributes:
        embedder: The name in the first line, which is the one given only for a new file.

    Raises:
        DataError: A line other than the last is broken.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "references.jsonl"
        >>> with Journal(path, "hashing-1024-v1") as journal:
        ...     new = journal.append([Reference.of("Paris is in France.", "Paris")])
        >>> [reference.title for reference in read_journal(path)]
        ['Paris']
    """

    def __init__(
        self, path: Path, embedder: str, read_ids: Callable[[], Iterable[str]] | None = None
    ) -> None:
        self._lock = threading.Lock()
        self.embedder = begin_journal(path, embedder)
        self._read_ids = read_ids or [reference.id for reference in read_journal(path)].copy
        self._file = AppendOnlyFile(path)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def ids(self) -> dict[str, None]:
        """Of the references recorded, in the order of their addition."""
        return dict.fromkeys(self._read_ids())

    def append(self, references: Sequence[Reference]) -> list[Reference]:
        """Record references; returns when they are on the disk. Known ids are passed over.

        Returns:
            Those that were new.

        Raises:
            StoreError: The disk does not take them; the file is as it was before.
        """
        with self._lock:
            new = {item.id: item for item in references if item.id not in self.ids}
            if new:
                self._file.append(b"".join(map(_encode, new.values())))
                self.ids.update(dict.fromkeys(new))
            return list(new.values())

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        self._file.close()


def begin_journal(path: Path, embedder: str) -> str:
    """Make a journal, or put right what a kill left of its last line.

    Args:
        path: The file; made if missing.
        embedder: Its name, for a new file.

    Returns:
        The embedder that the first line names.

    Raises:
        DataError: The file is of another kind.
    """
    check_beginning(path)
    cut_torn_line(path)
    if not path.exists() or path.stat().st_size == 0:
        replace_file(path, _header(embedder))
    with path.open("rb") as file:
        return _parse_header(file.readline(), path)


def header_length(path: Path) -> int:
    """The bytes of a journal's first line."""
    with path.open("rb") as file:
        return len(file.readline())


def read_journal(path: Path) -> Iterator[Reference]:
    """Read the references of a journal one by one, as they were added.

    A torn last line is passed over.

    Raises:
        DataError: This is no journal, or a line is broken or not as it was written.
    """
    return (reference for reference, _ in read_journal_from(path, 0, 2))


def read_journal_from(path: Path, start: int, number: int) -> Iterator[tuple[Reference, int]]:
    """Read a journal from one line on: each reference, and where its line ends.

    Args:
        path: The journal.
        start: Where the line begins; 0 is behind the first line.
        number: Of the line, for messages.

    Raises:
        DataError: This is no journal, or a line is broken or not as it was written.
    """
    with path.open("rb") as lines:
        _parse_header(lines.readline(LONGEST_HEADER), path)
        place = start or lines.tell()
        lines.seek(place)
        for line_number, line in enumerate(lines, start=number):
            place += len(line)
            if line.endswith(b"\n"):
                yield _decode(line, path, line_number), place


def check_beginning(path: Path) -> str | None:
    """Refuse a file of another kind that has a journal's name; a missing file is none.

    Returns:
        The embedder that the first line names, where it is whole.

    Raises:
        DataError: It begins neither with a journal's first line nor with a part of one, which is
            what a process killed while making it leaves.
    """
    if not path.exists():
        return None
    with path.open("rb") as file:
        line = file.readline(LONGEST_HEADER)
    start = _header("").partition(b'""')[0]
    if line.endswith(b"\n"):
        return _parse_header(line, path)
    if not (line.startswith(start) or start.startswith(line)):
        raise DataError(path, 1, NO_JOURNAL)
    return None


def rewrite_journal(path: Path, embedder: str) -> None:
    """Put another embedder's name into the first line, all at once or not at all.

    Raises:
        DataError: This is no journal.
    """
    check_beginning(path)
    cut_torn_line(path)
    with path.open("rb") as old:
        next(old, None)
        replace_file(path, chain([_header(embedder)], old))


def _encode(reference: Reference) -> bytes:
    row = {
        "id": reference.id,
        "title": reference.title,
        "text": reference.text,
        "metadata": reference.metadata,
        **provenance(reference),
    }
    line = json_line(row)
    return line.removesuffix(b"}\n") + f',"check":"{_checksum(line)}"}}\n'.encode()


def _decode(line: bytes, path: Path, number: int) -> Reference:
    try:
        row: dict[str, Any] = orjson.loads(line)
        check = row.pop("check", None)
        reference = Reference(row["id"], row["text"], row["title"], metadata=row["metadata"])
        # A line of an earlier version has no checksum: the id is one, of title and text.
        if (check or reference.id) != (
            _checksum(json_line(row)) if check else content_id(reference.text, reference.title)
        ):
            raise DataError(
                path,
                number,
                f"this line is not what was recorded as {reference.id!r}: take the file from a "
                f"copy, or delete the line and ingest its document again",
            )
        return with_provenance(reference, row)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise DataError(path, number, f"not a recorded reference ({error})") from error


def _checksum(line: bytes) -> str:
    return hashlib.blake2b(line, digest_size=8).hexdigest()


def _header(embedder: str) -> bytes:
    return json_line({"format": FORMAT, "embedder": embedder})


def _parse_header(line: bytes, path: Path) -> str:
    try:
        row: dict[str, Any] = orjson.loads(line)
        if row["format"] != FORMAT:
            raise DataError(path, 1, f"format {row['format']} is not known here, only {FORMAT}")
        return str(row["embedder"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise DataError(path, 1, NO_JOURNAL) from error
