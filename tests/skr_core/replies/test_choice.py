"""Multiple choice: what an answer chooses, worked by hand."""

from __future__ import annotations

import pytest

from skr_core.replies.choice import choice_match, chosen

FOODS = ["chicago", "street", "little italy", "food court", "capital cities"]


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ("(d)", 3),
        ("d.", 3),
        ("The answer is (d).", 3),
        ("Answer: food court", 3),
        ("It is in the food court.", 3),
        ("Not (a). The answer is (c) little italy.", 2),
        ("In the street or the food court.", None),
        ("(a) or (b)", None),
        ("(z)", None),
        ("", None),
        ("I don't know.", None),
    ],
)
def test_options(answer: str, place: int | None):
    assert chosen(answer, FOODS) == place


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ("Yes.", 0),
        ("no", 1),
        ("Yes, there is no doubt [1].", 0),
        ("It has no legs, so the answer is yes.", 0),
        ("There is no such thing as a yes here.", None),
        ("He said yes.", None),
    ],
)
def test_yes_and_no(answer: str, place: int | None):
    assert chosen(answer, ["yes", "no"]) == place


def test_gold_is_a_text_or_a_label():
    assert choice_match("(b)", ["shop"], ["street", "shop"])
    assert choice_match("shop", ["(b)"], ["street", "shop"])
    assert not choice_match("street", ["b"], ["street", "shop"])
    assert not choice_match("street", [], ["street", "shop"])


def test_the_longest_option_counts_where_one_is_part_of_another():
    assert chosen("It is the food court.", ["food", "food court"]) == 1
