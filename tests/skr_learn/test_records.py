"""Records are written and read without loss; what does not compare is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import Answer, Decision, Usage
from skr_core.candidates import Standing
from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.types import ACTIONS, Stamp
from skr_learn import Record, Records, record_of_feedback
from skr_learn.records import (
    Draft,
    Outcome,
    Statement,
    check_same_stamp,
    in_fixed_order,
    question_key,
    row_of,
)

STAMP = Stamp("m", "r", "c", "s", "accuracy")
ANSWERS = {"direct": ("", 0.0), "single": ("", 1.0)}


@pytest.mark.parametrize(
    ("direct", "retrieved", "effect", "known", "all_wrong"),
    [
        (0.0, 1.0, "helps", False, False),
        (1.0, 0.0, "hurts", True, False),
        (1.0, 1.0, "same", True, False),
        (0.0, 0.0, "same", True, True),
        (0.25, 0.5, "helps", False, False),
    ],
)
@pytest.mark.parametrize("action", ["single", "loop"])
def test_what_the_scores_say(
    action: str, direct: float, retrieved: float, effect: str, known: bool, all_wrong: bool
):
    record = Record.of("?", direct=("a", direct), **{action: ("b", retrieved)})
    assert (record.effect, record.known, record.all_wrong) == (effect, known, all_wrong)
    assert record.benefit == retrieved - direct


def test_always_retrieving_is_the_loop_where_it_is_on_record():
    record = Record.of("?", direct=("a", 1), single=("b", 0), loop=("c", 1))
    assert record.retrieved.answer == "c"
    assert record.effect == "same"
    assert not record.all_wrong


SCORES = st.floats(0, 1)
COUNTS = st.integers(0, 10**6)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, st.booleans(), cache_read_tokens=COUNTS)
OUTCOMES = st.builds(
    Outcome,
    answer=st.text(),
    score=SCORES,
    usage=st.none() | USAGES,
    retrievals=st.none() | st.floats(0, 100),
    rounds=st.integers(0, 9),
    stop_reason=st.sampled_from(["", "known", "sufficient"]),
    reasoning=st.text(),
    logprob=st.none() | st.floats(-10, 0),
    certain=st.none() | st.booleans(),
)
STATEMENTS = st.builds(
    Statement,
    retrieve=st.booleans(),
    score=st.none() | SCORES,
    usage=USAGES,
    draft=st.text(),
    draft_score=st.none() | SCORES,
)
RECORDS = st.builds(
    Record,
    question=st.text(min_size=1).map(str.strip).filter(bool),
    gold=st.lists(st.text(), max_size=3).map(tuple),
    outcomes=st.fixed_dictionaries(
        {"direct": OUTCOMES, "loop": OUTCOMES}, optional={"single": OUTCOMES}
    ),
    stamp=st.just(STAMP),
    statements=st.dictionaries(st.sampled_from(["prompt:can_solve", "uncertainty"]), STATEMENTS),
    extra=st.dictionaries(st.text(), st.none() | st.booleans() | st.text()),
)


@given(st.lists(RECORDS, min_size=1, max_size=5), st.sampled_from(["r.jsonl", "r.jsonl.gz"]))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], name: str
):
    path = tmp_path_factory.mktemp("records") / name
    Records(records).write(path)
    assert Records.read(path) == records


def test_a_line_says_for_human_readers_what_retrieval_did():
    row = row_of(Record.of("Who?", ["Ada"], direct=("Bob", 0), loop=("Ada [1]", 1)))
    assert row["effect"] == "helps"
    assert next(iter(row)) == "question"
    assert [*row["outcomes"]] == ["direct", "loop"]


def test_a_usage_that_tells_nothing_of_a_provider_s_cache_is_read(tmp_path: Path):
    row = row_of(Record.of("Who?", ["Ada"], direct=("Bob", 0), loop=("Ada [1]", 1)))
    row["outcomes"]["loop"]["usage"] = {"prompt_tokens": 5, "completion_tokens": 1, "calls": 1}
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(row))
    assert Records.read(path)[0].outcomes["loop"].usage == Usage(5, 1, 1)


def test_a_lone_surrogate_of_a_model_is_written(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    Records([Record.of("Q\ud800", direct=("\udfff", 0), loop=("", 0))]).write(path)
    assert Records.read(path)[0].direct.answer == "\ufffd"


def test_stamps_must_agree():
    check_same_stamp([STAMP, STAMP], "records")
    with pytest.raises(StampMismatch, match=r"differ in their system \('s', 't'\)"):
        check_same_stamp([STAMP, Stamp("m", "r", "c", "t", "accuracy")], "records")


def test_equal_words_are_one_question():
    assert question_key("Who  wrote Emma? ") == question_key("who wrote emma?")
    assert question_key("a\ud800") == question_key("a\ufffd")
    assert question_key("a b") != question_key("ab")


def test_actions_stand_from_the_cheapest_to_the_dearest():
    record = Record.of("?", loop=("c", 1), direct=("a", 1), single=("b", 0))
    assert tuple(record.outcomes) == ACTIONS


def test_any_order_of_the_same_records_becomes_one():
    records = [Record.of(f"Who led team {number}?", **ANSWERS) for number in range(50)]
    once = in_fixed_order(records)
    assert in_fixed_order(reversed(records)) == once
    assert once != records
    assert {each.question for each in once} == {each.question for each in records}


def test_records_of_one_question_stand_together_in_the_order_of_what_they_hold():
    asked = ["Who?", "who? ", "Who?", "When?"]
    records = [
        Record.of(each, direct=(f"Cy {number}", 0.0), single=("Ada", 1.0))
        for number, each in enumerate(asked)
    ]
    once = in_fixed_order(records)
    for seed in range(5):
        drawn = np.random.default_rng(seed).permutation(len(records))
        assert in_fixed_order([records[place] for place in drawn]) == once
    assert "When?" in (once[0].question, once[-1].question)


def test_another_answer_moves_no_record():
    records = [Record.of(f"Who led team {number}?", **ANSWERS) for number in range(50)]
    others = [Record.of(each.question, direct=("Cy", 1.0), single=("", 0.0)) for each in records]
    assert [each.question for each in in_fixed_order(others)] == [
        each.question for each in in_fixed_order(records)
    ]


def test_what_no_file_can_hold_is_put_in_order_too():
    odd = Record.of("Who\ud800?", extra={"said": {"\ud800"}}, **ANSWERS)
    assert in_fixed_order([odd, odd]) == [odd, odd]


def answer(stop_reason: str) -> Answer:
    retrieved = stop_reason != "known"
    return Answer("Who?", "Ada", (), (), Decision(retrieved), (), stop_reason, {})


@pytest.mark.parametrize(
    ("stop_reason", "right", "benefit"),
    [
        ("known", True, -0.4),
        ("known", False, 0.6),
        ("sufficient", True, 0.4),
        ("sufficient", False, -0.6),
    ],
)
def test_a_right_answer_counts_for_the_way_it_was_made(
    stop_reason: str, right: bool, benefit: float
):
    record = record_of_feedback(answer(stop_reason), right, expected_other=0.6)
    assert record.benefit == pytest.approx(benefit)
    taken, other = ("direct", "loop") if stop_reason == "known" else ("loop", "direct")
    assert record.outcomes[taken].answer == "Ada"
    assert record.outcomes[other].answer == ""
    assert record.extra["imputed"] == other


def test_an_expectation_is_a_share():
    with pytest.raises(InputError, match="expected_other"):
        record_of_feedback(answer("known"), True, expected_other=2)


def test_some_are_taken_by_what_they_were_made_with():
    records = Records(
        Record.of(
            f"{model} {source}?", stamp=Stamp(model=model), extra={"source": source}, **ANSWERS
        )
        for model in ("small", "large")
        for source in ("nq", "squad")
    )
    taken = records.where(model="large", source="nq")
    assert [each.question for each in taken] == ["large nq?"]
    assert taken.stamp == Stamp(model="large")
    assert taken.keys == {"large nq?"}
    assert records[1:2] == [records[1]]
    with pytest.raises(StampMismatch, match="differ in their model"):
        _ = records.stamp
    with pytest.raises(InputError, match="source='x': there is 'nq', 'squad'"):
        records.where(source="x")
    with pytest.raises(InputError, match="no such field"):
        records.where(sauce="nq")


def test_records_are_a_table_and_one_is_records_again(tmp_path: Path):
    standing = Standing(direct=1.0, direct_cited=0.0, own=0.5)
    loop = Outcome(
        "Ada [1]", 1.0, Usage(9, 2, 1), rounds=2, drafts=(Draft("Ada", 1.0, True, standing),)
    )
    outcomes = {"direct": Outcome("Bob", 0.0, certain=True), "loop": loop}
    said = {"prompt:skr": Statement(True, 0.5)}
    records = Records(
        [
            Record("Who?", ("Ada",), outcomes, STAMP, said, {"id": "7"}),
            Record.of("When?", ["1815"], direct=("1815", 1.0), single=("", 0.0), stamp=STAMP),
        ]
    )
    frame = records.to_frame()
    assert frame["outcomes.direct.score"].tolist() == [0.0, 1.0]
    assert Records.read(frame) == records
    records.write(tmp_path / "records.parquet")
    assert Records.read(tmp_path / "records.parquet") == records
    frame["outcomes.direct.score"] = 2.0
    with pytest.raises(DataError, match=r"DataFrame, row 1: .*outcomes\.direct\.score"):
        Records.read(frame)
