"""Whether a reply asks for help, by the polarity of the question that was asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.replies.need import parse_need


@pytest.mark.parametrize(
    ("text", "after_need", "after_ability"),
    [
        ("Yes", True, False),
        ("no.", False, True),
        ("**No**, I don't.", False, True),
        ("A: Yes", True, False),
        ("Answer: no", False, True),
        ("My answer is yes.", True, False),
        ("Yeah, please", True, False),
        ("Not really", False, True),
        ("Of course not.", False, True),
        ("Certainly not, I know it.", False, True),
        ("Yes or no?", None, None),
        ("Nothing", None, None),
        ("It depends.", None, None),
        ("I need additional information to answer this.", True, True),
        ("I would like some more clues.", True, True),
        ("More context would be helpful.", True, True),
        ("I don’t need any more information.", False, False),
        ("Additional information is not required.", False, False),
        ("I can solve it without any help.", False, False),
        ("I cannot answer this without additional information.", True, True),
        ("I can't solve this, and I don't need clues.", True, True),
        ("I can answer this.", False, False),
        ("The answer is Jane Austen.", False, False),
        ("I don't know.", True, True),
        ("No idea.", True, True),
        ("", None, None),
    ],
)
def test_need(text: str, after_need: bool | None, after_ability: bool | None) -> None:
    assert parse_need(text, yes_means_unknown=True) is after_need
    assert parse_need(text, yes_means_unknown=False) is after_ability


@given(st.text(), st.booleans())
def test_nothing_raises(text: str, yes_means_unknown: bool) -> None:
    assert parse_need(text, yes_means_unknown=yes_means_unknown) in (True, False, None)
