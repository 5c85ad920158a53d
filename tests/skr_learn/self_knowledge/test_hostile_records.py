"""A file of records that is cut, foreign or hostile is read or refused in a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from skr_core import SKRError
from skr_core.errors import DataError
from skr_learn import SelfKnowledge, read_self_knowledge
from skr_learn.self_knowledge.records import row_of

WRONG: list[Any] = [None, -1, 1e308, "x", [], {}, [[[]]], {"a": 1}, True, "x" * 10_000, ["x", None]]
ROW = orjson.loads(
    orjson.dumps(row_of(SelfKnowledge.of("Who?", gold=["Ada"], direct=("A", 1), loop=("B", 0))))
)


def read(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    try:
        return f"read {len(list(read_self_knowledge(path)))}"
    except SKRError as error:
        return str(error)


def changed(value: Any, wrong: Any) -> list[Any]:
    """The value with one of its parts, at any depth, put wrong or left out."""
    made = [wrong]
    if isinstance(value, dict):
        made.append({key: each for key, each in value.items() if key != next(iter(value), None)})
        made += [
            {**value, key: part} for key, each in value.items() for part in changed(each, wrong)
        ]
    return made


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: repr(wrong)[:12])
def test_any_wrong_part_is_read_or_refused_in_a_line(wrong: Any, tmp_path: Path):
    for row in changed(ROW, wrong):
        told = read(tmp_path / "records.jsonl", orjson.dumps(row))
        assert told
        assert "\n" not in told
        assert len(told) < 2_000


@pytest.mark.parametrize(
    "content",
    [
        b"\x00" * 1_000,
        b"[" * 100_000,
        b'{"a":' * 5_000,
        b"\x1f\x8b\x08\x00",
        b"PK\x03\x04",
        b"\x80\x04cos\nsystem\n",
        orjson.dumps(ROW)[:-10],
        orjson.dumps(ROW) + b"\n" + orjson.dumps(ROW)[:-10],
    ],
    ids=lambda content: repr(content[:12]),
)
def test_what_is_no_record_is_named_with_its_line(content: bytes, tmp_path: Path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"records\.jsonl, line \d") as caught:
        list(read_self_knowledge(path))
    assert "\n" not in str(caught.value)


def test_records_are_read_by_their_mark(tmp_path: Path):
    assert read(tmp_path / "records.jsonl", orjson.dumps(ROW).decode().encode("utf-16")) == "read 1"
