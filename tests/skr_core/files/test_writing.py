"""Files written whole, and a log: what stands on the disk after a fault, a kill or a power cut."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.errors import DataError, InputError, StoreError
from skr_core.files import (
    AppendOnlyFile,
    KeyedLog,
    cut_torn_line,
    json_line,
    replace_file,
    writing,
)

rows = st.lists(
    st.fixed_dictionaries({"key": st.text(max_size=4), "said": st.text(max_size=9)}), max_size=5
)


@given(rows, st.data())
def test_a_kill_between_any_two_bytes_loses_no_acknowledged_row(given_rows, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.jsonl")
        with KeyedLog(path) as log:
            log.append(given_rows)
        content = path.read_bytes()
        length = data.draw(st.integers(0, len(content)))
        zeros = data.draw(st.integers(0, 3))
        path.write_bytes(content[:length] + b"\0" * zeros)
        acknowledged = content[:length].count(b"\n")
        with KeyedLog(path) as log:
            whole = {row["key"]: row for row in given_rows[:acknowledged]}
            also = {row["key"]: row for row in given_rows[: acknowledged + 1]}
            # The row whose line end alone is missing is whole, though nobody was told of it.
            assert log.rows in (whole, also)
            log.append([{"key": "new"}])
            held = dict(log.rows)
        with KeyedLog(path) as log:
            assert log.rows == held


def test_a_killed_process_loses_nothing_that_was_acknowledged(tmp_path: Path):
    path = tmp_path / "log.jsonl"
    script = (
        "import os, signal, sys, threading\n"
        "from skr_core.files import KeyedLog\n"
        f"log = KeyedLog({str(path)!r})\n"
        "for n in range(10**7):\n"
        "    if n == 1:\n"
        "        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()\n"
        "    log.append([{'key': str(n), 'text': 'x' * 5000}])\n"
        "    print(n, flush=True)\n"
    )
    path_of_modules = os.pathsep.join(each for each in sys.path if each)
    killed = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path_of_modules},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    acknowledged = killed.stdout.split()
    assert killed.returncode < 0
    assert acknowledged
    with KeyedLog(path) as log:
        assert set(acknowledged) <= log.rows.keys()


FOREIGN = [
    b"Dear diary",
    b"Dear diary,\nit rains.\n",
    b'{"question": "Who?"}',
    b'{"question": "Who?"}\n',
    b'{"key":"a"}\nit rains',
    b'{"key":"a"}\noops\n{"key":"b"}\n',
    b'{"key":"a"}\n{"key":"b\n{"key":"c"}\n',
    b'{"key":"a"}\n{"key":\0\0}\n{"key":"c"}\n',
    b'{"key":7}\n',
    b"[]\n",
    b"\n",
    b"\0asm\1\0\0\0",
    b"\x1f\x8b\x08",
    b"x" * 100_000,
]


@pytest.mark.parametrize("content", FOREIGN)
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, content: bytes):
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"line [123]: this is not a"):
        KeyedLog(path)
    assert path.read_bytes() == content
    path.write_bytes(b'{"key":"a"}\n')
    KeyedLog(path).close()  # the lock was given back


@pytest.mark.parametrize("tail", [b'{"key":"c', b'{"ke', b"\0\0\0", b'{"key":"c\0\0', b'{"\0}\n'])
def test_a_torn_or_zero_filled_line_is_cut(tmp_path: Path, tail: bytes):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"key":"a"}\n' + tail)
    with KeyedLog(path) as log:
        assert list(log.rows) == ["a"]
        log.append([{"key": "c"}])
    assert path.read_bytes() == b'{"key":"a"}\n{"key":"c"}\n'


def test_a_whole_line_without_its_end_is_kept(tmp_path: Path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"key":"a"}\n{"key":"b"}')
    with KeyedLog(path) as log:
        assert list(log.rows) == ["a", "b"]
        log.append([{"key": "c"}])
    assert path.read_bytes() == b'{"key":"a"}\n{"key":"b"}\n{"key":"c"}\n'


def test_the_key_comes_first_and_the_later_row_counts(tmp_path: Path):
    path = tmp_path / "log.jsonl"
    with KeyedLog(path) as log:
        log.append([{"value": 1, "key": "a"}, {"value": 2, "key": "a"}])
        assert log.rows["a"]["value"] == 2
    assert path.read_bytes().startswith(b'{"key":"a","value":1}\n')
    with KeyedLog(path) as log:
        assert log.rows == {"a": {"key": "a", "value": 2}}


def test_one_writer_at_a_time(tmp_path: Path):
    with KeyedLog(tmp_path / "log"), pytest.raises(InputError, match="another process"):
        KeyedLog(tmp_path / "log")


def test_a_closed_log_takes_nothing(tmp_path: Path):
    log = KeyedLog(tmp_path / "log")
    log.close()
    log.close()
    with pytest.raises(StoreError, match="closed"):
        log.append([{"key": "a"}])


@pytest.mark.parametrize("name", ["log.jsonl.gz", "file/log", "folder"])
def test_what_cannot_be_written(tmp_path: Path, name: str):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be"):
        KeyedLog(tmp_path / name)


def test_a_lone_surrogate_becomes_the_replacement_character(tmp_path: Path):
    with KeyedLog(tmp_path / "log") as log:
        log.append([{"key": "a", "answer": "x\ud800y", "list": [("\ud800",)]}])
    with KeyedLog(tmp_path / "log") as log:
        assert log.rows["a"] == {"key": "a", "answer": "x\ufffdy", "list": [["\ufffd"]]}


def test_what_no_json_holds_is_refused_and_nothing_written(tmp_path: Path):
    with KeyedLog(tmp_path / "log") as log, pytest.raises(TypeError):
        log.append([{"key": "a"}, {"key": "b", "value": object()}])
    assert (tmp_path / "log").read_bytes() == b""


async def test_in_memory():
    log = KeyedLog(None)
    await log.aappend([{"key": "a"}])
    assert log.rows == {"a": {"key": "a"}}
    log.close()


def test_lines_are_compact():
    assert json_line({"a": [1, {"b": None}]}) == b'{"a":[1,{"b":null}]}\n'


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

    monkeypatch.setattr(writing.os, "fsync", interrupted)
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
