"""How answers look, agree, and stand in references."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.arbiters.answers import SeenAnswer, agree
from skr_core.arbiters.comparing import fits, own_features, pair_features
from skr_core.self_knowledge.standing import Standing, share_standing, standing_in

TEXTS = st.text(max_size=60)


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("How many moons has Mars?", "two", 1.0),
        ("How many moons has Mars?", "Phobos", -1.0),
        ("When was it?", "In May 1912", 1.0),
        ("in what year did it end", "never", -1.0),
        ("Is it red?", "Yes, it is.", 1.0),
        ("Is it red or blue?", "blue", 0.5),
        ("Who was it?", "Ada Lovelace", 1.0),
        ("Who was it?", "yes", -1.0),
        ("Why?", "", 0.0),
    ],
)
def test_kinds_of_answers(question: str, answer: str, expected: float):
    assert fits(question, answer) == expected


@given(TEXTS, TEXTS)
def test_agreement_is_mutual_and_finite(these: str, those: str):
    forth, back = pair_features(these, those), pair_features(those, these)
    assert all(map(math.isfinite, forth))
    assert (forth[0], forth[3], forth[4]) == (back[0], back[3], back[4])
    assert forth[1:3] == back[2:0:-1]
    assert agree(these, those) == agree(those, these)


@given(TEXTS, TEXTS, TEXTS)
def test_any_answer_has_as_many_features(question: str, answer: str, reasoning: str):
    standing = Standing(0.5, 0.0, 1.0)
    without = own_features(question, SeenAnswer(answer), reasoning)
    assert len(without) == len(own_features(question, SeenAnswer(answer, standing=standing), ""))


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_a_share_lies_between_none_and_all(answer: str, texts: list[str]):
    assert 0.0 <= share_standing(answer, texts) <= 1.0


def test_words_have_to_stand_together():
    far = "Gustave was a cook. " + "He cooked soup every day. " * 20 + "Eiffel is a mountain range."
    assert share_standing("Gustave Eiffel", ["The tower of Gustave Eiffel"]) == 1.0
    assert share_standing("Gustave Eiffel", [far]) == 0.5
    assert share_standing("", [far]) == share_standing("Ada", []) == 0.0


def test_cited_references_are_told_from_others():
    found = ["The capital is Paris.", "Lyon lies on the Rhône."]
    assert standing_in("Lyon", "Paris", found, found[:1]) == Standing(1.0, 0.0, 1.0)
