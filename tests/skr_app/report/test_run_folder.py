"""The folder of a run: its stamp, what it refuses, what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from skr_app.report import Result, RunFolder, read_result, read_scores
from skr_core import Question
from skr_core.errors import DataError, InputError, StampMismatch, StoreError
from skr_learn.evaluate import Judged


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


ODD = "a\ud800b"
RESULT = Result("demo", ODD, {"model": ODD}, ())


def test_lone_surrogates_are_written_and_an_odd_stamp_is_the_same_again(tmp_path: Path):
    for _ in range(2):
        with RunFolder(tmp_path, {"model": ODD}) as folder:
            folder.write(RESULT, {ODD: [Judged(Question("1", ODD, (ODD,)), None, {"usd": None})]})
    assert read_result(tmp_path).title == "a\ufffdb"
    [row] = read_scores(tmp_path)
    assert (row["system"], row["question"], row["stop_reason"]) == ("a\ufffdb",) * 2 + ("failed",)
    assert (tmp_path / "result.png").read_bytes().startswith(b"\x89PNG")
    assert "a\ufffdb" in (tmp_path / "result.md").read_text(encoding="utf-8")


def test_a_disk_that_takes_no_result(tmp_path: Path):
    with RunFolder(tmp_path, {}) as folder:
        (tmp_path / "result.md").mkdir()
        with pytest.raises(StoreError, match="cannot be written"):
            folder.write(RESULT, {})


def test_a_run_in_memory_writes_nothing():
    with RunFolder(None, {"model": "a"}) as folder:
        folder.write(RESULT, {})
        folder.answers.append([{"key": "a"}])
        assert folder.answers.rows.keys() == {"a"}
