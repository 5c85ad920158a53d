"""Appending and replacing: what stands on the disk after a fault is whole."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.errors import StoreError
from skr_core.files import AppendOnlyFile, changing, cut_torn_line, json_line, replace_file

ROWS = [{"text": "a\nü"}, {}, {"text": "x" * 70_000}]


@given(st.lists(st.sampled_from(ROWS), max_size=4), st.data())
def test_a_cut_anywhere_leaves_the_whole_lines(rows, data):
    lines = [json_line(row) for row in rows]
    content = b"".join(lines)
    length = data.draw(st.integers(0, len(content)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.jsonl")
        path.write_bytes(content[:length])
        cut_torn_line(path)
        kept = path.read_bytes()
    assert content.startswith(kept)
    assert kept == b"" or kept.endswith(b"\n")
    # A line whose last byte is missing is whole.
    assert kept.count(b"\n") == sum(
        len(b"".join(lines[: n + 1])) <= length + 1 for n in range(len(lines))
    )


@pytest.mark.parametrize("tail", [b"\0" * 9, b'{"a"\0\0', b'{"a":\0\0}\n', b"{", b"x" * 200_000])
def test_what_was_never_acknowledged_is_removed(tmp_path: Path, tail: bytes):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a":1}\n' + tail)
    cut_torn_line(path)
    assert path.read_bytes() == b'{"a":1}\n'


def test_no_file_stays_none(tmp_path: Path):
    cut_torn_line(tmp_path / "rows.jsonl")
    assert list(tmp_path.iterdir()) == []


class Full:
    """A disk that takes three bytes a time, and after six none."""

    def __init__(self, file: object) -> None:
        self._file, self._room = file, 6

    def __getattr__(self, name: str):
        return getattr(self._file, name)

    def write(self, data: memoryview) -> int:
        if not self._room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._room -= 3
        return self._file.write(data[:3])

    def close(self) -> None:
        self._file.close()


def test_a_full_disk_leaves_no_half_line(tmp_path: Path):
    file = AppendOnlyFile(tmp_path / "lines")
    file.append(b"one\n")
    file._file = Full(file._file)
    with pytest.raises(StoreError, match="cannot be written"):
        file.append(b"two and three\n")
    file.close()
    assert (tmp_path / "lines").read_bytes() == b"one\n"


def test_a_disk_that_takes_a_part_at_first(tmp_path: Path):
    file = AppendOnlyFile(tmp_path / "lines")
    file._file = Full(file._file)
    file.append(b"two\n..")
    file.close()
    assert (tmp_path / "lines").read_bytes() == b"two\n.."


def test_an_interrupted_addition_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = AppendOnlyFile(tmp_path / "lines")

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(changing.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        file.append(b"one\n")
    file.close()
    assert (tmp_path / "lines").read_bytes() == b""


def test_a_closed_file_says_so(tmp_path: Path):
    file = AppendOnlyFile(tmp_path / "lines")
    file.close()
    file.close()
    with pytest.raises(StoreError, match="closed"):
        file.append(b"one\n")


def test_a_replacement_that_fails_changes_nothing(tmp_path: Path):
    path = tmp_path / "note"
    replace_file(path, b"old")

    def parts():
        yield b"new"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        replace_file(path, parts())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    replace_file(path, iter([b"ne", b"w"]))
    assert path.read_bytes() == b"new"
