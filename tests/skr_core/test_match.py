"""Metrics of texts, with values worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.match import contains_gold, exact_match, token_f1
from skr_core.texts import normalise


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Eiffel Tower, [1] in Paris!", "eiffel tower in paris"),
        ("  an   apple a day ", "apple day"),
        ("U.S.A.", "usa"),
        ("“Squid Game”", "squid game"),
        ("O’Brien’s", "obriens"),
        ("theatre", "theatre"),
        ("Ada[1][22].", "ada"),
        ("", ""),
    ],
)
def test_normalise(text: str, normal: str):
    assert normalise(text) == normal


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("the Seine.", ["Seine"], True),
        ("Seine", ["Loire", "The Seine"], True),
        ("Seine river", ["Seine"], False),
        ("Seine", [], False),
    ],
)
def test_exact_match(answer: str, gold: list[str], same: bool):
    assert exact_match(answer, gold) is same


@pytest.mark.parametrize(
    ("answer", "gold", "contains"),
    [
        ("It was Ada Lovelace [1].", ["Ada Lovelace"], True),
        ("It was Ada [1] Lovelace.", ["Ada Lovelace"], True),
        ("Adamant", ["Ada"], False),
        ("It was he.", ["she", "he"], True),
        ("nothing", [""], False),
        ("nothing", ["the"], False),
        ("nothing", [], False),
    ],
)
def test_contains_gold(answer: str, gold: list[str], contains: bool):
    assert contains_gold(answer, gold) is contains


@pytest.mark.parametrize(
    ("answer", "gold", "f1"),
    [
        ("in Paris", ["Paris"], 2 / 3),
        ("Paris", ["Paris"], 1.0),
        ("Lyon", ["Paris"], 0.0),
        # Said 4 words, wanted 2, shared 2: precision 1/2, recall 1.
        ("born in new york", ["New York"], 2 / 3),
        # A word counts as often as both say it: shared 1, precision 1/2, recall 1.
        ("paris paris", ["paris"], 2 / 3),
        ("in Paris", ["Lyon", "Paris"], 2 / 3),
        ("", ["Paris"], 0.0),
        ("Paris", [], 0.0),
    ],
)
def test_token_f1(answer: str, gold: list[str], f1: float):
    assert token_f1(answer, gold) == pytest.approx(f1)


@given(st.text(), st.lists(st.text(), max_size=3))
def test_the_metrics_agree(answer: str, gold: list[str]):
    assert 0 <= token_f1(answer, gold) <= 1
    if normalise(answer) and exact_match(answer, gold):
        assert contains_gold(answer, gold)
        assert token_f1(answer, gold) == 1
    if contains_gold(answer, gold):
        assert token_f1(answer, gold) > 0


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("Dr. B.R. Ambedkar", "B. R. Ambedkar"),
        ("It weighs 3.5 kg.", "3.5 kg"),
        ("AT&T built it", "AT&T"),
        ("the well-known river", "well known"),
        ("It is Squid Game.", "“Squid Game”"),
        ("Flann O’Brien", "Flann O'Brien"),
    ],
)
def test_punctuation_inside_a_name_may_be_there_or_not(answer, gold):
    assert contains_gold(answer, [gold])


def test_a_marker_is_no_part_of_an_answer():
    assert not contains_gold("In that year [7].", ["7"])
