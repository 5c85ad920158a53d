"""Rankings joined, and copies of the same words."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import Reference
from skr_core.references import (
    best_copies,
    merge_rankings,
    places,
    reciprocal_rank_fusion,
    with_copy,
)

POOL = [f"passage {number}" for number in range(25)]
rankings = st.lists(st.sampled_from(POOL), max_size=12)
rounds = st.lists(st.lists(rankings, max_size=5), max_size=6)


def test_fusion_prefers_agreement_to_one_first_place() -> None:
    a, b, c = POOL[:3]
    assert reciprocal_rank_fusion([[a, b], [c, b]]) == [b, a, c]


def test_a_low_place_in_both_rankings_outweighs_a_first_place_in_one() -> None:
    both = ["one", "b", "c", "agreed"], ["other", "e", "f", "agreed"]
    assert reciprocal_rank_fusion(both)[0] == "agreed"


def test_fusion_obeys_weights_and_k() -> None:
    a, b = POOL[:2]
    assert reciprocal_rank_fusion([[a, b], [b, a]], weights=[1.0, 2.0]) == [b, a]
    assert reciprocal_rank_fusion([[a], [b]], weights=[0.0, 1.0], k=1) == [b, a]


def test_fusion_wants_a_weight_for_each_ranking() -> None:
    with pytest.raises(ValueError, match="zip"):
        reciprocal_rank_fusion([[POOL[0]]], weights=[])


def test_fusion_counts_a_repeated_id_once() -> None:
    a, b = POOL[:2]
    assert reciprocal_rank_fusion([[a, a, a], [b]], weights=[1.0, 1.5]) == [b, a]


def test_one_round_is_kept_as_it_is() -> None:
    assert merge_rankings([[POOL]], limit=10) == POOL[:10]


def test_the_first_round_keeps_half_and_the_rest_is_dealt_out() -> None:
    first, second, third = POOL[:10], POOL[10:13], POOL[13:16]
    merged = merge_rankings([[first], [second, third]], limit=10)
    assert merged == [*first[:5], POOL[10], POOL[13], POOL[11], POOL[14], POOL[12]]


def test_places_left_over_go_back_to_the_first_round() -> None:
    assert merge_rankings([[POOL[:10]], [[POOL[20]]]], limit=10) == [
        *POOL[:5],
        POOL[20],
        *POOL[5:9],
    ]


def test_a_first_round_that_found_nothing_hands_on_its_places() -> None:
    assert merge_rankings([[[]], [POOL[:3]]], limit=10) == POOL[:3]
    assert merge_rankings([], limit=10) == []


@given(rounds, st.integers(-1, 12))
def test_never_more_than_the_limit_and_nothing_twice(
    found: list[list[list[str]]], limit: int
) -> None:
    merged = merge_rankings(found, limit=limit)
    everything = {each for round_ in found for ranking in round_ for each in ranking}
    ids = merged
    assert len(ids) == len(set(ids)) == min(max(0, limit), len(everything))
    assert set(ids) <= everything


@given(rounds.filter(lambda found: len(found) <= 6), st.integers(6, 12))
def test_every_round_with_something_of_its_own_keeps_one(
    found: list[list[list[str]]], limit: int
) -> None:
    merged = set(merge_rankings(found, limit=limit))
    for round_ in found:
        ids = {each for ranking in round_ for each in ranking}
        assert not ids or ids & merged


@given(st.lists(rankings, max_size=5))
def test_fusion_keeps_everything_once(found: list[list[str]]) -> None:
    ids = reciprocal_rank_fusion(found)
    assert len(ids) == len(set(ids))
    assert set(ids) == {each for ranking in found for each in ranking}


def found(identity: str | None = None, text: str = "Text.", **metadata: Any) -> Reference:
    return Reference.of(
        text, metadata=metadata, original={"id": identity, "metadata": metadata}, score=0.5
    )


def test_the_best_ranked_stays_whichever_ranking_it_is_in():
    other = found("x", "Other.")
    [_, best] = best_copies([[other, found("second")], [found("first"), found("third")]]).values()
    assert best.original == {"id": "first", "metadata": {}}
    assert places(best) == [{"id": "second"}, {"id": "third"}]


def test_equal_ranks_go_by_the_order_of_the_rankings():
    [best] = best_copies([[found("a")], [found("b")], []]).values()
    assert (best.original or {})["id"] == "a"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (found("1", page=1), found("1", page=1, score=0.2)),
        (found(page=1, score=0.9), found(page=1, score=0.2)),
        (found(day=date(2026, 1, 2)), found(day="2026-01-02")),  # as a store gives it back
        (found("1"), Reference.of("Text.", metadata={"page": 3})),
        (Reference.of("Text."), Reference.of("Text.", metadata={"page": 3})),
    ],
)
def test_the_same_is_not_named_beside_itself(one: Reference, other: Reference):
    assert with_copy(one, other).also_in == ()
    assert with_copy(one, other).original == one.original


def test_others_are_named_once():
    both = with_copy(found("1"), found("2", page=9))
    again = with_copy(with_copy(both, found("2")), with_copy(found("3"), found("1")))
    assert places(again) == [{"id": "2", "page": 9}, {"id": "3"}]


def test_one_with_an_original_takes_the_place_of_one_without():
    assert with_copy(Reference.of("Text."), found("1")).original == {"id": "1", "metadata": {}}
