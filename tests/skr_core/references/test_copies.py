"""Of references that say the same the best-ranked stays, and names the others."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from skr_core.references.copies import best_copies, places, with_copy
from skr_core.types import Reference


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
