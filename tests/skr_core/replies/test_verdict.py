"""Verdicts of judges: read strictly in meaning, forgivingly in form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.replies.verdict import parse_entailment, parse_right, parse_sufficient


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("sufficient", (True, "")),
        ("Sufficient.", (True, "")),
        ("**Sufficient**: everything is there.", (True, "")),
        ("Verdict: sufficient", (True, "")),
        ("Insufficient: the birthplace", (False, "the birthplace")),
        ("**Insufficient:** the birthplace.", (False, "the birthplace")),
        ("The references are **insufficient** - the year", (False, "the year")),
        ("Insufficient:\n- the year\n- the place", (False, "the year; the place")),
        ("Insufficient: the year.\n\nI hope this helps.", (False, "the year")),
        ("not sufficient, the year", (False, "the year")),
        ("They aren't sufficient: the year", (False, "the year")),
        ("They aren’t sufficient: the year", (False, "the year")),
        ("They are not entirely sufficient: the year", (False, "the year")),
        ("There is no sufficient evidence for it.", (False, "evidence for it")),
        ("They would be sufficient if dated.\nInsufficient: the date", (False, "the date")),
        ("Sufficient or insufficient? The draft cites both.\n\nSufficient.", (True, "")),
        ("The first is insufficient by itself, but both are sufficient.", (True, "")),
        ("insufficient", (False, "")),
        ("sufficient/insufficient", None),
        ("yes", None),
        ("", None),
    ],
)
def test_sufficient(text: str, verdict: tuple[bool, str] | None) -> None:
    assert parse_sufficient(text) == verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("right", True),
        ("**Right.**", True),
        ("Correct", True),
        ("Verdict: right", True),
        ("wrong", False),
        ("Not right.", False),
        ("Incorrect: it was Bob.", False),
        ("The answer is right.", True),
        ("The given answer is wrong: it was Bob.", False),
        ("Both name Ada, so the given answer is **right**.", True),
        ("The right answers name Ada. The given answer is not right.", False),
        ("right/wrong", None),
        ("right or wrong", None),
        ("It may be right or wrong.", None),
        ("I cannot say which answer is right.", None),
        ("The right answers include Ada.", None),
        ("", None),
    ],
)
def test_right(text: str, verdict: bool | None) -> None:
    assert parse_right(text) is verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("entailment", "entailment"),
        (" Neutral.\n", "neutral"),
        ("`contradiction`", "contradiction"),
        ("**Entailment.** The premise says so.", "entailment"),
        ("Contradiction: the premise denies it.", "contradiction"),
        ("Answer: neutral", "neutral"),
        ("not entailment", None),
        ("entailment or neutral", None),
        ("entailment, neutral or contradiction", None),
        ("It is not entailment.", None),
        ("Yes", None),
        ("", None),
    ],
)
def test_entailment(text: str, verdict: str | None) -> None:
    assert parse_entailment(text) == verdict


near_words = st.sampled_from(
    [
        "insufficient",
        "not ",
        "sufficient",
        "right",
        "wrong",
        "or",
        "answer",
        " is ",
        "\n",
        "- ",
        ":",
    ]
)
replies = st.lists(st.text(max_size=20) | near_words, max_size=10).map("".join)


@given(replies)
def test_nothing_raises(text: str) -> None:
    verdict = parse_sufficient(text)
    assert verdict is None or "\n" not in verdict[1]
    assert parse_right(text) in (True, False, None)
    parse_entailment(text)
