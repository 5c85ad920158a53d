"""JSON Lines, plain and compressed; broken lines are named by their number."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from skr_core.errors import DataError, InputError
from skr_core.files import read_jsonl, reading


def test_lines_come_with_their_numbers(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n  \n{"b": "ü"}', encoding="utf-8")
    assert list(read_jsonl(path)) == [(1, {"a": 1}), (4, {"b": "ü"})]


def test_compressed_files_read_the_same(tmp_path: Path):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\r\n{"b": 2}\n'))
    assert list(read_jsonl(str(path))) == [(1, {"a": 1}), (2, {"b": 2})]


@pytest.mark.parametrize("line", [b"{", b"[1]", b"3", b'"a"', b"null", b"\xff\xfe", b"{'a': 1}"])
def test_a_line_that_is_no_object(tmp_path: Path, line: bytes):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n' + line + b'\n{"b": 2}\n')
    with pytest.raises(DataError, match=r"rows\.jsonl, line 2: this line is not a JSON object"):
        list(read_jsonl(path))
    assert list(read_jsonl(path, skip_bad=True)) == [(1, {"a": 1}), (3, {"b": 2})]


def test_lines_before_a_bad_one_are_already_out(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\nbad\n')
    rows = read_jsonl(path)
    assert next(rows) == (1, {"a": 1})
    with pytest.raises(DataError):
        next(rows)


@pytest.mark.parametrize("spoil", ["cut", "flip", "plain"])
def test_broken_compression(tmp_path: Path, spoil: str):
    whole = gzip.compress(b"".join(b'{"a": %d}\n' % each for each in range(1000)))
    spoilt = {
        "cut": whole[:-20],
        "flip": whole[:200] + b"\x00" * 50 + whole[250:],
        "plain": b'{"a": 1}\n',
    }
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(spoilt[spoil])
    with pytest.raises(DataError, match=r"rows\.jsonl\.gz, line \d+:"):
        list(read_jsonl(path))


def test_an_empty_file_has_no_lines(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.touch()
    assert list(read_jsonl(path)) == []


def test_no_file(tmp_path: Path):
    with pytest.raises(InputError, match="there is no file"):
        list(read_jsonl(tmp_path / "rows.jsonl"))
    with pytest.raises(InputError, match="there is no file"):
        list(read_jsonl(tmp_path))


def test_byte_order_marks_are_left_out(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\xef\xbb\xbf\n\xef\xbb\xbf{"b": 2}\n')
    assert list(read_jsonl(path)) == [(1, {"a": 1}), (3, {"b": 2})]


def test_lines_that_unpack_to_far_more_than_a_text_are_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "1"}\n' * 100_000))
    assert sum(1 for _ in read_jsonl(path)) == 100_000  # small enough to be read all the same
    monkeypatch.setattr(reading, "LARGEST_FILE", 10_000)
    with pytest.raises(DataError, match="it holds more than 100 times its bytes: decompress it"):
        list(read_jsonl(path))
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(b'{"id": "1"}\n' * 10_000)
    assert sum(1 for _ in read_jsonl(plain)) == 10_000
