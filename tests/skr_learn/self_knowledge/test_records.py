"""Records are written and read without loss; what does not compare is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import Usage
from skr_core.errors import StampMismatch
from skr_core.types import ACTIONS, Stamp
from skr_learn import SelfKnowledge, read_self_knowledge, write_self_knowledge
from skr_learn.self_knowledge.records import (
    Outcome,
    Statement,
    check_same_stamp,
    question_key,
    row_of,
)

STAMP = Stamp("m", "r", "c", "s", "accuracy")


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
    record = SelfKnowledge.of("?", direct=("a", direct), **{action: ("b", retrieved)})
    assert (record.effect, record.known, record.all_wrong) == (effect, known, all_wrong)
    assert record.benefit == retrieved - direct


def test_always_retrieving_is_the_loop_where_it_is_on_record():
    record = SelfKnowledge.of("?", direct=("a", 1), single=("b", 0), loop=("c", 1))
    assert record.retrieved.answer == "c"
    assert record.effect == "same"
    assert not record.all_wrong


SCORES = st.floats(0, 1)
COUNTS = st.integers(0, 10**6)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, st.booleans())
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
    SelfKnowledge,
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
    tmp_path_factory: pytest.TempPathFactory, records: list[SelfKnowledge], name: str
):
    path = tmp_path_factory.mktemp("records") / name
    write_self_knowledge(path, records)
    assert read_self_knowledge(path) == records


def test_a_line_says_for_human_readers_what_retrieval_did():
    row = row_of(SelfKnowledge.of("Who?", ["Ada"], direct=("Bob", 0), loop=("Ada [1]", 1)))
    assert row["effect"] == "helps"
    assert next(iter(row)) == "question"
    assert [*row["outcomes"]] == ["direct", "loop"]


def test_a_lone_surrogate_of_a_model_is_written(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    write_self_knowledge(path, [SelfKnowledge.of("Q\ud800", direct=("\udfff", 0), loop=("", 0))])
    assert read_self_knowledge(path)[0].direct.answer == "\ufffd"


def test_stamps_must_agree():
    check_same_stamp([STAMP, STAMP], "records")
    with pytest.raises(StampMismatch, match=r"differ in their system \('s', 't'\)"):
        check_same_stamp([STAMP, Stamp("m", "r", "c", "t", "accuracy")], "records")


def test_equal_words_are_one_question():
    assert question_key("Who  wrote Emma? ") == question_key("who wrote emma?")
    assert question_key("a\ud800") == question_key("a\ufffd")
    assert question_key("a b") != question_key("ab")


def test_actions_stand_from_the_cheapest_to_the_dearest():
    record = SelfKnowledge.of("?", loop=("c", 1), direct=("a", 1), single=("b", 0))
    assert tuple(record.outcomes) == ACTIONS
