"""Views: the same of one question as of many, and of records as of what is served."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skr_core import CandidateAnswer, HashingEmbedder
from skr_core.candidates import Standing
from skr_core.types import Stamp
from skr_learn import Record, Records
from skr_learn.features import Seen, Shown, Views, texts_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
STANDINGS = st.none() | st.builds(Standing, *[st.floats(0, 1)] * 3)
ANSWERS = st.builds(
    CandidateAnswer, TEXTS, st.none() | st.floats(-9, 0), st.none() | st.booleans(), STANDINGS
)
MANY = st.integers(1, 3).flatmap(
    lambda count: st.lists(
        st.builds(Seen, TEXTS, st.tuples(*[ANSWERS] * count)), min_size=1, max_size=4
    )
)


def shown(views: Views) -> list[Shown]:
    counts = range(1, views.count + 1)
    return [views.whole(0), *map(views.whole, counts), *map(views.each, counts)]


def vectors_of(seen: list[Seen]) -> np.ndarray:
    return HashingEmbedder().embed(texts_of(seen))


@settings(max_examples=25)
@given(MANY)
def test_one_question_looks_alone_as_it_does_among_others(seen: list[Seen]):
    many = shown(Views(seen, vectors_of(seen)))
    for row, each in enumerate(seen):
        for one, all_ in zip(shown(Views([each], vectors_of([each]))), many, strict=True):
            rows = np.arange(row, len(all_), len(seen))
            assert np.array_equal(one.features, all_.features[rows])
            assert one.tokens == [all_.tokens[place] for place in rows]
            assert one.vectors is not None
            assert all_.vectors is not None
            assert np.allclose(one.vectors, all_.vectors[rows])


@settings(max_examples=25)
@given(MANY)
def test_whatever_is_seen_is_finite(seen: list[Seen]):
    for each in shown(Views(seen)):
        assert np.isfinite(each.features).all()
        assert len(each.tokens) == len(each.features)
        assert each.vectors is None


@pytest.mark.parametrize(
    ("count", "whole", "each"), [(0, 32, None), (1, 67, 68), (2, 112, 113), (3, 167, 168)]
)
def test_widths(count: int, whole: int, each: int | None):
    views = Views([Seen("Who?", (CandidateAnswer("Ada"),) * 3)])
    assert views.whole(count).features.shape == (1, whole)
    if each:
        assert views.each(count).features.shape == (count, each)


def test_few_answers_are_seen_as_if_there_were_no_more():
    three = tuple(map(CandidateAnswer, ("Ada", "Ben", "Ada Lovelace")))
    all_ = Views([Seen("Who wrote it?", three)])
    for count in (1, 2, 3):
        few = Views([Seen("Who wrote it?", three[:count])])
        for one, other in [(few.whole, all_.whole), (few.each, all_.each)]:
            assert np.array_equal(one(count).features, other(count).features)
            assert one(count).tokens == other(count).tokens


def test_an_answer_is_seen_beside_the_others_whatever_their_order():
    two = tuple(map(CandidateAnswer, ("Ada", "Ada Lovelace")))
    forth = Views([Seen("Who?", two)]).each(2).features
    back = Views([Seen("Who?", two[::-1])]).each(2).features
    assert np.array_equal(forth[:, 1:], back[::-1, 1:])  # but for the place


def test_vectors_are_of_the_question_and_of_the_answers_shown():
    seen = [Seen("Who?", (CandidateAnswer("Ada"), CandidateAnswer("")))]
    views = Views(seen, np.arange(6, dtype=np.float32).reshape(3, 2))
    assert views.whole(0).vectors.tolist() == [[0, 1]]
    assert views.whole(1).vectors.tolist() == [[0, 1, 2, 3]]
    # The question, the answer, and their product.
    assert views.each(2).vectors.tolist() == [[0, 1, 2, 3, 0, 3], [0, 1, 4, 5, 0, 5]]


FROM_GOLD = ("em_direct", "f1_retrieved", "correct_multistep", "has_answer_recomputed_direct")


def test_what_comes_from_gold_changes_nothing_that_is_seen():
    actions = ("direct", "single")
    blind = Record.of("Who?", direct=("Bob", 0), single=("It was Ada.", 0))
    seeing = Record.of(
        "Who?",
        ["Ada"],
        direct=("Bob", 1),
        single=("It was Ada.", 1),
        stamp=Stamp(model="m"),
        extra=dict.fromkeys(FROM_GOLD, 1.0),
    )
    assert blind.seen(actions) == seeing.seen(actions)


@pytest.mark.data
def test_on_recorded_answers_too(data_dir):
    path = data_dir / "adarague_llama31_8b_dev.jsonl.gz"
    for record in Records.read(path, mixed_stamps=True)[:100]:
        outcomes = {
            name: dataclasses.replace(each, score=0.0, reasoning="", certain=None)
            for name, each in record.outcomes.items()
        }
        blind = dataclasses.replace(record, gold=(), outcomes=outcomes, extra={}, statements={})
        actions = tuple(record.outcomes)
        assert blind.seen(actions) == record.seen(actions)
