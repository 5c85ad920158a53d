"""Rows of every known format become records; a bad field is named with its line."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import SKRError, Usage
from skr_core.candidates import Standing
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.files import json_line
from skr_core.rivals import plain_text
from skr_core.types import Stamp
from skr_learn import Record, Records
from skr_learn.formats import number_of, record_of
from skr_learn.records import row_of

STAMP = Stamp("m", "r", "c", "s", "accuracy")
RECORD = Record.of("Who?", ["Ada"], direct=("Bob", 0), loop=("Ada [1]", 1), stamp=STAMP)
PAIR = {
    "id": "7",
    "source": "nq",
    "question": "Who?",
    "gold": ["Ada"],
    "answer_direct": "Ada",
    "answer_retrieved": None,
    "correct_direct": True,
    "correct_retrieved": False,
    "model": "chatgpt",
    "retriever": None,
    "passages": [{"title": "T", "text": "t"}],
    "confidence_raw": "Ada (certain)",
    "extra": {"giveup": False},
}


def write_rows(path: Path, *rows: object) -> Path:
    path.write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
    return path


def test_a_recorded_pair_is_read(tmp_path: Path):
    (record,) = Records.read(write_rows(tmp_path / "pairs.jsonl", PAIR))
    assert (record.direct.answer, record.outcomes["single"].answer) == ("Ada", "")
    assert record.direct.certain is True
    assert record.effect == "hurts"
    assert record.stamp == Stamp(model="chatgpt")
    assert record.extra["id"] == "7"
    assert record.extra["confidence_raw"] == "Ada (certain)"
    assert record.extra["passages"][0]["title"] == "T"


def test_recorded_passages_say_how_the_answers_stand_in_them():
    passages = [{"title": "T", "text": "Ada wrote it."}, {"title": "no text"}, "nothing"]
    pair = {**PAIR, "answer_retrieved": "Bob Lee", "passages": passages}
    record = record_of(pair, "p", 1)
    assert record.outcomes["single"].standing == Standing(direct=1.0, direct_cited=0.0, own=0.0)
    assert record.direct.standing is None
    for none in (None, [], [{"title": "no text"}]):
        assert record_of({**pair, "passages": none}, "p", 1).outcomes["single"].standing is None


def test_a_record_from_before_grounded_and_standing_is_read():
    outcome = {"answer": "Ada", "score": 1.0}
    row = {"question": "Who?", "outcomes": {"direct": outcome, "single": outcome}}
    single = record_of(row, "r.jsonl", 1).outcomes["single"]
    assert (single.grounded, single.standing) == (None, None)


def test_a_third_answer_of_several_steps_is_the_loop():
    more = {"correct_multistep": True, "answer_multistep": "Ada", "multistep_steps": 4}
    loop = record_of({**PAIR, "extra": more}, "pairs.jsonl", 1).outcomes["loop"]
    assert (loop.answer, loop.score, loop.retrievals, loop.usage) == ("Ada", 1.0, 4.0, None)
    unknown = {"correct_multistep": "False"}
    assert record_of({**PAIR, "extra": unknown}, "p", 1).outcomes["loop"].retrievals is None


def test_what_was_computed_from_the_right_answer_stays_out_of_the_outcomes():
    computed = {"em_direct": True, "f1_direct": 1.0, "answer_direct_origin_rule": "Ada"}
    with_it = record_of({**PAIR, "extra": {**PAIR["extra"], **computed}}, "p", 1)
    assert with_it.outcomes == record_of(PAIR, "p", 1).outcomes
    assert with_it.extra["em_direct"] is True


def test_questions_are_no_records(tmp_path: Path):
    path = write_rows(tmp_path / "questions.jsonl", {"question": "Who?", "answers": ["Ada"]})
    with pytest.raises(DataError, match=r"line 1: this is no record .*skr collect"):
        Records.read(path)


def test_a_pair_without_a_verdict_is_a_bad_line(tmp_path: Path):
    path = write_rows(tmp_path / "pairs.jsonl", PAIR, {**PAIR, "correct_retrieved": None})
    with pytest.raises(DataError, match=r'line 2: the field "correct_retrieved"'):
        Records.read(path)
    skipped: list[DataError] = []
    assert len(Records.read(path, skip_bad=True, on_skipped=skipped.append)) == 1
    assert [error.line for error in skipped] == [2]


@pytest.mark.parametrize(
    ("row", "change"),
    [
        (PAIR, {"question": ""}),
        (PAIR, {"question": None}),
        (PAIR, {"gold": 5}),
        (PAIR, {"gold": [1]}),
        (row_of(RECORD), {"outcomes": 3}),
        (row_of(RECORD), {"outcomes": {"direct": row_of(RECORD)["outcomes"]["direct"]}}),
        (row_of(RECORD), {"outcomes": {"single": row_of(RECORD)["outcomes"]["direct"]}}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_field_is_named_with_its_line(
    tmp_path: Path, row: dict[str, object], change: dict[str, object]
):
    path = write_rows(tmp_path / "r.jsonl", row, {**row, **change})
    with pytest.raises(DataError, match=f'line 2: the field "{next(iter(change))}"'):
        Records.read(path)
    assert len(Records.read(path, skip_bad=True)) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [("score", 2), ("score", None), ("answer", None), ("usage", 3), ("usage", {"tokens": 1})],
)
def test_a_bad_outcome_is_named(tmp_path: Path, field: str, value: object):
    row = row_of(RECORD)
    row["outcomes"]["loop"][field] = value
    if value == {"tokens": 1}:  # an unknown field of another version is passed over
        assert record_of(row, "r.jsonl", 1).outcomes["loop"].usage == Usage()
        return
    with pytest.raises(DataError, match=r"line 1: .*outcomes\.loop"):
        Records.read(write_rows(tmp_path / "r.jsonl", row))


def test_a_bad_statement_is_named(tmp_path: Path):
    row = {**row_of(RECORD), "statements": {"prompt": {"score": 1}}}
    with pytest.raises(DataError, match=r'"statements\.prompt" must be an object with retrieve'):
        Records.read(write_rows(tmp_path / "r.jsonl", row))


def test_a_missing_stamp_or_gold_is_no_error(tmp_path: Path):
    row = {**row_of(RECORD), "stamp": None, "gold": None, "extra": 3}
    (record,) = Records.read(write_rows(tmp_path / "r.jsonl", row))
    assert record.stamp == Stamp()
    assert record.gold == ()


def test_of_two_rows_with_one_key_the_later_counts(tmp_path: Path):
    later = {**row_of(RECORD), "gold": ["Ada Lovelace"]}
    rows = [{"key": "who?", **row_of(RECORD)}, {"key": "other", **row_of(RECORD)}]
    path = write_rows(tmp_path / "r.jsonl", *rows, {"key": "who?", **later})
    assert [each.gold for each in Records.read(path)] == [("Ada Lovelace",), ("Ada",)]


def test_mixed_stamps_are_refused_unless_asked_for(tmp_path: Path):
    path = write_rows(tmp_path / "pairs.jsonl", PAIR, {**PAIR, "model": "claude"})
    with pytest.raises(StampMismatch, match=r"model \('chatgpt', 'claude'\).*mixed_stamps=True"):
        Records.read(path)
    assert len(Records.read(path, mixed_stamps=True)) == 2


def test_a_file_without_records_is_an_error(tmp_path: Path):
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(DataError, match="no record"):
        Records.read(tmp_path / "empty.jsonl")
    with pytest.raises(InputError, match="no file"):
        Records.read(tmp_path / "missing.jsonl")
    with gzip.open(tmp_path / "cut.jsonl.gz", "wb") as file:
        file.write(json_line(row_of(RECORD)) * 1000)
    whole = (tmp_path / "cut.jsonl.gz").read_bytes()
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError):
        Records.read(tmp_path / "cut.jsonl.gz")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from([PAIR, row_of(RECORD)]), st.data())
def test_whatever_stands_in_a_field_is_read_or_refused(row: dict[str, object], data: st.DataObject):
    field = data.draw(st.sampled_from(sorted(row)))
    try:
        record = record_of({**row, field: data.draw(JSON)}, "r.jsonl", 1)
    except DataError:
        return
    assert 0 <= record.direct.score <= 1


@given(JSON)
def test_numbers_and_texts_of_anything(value: object):
    number = number_of(value)
    assert number is None or number == number
    assert isinstance(plain_text(value), str)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n", "helped", "hurt"),
    [
        ("realtimeqa_gpt3_2022_2023.jsonl.gz", 1019, 267, 55),
        ("skr_temporalqa_instructgpt.jsonl.gz", 175, 22, 17),
        ("whentoretrieve_nq_chatgpt.jsonl.gz", 256, 43, 27),
    ],
)
def test_recorded_pairs_are_read(data_dir: Path, name: str, n: int, helped: int, hurt: int):
    effects = [record.effect for record in Records.read(data_dir / name)]
    assert (len(effects), effects.count("helps"), effects.count("hurts")) == (n, helped, hurt)


@pytest.mark.data
def test_recordings_of_three_actions_are_read(data_dir: Path):
    records = Records.read(data_dir / "adarague_llama31_8b_dev.jsonl.gz")
    benefits = [each.outcomes["single"].score - each.direct.score for each in records]
    assert (len(records), benefits.count(1), benefits.count(-1)) == (3000, 417, 229)
    loop = sum(each.outcomes["loop"].score for each in records) / len(records)
    assert round(loop, 3) == 0.423


@pytest.mark.data
def test_recordings_of_several_models_are_mixed(data_dir: Path):
    with pytest.raises(StampMismatch, match="gpt-5"):
        Records.read(data_dir / "realtimeqa_models_2026.jsonl.gz")


WRONG: list[Any] = [None, -1, 1e308, "x", [], {}, [[[]]], {"a": 1}, True, "x" * 10_000, ["x", None]]
ROW = orjson.loads(orjson.dumps(row_of(RECORD)))


def told_of(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    try:
        return f"read {len(Records.read(path))}"
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
        told = told_of(tmp_path / "records.jsonl", orjson.dumps(row))
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
        Records.read(path)
    assert "\n" not in str(caught.value)


def test_records_are_read_by_their_mark(tmp_path: Path):
    assert (
        told_of(tmp_path / "records.jsonl", orjson.dumps(ROW).decode().encode("utf-16")) == "read 1"
    )
