"""The journal: torn lines, locks, surrogates."""

from __future__ import annotations

from pathlib import Path

import pytest

from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.evaluation.running.folder import RunFolder, read_result
from skr_core.evaluation.running.log import Journal


def test_a_torn_line_is_cut(tmp_path: Path):
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.append([{"key": "a"}, {"key": "b"}])
    with path.open("ab") as file:
        file.write(b'{"key": "c", "val')
    with Journal(path) as journal:
        assert list(journal.rows) == ["a", "b"]
        journal.append([{"key": "c"}])
    with Journal(path) as journal:
        assert list(journal.rows) == ["a", "b", "c"]


def test_a_broken_line_in_the_middle_is_an_error(tmp_path: Path):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"key": "a"}\noops\n{"key": "b"}\n')
    with pytest.raises(DataError, match="line 2"):
        Journal(path)
    path.write_bytes(b'{"key": "a"}\n')
    Journal(path).close()  # the lock was given back


def test_one_writer_at_a_time(tmp_path: Path):
    with Journal(tmp_path / "j.jsonl"), pytest.raises(InputError, match="another run"):
        Journal(tmp_path / "j.jsonl")


def test_a_lone_surrogate(tmp_path: Path):
    with Journal(tmp_path / "j.jsonl") as journal:
        journal.append([{"key": "a", "answer": "x\ud800y", "list": ["\ud800"]}])
    with Journal(tmp_path / "j.jsonl") as journal:
        assert journal.rows["a"]["answer"] == "x?y"


async def test_in_memory():
    journal = Journal(None)
    await journal.aappend([{"key": "a"}])
    assert journal.rows.keys() == {"a"}


def test_a_folder_that_cannot_be(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        RunFolder(tmp_path / "file", {})


def test_a_run_made_with_something_else(tmp_path: Path):
    RunFolder(tmp_path / "run", {"model": "a"}).close()
    with pytest.raises(StampMismatch, match="'a', not 'b'"):
        RunFolder(tmp_path / "run", {"model": "b"})
    RunFolder(tmp_path / "run", {"model": "a"}).close()


def test_no_result(tmp_path: Path):
    with pytest.raises(InputError, match="no result"):
        read_result(tmp_path)
    (tmp_path / "result.json").write_text("[]")
    with pytest.raises(DataError, match="not a result"):
        read_result(tmp_path)
