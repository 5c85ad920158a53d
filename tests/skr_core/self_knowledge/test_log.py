"""The file of a collection survives what happens to files."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skr_core.errors import DataError, InputError, StampMismatch, StoreError
from skr_core.self_knowledge.log import Ledger, question_key
from skr_core.self_knowledge.records import (
    SelfKnowledge,
    Stamp,
    read_self_knowledge,
    record_line,
    write_self_knowledge,
)

STAMP = Stamp(model="m")


def record(question: str, stamp: Stamp = STAMP) -> SelfKnowledge:
    return SelfKnowledge(question, ("x",), "a", "b", 0.0, 1.0, stamp)


def test_appends_to_what_is_there(tmp_path: Path):
    path = tmp_path / "new" / "r.jsonl"
    with Ledger(path, STAMP) as ledger:
        ledger.append(record("one"))
    with Ledger(path, STAMP) as ledger:
        assert list(ledger.records) == ["one"]
        asyncio.run(ledger.aappend(record("two")))
    assert [each.question for each in read_self_knowledge(path)] == ["one", "two"]


def test_threads_do_not_mix_lines(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    with Ledger(path, STAMP) as ledger, ThreadPoolExecutor(8) as pool:
        list(pool.map(ledger.append, [record(f"q{n}") for n in range(100)]))
    assert len(read_self_knowledge(path)) == 100


@pytest.mark.parametrize("cut", [1, 5, 12, 60, -2])
def test_a_torn_line_is_cut_off(tmp_path: Path, cut: int):
    path = tmp_path / "r.jsonl"
    path.write_bytes(record_line(record("one")) + record_line(record("two"))[:cut])
    with Ledger(path, STAMP) as ledger:
        assert list(ledger.records) == ["one"]
        ledger.append(record("two"))
    assert [each.question for each in read_self_knowledge(path)] == ["one", "two"]


def test_zeros_after_a_power_cut_are_cut_off(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(record_line(record("one")) + bytes(500))
    with Ledger(path, STAMP) as ledger:
        assert list(ledger.records) == ["one"]


def test_a_whole_line_without_its_end_is_kept(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(record_line(record("one")).rstrip())
    with Ledger(path, STAMP) as ledger:
        ledger.append(record("two"))
    assert [each.question for each in read_self_knowledge(path)] == ["one", "two"]


@pytest.mark.parametrize("content", [b"my notes", b"notes\nmore notes\n", b"{}\n"])
def test_a_file_of_something_else_is_not_touched(tmp_path: Path, content: bytes):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(DataError):
        Ledger(path, STAMP)
    assert path.read_bytes() == content


def test_another_stamp_is_refused(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    write_self_knowledge(path, [record("one", Stamp(model="other"))])
    with pytest.raises(StampMismatch, match="model"):
        Ledger(path, STAMP)


def test_two_at_a_time_are_refused(tmp_path: Path):
    with Ledger(tmp_path / "r.jsonl", STAMP), pytest.raises(InputError, match="another"):
        Ledger(tmp_path / "r.jsonl", STAMP)
    with Ledger(tmp_path / "r.jsonl", STAMP):
        pass


def test_a_refused_file_is_free_again(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"notes\n")
    with pytest.raises(DataError):
        Ledger(path, STAMP)
    path.unlink()
    with Ledger(path, STAMP) as ledger:
        assert not ledger.records


def test_compressed_files_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="compressed"):
        Ledger(tmp_path / "r.jsonl.gz", STAMP)


def test_a_folder_is_refused(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError):
        Ledger(tmp_path / "folder", STAMP)


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "r.jsonl"
    with Ledger(path, STAMP) as ledger:
        ledger.append(record("one"))
        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(StoreError, match="No space"):
            ledger.append(record("two"))
        assert list(ledger.records) == ["one"]
    assert len(read_self_knowledge(path)) == 1


def test_a_question_is_the_same_whatever_its_case_and_space():
    assert question_key(" Who\n wrote it?") == question_key("who wrote It?")
    assert question_key("a\ud800") == question_key("a?")
