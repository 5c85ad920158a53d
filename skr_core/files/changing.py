"""Changing files so that neither a kill nor a power cut leaves them half written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from skr_core.errors import StoreError
from skr_core.files.jsonl import parse_object


def replace_file(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file all at once: whoever reads it finds the old content or the new, never half.

    Args:
        path: The file; may be missing.
        content: The whole, or its parts, so that a large file need not fit in memory.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "note.txt")
        >>> replace_file(path, b"whole"); path.read_bytes()
        b'whole'
    """
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a new or renamed file's name survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class AppendOnlyFile:
    """A file that only grows, by whole lines that are on the disk when `append` returns.

    Args:
        path: The file; made if missing.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "lines"
        >>> file = AppendOnlyFile(path); file.append(b"one\\n"); file.close()
        >>> path.read_bytes()
        b'one\\n'
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        is_new = not path.exists()
        self._file = path.open("ab", buffering=0)
        if is_new:
            sync_folder(path.parent)

    def append(self, lines: bytes) -> None:
        """Write whole lines.

        Raises:
            StoreError: The file is closed, or the disk does not take them; the file is as it was
                before.
        """
        if self._file.closed:
            raise StoreError(f"{self._path} is closed")
        end = os.fstat(self._file.fileno()).st_size
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
        """Close the file; closing twice does nothing."""
        self._file.close()


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
