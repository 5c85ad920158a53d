"""How answers look, agree, and stand in references."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import CandidateAnswer
from skr_core.candidates import Standing
from skr_core.rivals import share_standing, standing_in
from skr_learn.arbiters.answers import agree
from skr_learn.arbiters.comparing import (
    Reasoning,
    fits,
    form_features,
    own_features,
    pair_features,
    question_standing,
    reasoning_standing,
    turned,
)

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
    assert turned(np.array([forth])).tolist() == [back]
    assert agree(these, those) == agree(those, these)


@given(TEXTS, TEXTS, TEXTS)
def test_any_answer_has_as_many_features(question: str, answer: str, reasoning: str):
    standing = Standing(0.5, 0.0, 1.0)
    without = own_features(question, CandidateAnswer(answer), Reasoning(reasoning))
    with_it = own_features(question, CandidateAnswer(answer, standing=standing), Reasoning(""))
    assert len(without) == len(with_it)


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


def test_an_answer_that_lists_or_explains_shows_it():
    assert form_features("Nebula") == [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    listed = "Nebula, and (in 2014) Gamora. Both are sisters."
    assert form_features(listed) == [1.0, 1.0, 1.0, 1.0, 4.0, 2.0]


def test_an_answer_may_be_one_of_two_that_are_offered():
    asked = "Who was born first, Ada Lovelace or Charles Babbage?"
    first, second = (question_standing(asked, each) for each in ("Ada Lovelace", "Babbage"))
    assert first[0] == second[0] == first[2] == second[2] == 1.0
    assert first[1] < second[1]
    assert question_standing(asked, "Emma")[:3] == [0.0, -1 / 50, 0.0]
    assert question_standing("Who taught Ada Lovelace?", "Ada Lovelace")[2] == 0.0


def test_what_the_conclusion_says_is_told_from_what_stands_before_it():
    thought = "Ada was born in 1815. Babbage was born in 1791. So the answer is: four."
    assert reasoning_standing(Reasoning(thought), "4")[:3] == [1.0, 0.0, 1.0]
    assert reasoning_standing(Reasoning(thought), "1815")[:3] == [0.0, 1.0, 1.0]
    assert reasoning_standing(Reasoning(thought), "Emma")[:4] == [0.0, 0.0, 0.0, -1.0]
    nothing = reasoning_standing(Reasoning(""), "Ada"), reasoning_standing(Reasoning("Ada."), "")
    assert all(found == [0, 0, 0, -1.0, 0, 0] for found in nothing)
