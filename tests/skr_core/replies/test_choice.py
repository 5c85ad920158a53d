"""Multiple choice: what an answer chooses, labelled by hand."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.replies.choice import choice_match, chosen, implied_choices

FOODS = ["chicago", "street", "little italy", "food court", "capital cities"]


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ("(d)", 3),
        ("d.", 3),
        ("D", 3),
        ("**D**", 3),
        ("**(D)** food court", 3),
        ("D) food court", 3),
        ("D: food court", 3),
        ("D - food court", 3),
        ("D because one eats there.", 3),
        ("d\nOne eats there.", 3),
        ("“(d)”", 3),
        ("Food court [1].", 3),
        ("The answer is (d).", 3),
        ("The answer is D.", 3),
        ("The correct answer would be option D.", 3),
        ("I choose D.", 3),
        ("Option (d), the food court.", 3),
        ("Answer: food court", 3),
        ("**Answer:** (d) food court", 3),
        ("It is in the food court.", 3),
        ("Not (a). The answer is (c) little italy.", 2),
        ("It is not (a) but (c).", 2),
        ("(d) because (a) is a city.", 3),
        ("(a) is wrong, so it must be (d).", 3),
        ("It could be (a). Little italy fits too. I go with (d).", 3),
        ("A food court is where one eats, so the food court.", 3),
        ("A watermelon is a fruit.", None),
        ("In the street or the food court.", None),
        ("(a) or (b)", None),
        ("A or B", None),
        ("A, B and C", None),
        ("The answer is not (a).", None),
        ("(z)", None),
        ("", None),
        ("I don't know.", None),
        ("I can't say.", None),
    ],
)
def test_options(answer: str, place: int | None) -> None:
    assert chosen(answer, FOODS) == place


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ("Yes.", 0),
        ("no", 1),
        ("**Yes**", 0),
        ("Yes, there is no doubt [1].", 0),
        ("No, although some say yes.", 1),
        ("It has no legs, so the answer is yes.", 0),
        ("Yes or no? No.", 1),
        ("There is no such thing as a yes here.", None),
        ("He said yes.", None),
    ],
)
def test_yes_and_no(answer: str, place: int | None) -> None:
    assert chosen(answer, ["yes", "no"]) == place


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ("True.", 0),
        ("False, it was 1736 [1].", 1),
        ("Not true.", 1),
        ("The statement is false [2].", 1),
        ("It is not true of 1735.", 1),
        ("This isn’t false.", 0),
        ("It is not true of 1735. So the answer is true.", 0),
        ("True or False: False", 1),
        ("A true story is told here.", None),
        ("", None),
    ],
)
def test_true_and_false(answer: str, place: int | None) -> None:
    assert chosen(answer, ["true", "false"]) == place


def test_gold_is_a_text_or_a_label() -> None:
    assert choice_match("(b)", ["shop"], ["street", "shop"])
    assert choice_match("shop", ["(b)"], ["street", "shop"])
    assert choice_match("shop", ["B. shop"], ["street", "shop"])
    assert not choice_match("street", ["b"], ["street", "shop"])
    assert not choice_match("street", [], ["street", "shop"])


def test_the_text_of_an_option_outweighs_a_label() -> None:
    vitamins = ["D", "C", "B12", "K"]
    assert choice_match("C", ["C"], vitamins)
    assert not choice_match("(c)", ["C"], vitamins)
    assert choice_match("(b)", ["C"], vitamins)
    assert choice_match("The answer is A.", ["A"], ["B", "A"])


def test_the_longest_option_counts_where_one_is_part_of_another() -> None:
    assert chosen("It is the food court.", ["food", "food court"]) == 1


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("The answer is (B).", "B", True),
        ("B. They grow.", "(B)", True),
        ("b", "B", True),
        ("(A) They grow.", "A. They grow.", True),
        ("(A) is wrong. So the answer is C.", "C", True),
        ("(A) is wrong. So the answer is C.", "A", False),
        ("(B) They grow in a field.", "A", False),
        ("A watermelon is a fruit.", "A", False),
        ("It is not true. So the answer is false.", "False", True),
        ("It is not true. So the answer is false.", "True", False),
        ("Yes, it could.", "yes", True),
        ("No.", "yes", False),
        ("", "B", False),
    ],
)
def test_gold_alone_implies_the_options(answer: str, gold: str, right: bool) -> None:
    assert choice_match(answer, [gold]) is right


def test_other_gold_implies_no_options() -> None:
    assert implied_choices(["Paris"]) == ()
    assert not choice_match("The answer is Paris.", ["Paris"])


near_words = st.sampled_from(["(a)", "B", " or ", "answer is ", "yes", "not ", ". ", "true", "\n"])
replies = st.lists(st.text(max_size=20) | near_words, max_size=10).map("".join)


@given(replies, st.lists(replies, max_size=3), st.lists(st.text(max_size=9), max_size=30))
def test_nothing_raises(answer: str, gold: list[str], choices: list[str]) -> None:
    place = chosen(answer, choices)
    assert place is None or 0 <= place < len(choices)
    assert choice_match(answer, gold, choices) in (True, False)


@pytest.mark.parametrize("piece", ["(a) ", "it ", "A or ", "true ", "option ", "not (b) ", "*"])
def test_a_hostile_reply_takes_no_longer_than_its_length(piece: str) -> None:
    started = time.thread_time()
    chosen(piece * (30_000 // len(piece)), ["true", "false"])
    assert time.thread_time() - started < 2
