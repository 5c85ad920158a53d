"""Records are written and read without loss; what does not compare is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.self_knowledge.records import (
    SelfKnowledge,
    Stamp,
    read_self_knowledge,
    record_line,
    write_self_knowledge,
)

STAMP = Stamp("m", "r", "c", "p", "contains")
RECORD = SelfKnowledge("Who?", ("Ada",), "Bob", "Ada [1]", 0.0, 1.0, STAMP, {"usage": {"calls": 2}})
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


@pytest.mark.parametrize(
    ("direct", "augmented", "effect", "known", "both_wrong"),
    [
        (0.0, 1.0, "helps", False, False),
        (1.0, 0.0, "hurts", True, False),
        (1.0, 1.0, "same", True, False),
        (0.0, 0.0, "same", True, True),
        (0.25, 0.5, "helps", False, False),
    ],
)
def test_what_the_scores_say(
    direct: float, augmented: float, effect: str, known: bool, both_wrong: bool
):
    record = SelfKnowledge("?", ("x",), "a", "b", direct, augmented)
    assert (record.effect, record.known, record.both_wrong) == (effect, known, both_wrong)
    assert record.benefit == augmented - direct


SCORES = st.floats(0, 1)
RECORDS = st.builds(
    SelfKnowledge,
    question=st.text(min_size=1).map(str.strip).filter(bool),
    gold=st.lists(st.text(), max_size=3).map(tuple),
    direct_answer=st.text(),
    augmented_answer=st.text(),
    direct_score=SCORES,
    augmented_score=SCORES,
    stamp=st.just(STAMP),
    extra=st.dictionaries(st.text(), st.none() | st.booleans() | st.text()),
)


@given(st.lists(RECORDS, min_size=1, max_size=5), st.sampled_from(["r.jsonl", "r.jsonl.gz"]))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, records: list[SelfKnowledge], name: str
):
    path = tmp_path_factory.mktemp("records") / name
    write_self_knowledge(path, records)
    assert read_self_knowledge(path) == records


def test_a_line_says_for_human_readers_what_retrieval_did():
    row = orjson.loads(record_line(RECORD))
    assert row["effect"] == "helps"
    assert row["both_wrong"] is False
    assert next(iter(row)) == "question"


def test_a_lone_surrogate_of_a_model_is_written(tmp_path: Path):
    write_self_knowledge(
        tmp_path / "r.jsonl", [SelfKnowledge("Q\ud800", (), "\udfff", "", 0.0, 0.0)]
    )
    assert read_self_knowledge(tmp_path / "r.jsonl")[0].direct_answer == "?"


def test_records_can_be_told_apart_in_sets():
    assert len({RECORD, RECORD}) == 1


def test_a_recorded_pair_is_read(tmp_path: Path):
    (record,) = read_self_knowledge(write_rows(tmp_path / "pairs.jsonl", PAIR))
    assert (record.direct_answer, record.augmented_answer) == ("Ada", "")
    assert record.effect == "hurts"
    assert record.stamp == Stamp(model="chatgpt")
    assert record.extra["giveup"] is False
    assert record.extra["id"] == "7"
    assert record.extra["confidence_raw"] == "Ada (certain)"
    assert record.extra["passages"][0]["title"] == "T"


def test_a_pair_without_a_verdict_is_a_bad_line(tmp_path: Path):
    path = write_rows(tmp_path / "pairs.jsonl", PAIR, {**PAIR, "correct_retrieved": None})
    with pytest.raises(DataError, match=r'line 2: the field "correct_retrieved"'):
        read_self_knowledge(path)
    skipped: list[DataError] = []
    assert len(read_self_knowledge(path, skip_bad=True, on_skipped=skipped.append)) == 1
    assert [error.line for error in skipped] == [2]


@pytest.mark.parametrize(
    "change",
    [
        {"question": ""},
        {"question": None},
        {"gold": 5},
        {"gold": [1]},
        {"direct_answer": None},
        {"direct_score": None},
        {"direct_score": "1"},
        {"direct_score": 2},
        {"augmented_score": -0.1},
    ],
    ids=str,
)
def test_a_bad_field_is_named_with_its_line(tmp_path: Path, change: dict[str, object]):
    good = orjson.loads(record_line(RECORD))
    path = write_rows(tmp_path / "r.jsonl", good, {**good, **change})
    with pytest.raises(DataError, match=f'line 2: the field "{next(iter(change))}"'):
        read_self_knowledge(path)
    assert read_self_knowledge(path, skip_bad=True) == [RECORD]


def test_a_missing_stamp_or_gold_is_no_error(tmp_path: Path):
    row = {**orjson.loads(record_line(RECORD)), "stamp": None, "gold": None, "extra": 3}
    (record,) = read_self_knowledge(write_rows(tmp_path / "r.jsonl", row))
    assert record.stamp == Stamp()
    assert record.gold == ()


def test_mixed_stamps_are_refused_unless_asked_for(tmp_path: Path):
    path = write_rows(tmp_path / "pairs.jsonl", PAIR, {**PAIR, "model": "claude"})
    with pytest.raises(StampMismatch, match=r"model \('chatgpt', 'claude'\)"):
        read_self_knowledge(path)
    assert len(read_self_knowledge(path, mixed_stamps=True)) == 2


def test_a_file_without_records_is_an_error(tmp_path: Path):
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(DataError, match="no record"):
        read_self_knowledge(tmp_path / "empty.jsonl")
    with pytest.raises(InputError, match="no file"):
        read_self_knowledge(tmp_path / "missing.jsonl")
    with gzip.open(tmp_path / "cut.jsonl.gz", "wb") as file:
        file.write(record_line(RECORD) * 1000)
    whole = (tmp_path / "cut.jsonl.gz").read_bytes()
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError):
        read_self_knowledge(tmp_path / "cut.jsonl.gz")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n", "helped", "hurt"),
    [
        ("adarague_llama31_8b_dev.jsonl.gz", 3000, 417, 229),
        ("realtimeqa_gpt3_2022_2023.jsonl.gz", 1019, 267, 55),
        ("skr_temporalqa_instructgpt.jsonl.gz", 175, 22, 17),
        ("whentoretrieve_nq_chatgpt.jsonl.gz", 256, 43, 27),
    ],
)
def test_recorded_pairs_are_read(data_dir: Path, name: str, n: int, helped: int, hurt: int):
    effects = [record.effect for record in read_self_knowledge(data_dir / name)]
    assert (len(effects), effects.count("helps"), effects.count("hurts")) == (n, helped, hurt)


@pytest.mark.data
def test_recordings_of_several_models_are_mixed(data_dir: Path):
    with pytest.raises(StampMismatch, match="gpt-5"):
        read_self_knowledge(data_dir / "realtimeqa_models_2026.jsonl.gz")
