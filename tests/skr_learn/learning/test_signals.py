"""What routers look at: nothing that was computed from the right answer."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from skr_core import Generation, HashingEmbedder
from skr_core.errors import InputError
from skr_core.types import Stamp
from skr_learn import SelfKnowledge, read_self_knowledge
from skr_learn.learning import Observed, Rows, Signals, Training
from skr_learn.learning.answer_features import DRAFT_FEATURES, draft_features
from skr_learn.learning.observed import is_computed_from_gold
from skr_learn.learning.question_features import QUESTION_FEATURES, question_features
from skr_learn.learning.rows import embed_texts
from skr_learn.self_knowledge.records import Outcome
from tests.skr_learn.routers.facts import answered

FROM_GOLD = [
    "em_direct",
    "f1_retrieved",
    "contains_generation_direct",
    "correct_multistep",
    "correct_retrieved_dpr",
    "answer_direct_origin_rule",
    "has_answer_recomputed_direct",
]


@pytest.mark.parametrize("name", FROM_GOLD)
def test_fields_from_gold_are_known_as_such(name: str):
    assert is_computed_from_gold(name)
    assert is_computed_from_gold(f"extra.{name}")


def test_what_comes_from_gold_changes_nothing_that_a_router_sees():
    blind = SelfKnowledge.of("Who?", direct=("Bob", 0), single=("", 0))
    seeing = SelfKnowledge.of(
        "Who?",
        ["Ada"],
        direct=("Bob", 1),
        single=("It was Ada.", 1),
        stamp=Stamp(model="m"),
        extra=dict.fromkeys(FROM_GOLD, 1.0),
    )
    assert Observed.in_record(blind) == Observed.in_record(seeing)


@pytest.mark.data
def test_on_recorded_answers_too(data_dir):
    for path in sorted(data_dir.glob("*.jsonl.gz")):
        try:
            records = read_self_knowledge(path, mixed_stamps=True, skip_bad=True)[:50]
        except InputError:  # a corpus, not records
            continue
        for record in records:
            outcomes = {name: dataclasses.replace(each, score=0.0)
                        for name, each in record.outcomes.items()}  # fmt: skip
            blind = dataclasses.replace(record, gold=(), outcomes=outcomes, extra={})
            assert Observed.in_record(blind) == Observed.in_record(record)


def with_direct(**fields: object) -> SelfKnowledge:
    outcomes = {"direct": Outcome("Bob", 0.0, **fields), "single": Outcome("", 0.0)}
    return SelfKnowledge("Who?", ("Ada",), outcomes)


def test_in_service_it_sees_what_the_records_show():
    record = with_direct(logprob=-1.0)
    said = Generation("Bob", logprobs=(-0.5, -1.5))
    assert Observed.in_answer("Who?", said) == Observed.in_record(record)


def test_a_stated_uncertainty_is_a_low_confidence():
    record = with_direct(certain=False)
    assert Observed.in_record(record).confidence == 0.0


def test_there_are_as_many_features_as_are_named():
    assert (len(QUESTION_FEATURES), len(DRAFT_FEATURES)) == (32, 28)
    for text in ("", "?", "日本の首都は?", "a" * 5000, "Who\nwas \x00 it?"):
        features = question_features(text) + draft_features(text, text, text)
        assert np.isfinite(features).all()


class Dense:
    name = "dense"

    def embed(self, texts):
        return HashingEmbedder().embed(texts)


@pytest.mark.parametrize("embedder", [HashingEmbedder(), Dense()], ids=["sparse", "dense"])
class TestRows:
    texts = ("Who wrote Emma?", "Who wrote Persuasion?", "", "日本")

    def test_products(self, embedder):
        rows = Rows(embed_texts(embedder, self.texts))
        dense = rows.matrix if isinstance(rows.matrix, np.ndarray) else rows.matrix.toarray()
        assert rows.dot(rows) == pytest.approx(dense @ dense.T, abs=1e-6)

    def test_arrays(self, embedder):
        rows = Rows(embed_texts(embedder, self.texts))
        again = Rows.from_arrays("q", rows.arrays("q"))
        assert again.dot(rows[[0]]).tolist() == rows.dot(rows[[0]]).tolist()

    def test_more(self, embedder):
        rows = Rows(embed_texts(embedder, self.texts))
        assert len(rows.concatenated(rows[:2])) == 6

    def test_signals_come_back_from_arrays(self, embedder):
        seen = Signals.of([Observed("Who?", "Ada", "", 0.5), Observed("When?", None)], embedder)
        again = Signals.from_arrays(seen.arrays())
        assert np.array_equal(again.features, seen.features)
        assert np.array_equal(again.confidence, seen.confidence, equal_nan=True)
        assert len(again.concatenated(seen)) == 4
        assert again.without_drafts.features.shape == (2, 32)

    def test_features_may_be_left_out(self, embedder):
        observed = [Observed("Who?"), Observed("When?")]
        seen = Signals.of(observed, embedder, drafts=False, features=False)
        assert seen.features.shape == (2, 0)
        measured = Signals.of(observed, embedder, drafts=False)
        assert seen.question.dot(measured.question).diagonal().tolist() == pytest.approx([1, 1])


def test_equal_questions_are_one_group():
    records = [answered(q, 0.0, 1.0) for q in ("Who is it?", "who is IT", "When?")]
    groups = Training.of(records, HashingEmbedder()).groups
    assert groups[0] == groups[1] != groups[2]


def test_no_text_has_no_rows():
    assert HashingEmbedder().embed_sparse([]).shape == (0, 262144)
