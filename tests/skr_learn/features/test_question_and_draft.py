"""Counts of questions and drafts: as many as are named, finite and quick, whatever the text."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_learn.features.draft import DRAFT_FEATURES, draft_features
from skr_learn.features.question import QUESTION_FEATURES, question_features

TEXTS = st.text(st.characters(), max_size=200)


@given(TEXTS, TEXTS)
def test_any_text_has_as_many_numbers_as_are_named(question: str, answer: str):
    asked, said = question_features(question), draft_features(question, answer)
    assert (len(asked), len(said)) == (len(QUESTION_FEATURES), len(DRAFT_FEATURES)) == (32, 16)
    assert np.isfinite(asked + said).all()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "日本の首都は?",
        "\ud800 \udfff",
        "\N{FAMILY}" * 900,
        "Who\nwas \x00 it?",
        "a" * 200_000,
        "A" + " " * 50_000 + "b",
        "A " * 50_000,
        ", x or " * 3_000,
        "the a of the " * 10_000,
        "A of " * 20_000,
        "." * 100_000,
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_no_text_takes_long(text: str):
    start = time.process_time()
    assert np.isfinite(question_features(text) + draft_features(text, text)).all()
    assert time.process_time() - start < 2.0


def asked(question: str) -> dict[str, float]:
    return dict(zip(QUESTION_FEATURES, question_features(question), strict=True))


def said(answer: str) -> dict[str, float]:
    found = draft_features("Who led the team in 1999?", answer)
    return dict(zip(DRAFT_FEATURES, found, strict=True))


@pytest.mark.parametrize(
    ("question", "name", "expected"),
    [
        ("Who is the current mayor of Paris?", "recent", 1),
        ("Who is the current mayor of Paris?", "who", 1),
        ("In what year did Jane Austen die?", "asks_late", 1),
        ("Did Emma win?", "yes_or_no", 1),
        ("Who is older, Ada or Ben?", "choice_of_two", 1),
        ("Who is older, Ada or Ben?", "comparison", 1),
        ("Who is older, Ada", "choice_of_two", 0),
        ("Older,\nAda or Ben?", "choice_of_two", 0),
        ("Did Jane Austen meet Mary Shelley?", "names", 2),
        ("Who led the Bank of England?", "names", 1),
        ("how many moons?", "how_many", 1),
        ("how many moons?", "lower_case", 1),
        ("What was new in 1999?", "year", 1),
    ],
)
def test_what_a_question_shows(question: str, name: str, expected: float):
    assert asked(question)[name] == expected


@pytest.mark.parametrize(
    ("answer", "name", "expected"),
    [
        ("I don't know.", "answer_refuses", 1),
        ("Ada", "answer_refuses", 0),
        ("", "answer_empty", 1),
        ("No, it was not.", "answer_no", 1),
        ("Norway", "answer_no", 0),
        ("In May 1912", "answer_month", 1),
        ("In May 1912", "answer_year", 1),
        ("the team", "answer_in_question", 1),
        ("It was probably Ada, but perhaps not", "hedges", 3),
    ],
)
def test_what_a_draft_shows(answer: str, name: str, expected: float):
    assert said(answer)[name] == expected
