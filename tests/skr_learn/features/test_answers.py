"""How answers look, agree, and stand in the question and in references."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import CandidateAnswer
from skr_core.candidates import Standing
from skr_learn.features.answers import (
    PAIR_FEATURES,
    agree,
    fits,
    form_features,
    own_features,
    pair_features,
    question_standing,
    trigram_cosine,
    turned,
)

TEXTS = st.text(st.characters(), max_size=60)  # lone surrogates too


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
    assert len(forth) == PAIR_FEATURES
    assert all(map(math.isfinite, forth))
    assert forth[1:3] == back[2:0:-1]
    assert turned(np.array([forth])).tolist() == [back]
    assert agree(these, those) == agree(those, these) == bool(forth[0])


@given(TEXTS, TEXTS)
def test_a_cosine_lies_between_none_and_all(these: str, those: str):
    assert 0.0 <= trigram_cosine(these, those) <= 1.0 + 1e-12
    assert trigram_cosine(these, these) == pytest.approx(1.0 if these else 0.0)


@given(TEXTS, TEXTS)
def test_any_answer_has_35_numbers_of_which_the_unknown_are_nan(question: str, answer: str):
    bare = own_features(question, CandidateAnswer(answer))
    known = own_features(
        question,
        CandidateAnswer(answer, confidence=-1.0, grounded=True, standing=Standing(0.5, 0.0, 1.0)),
    )
    assert len(bare) == len(known) == 35
    assert sum(map(math.isnan, bare)) == 5
    assert all(map(math.isfinite, known))


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


def test_numbers_agree_however_they_are_written():
    assert question_standing("Are there seven or 8?", "7")[0] == 1.0
    assert agree("The 3 bears.", "3 bears")
    assert not agree("", "")
