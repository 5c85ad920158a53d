"""Whether an answer is right: the option that it chooses, and a judge's verdict."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.replies import (
    choice_match,
    chosen,
    implied_choices,
    parse_entailment,
    parse_right,
    parse_sufficient,
)

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
def test_no_answer_raises(answer: str, gold: list[str], choices: list[str]) -> None:
    place = chosen(answer, choices)
    assert place is None or 0 <= place < len(choices)
    assert choice_match(answer, gold, choices) in (True, False)


@pytest.mark.parametrize("piece", ["(a) ", "it ", "A or ", "true ", "option ", "not (b) ", "*"])
def test_a_hostile_reply_takes_no_longer_than_its_length(piece: str) -> None:
    started = time.thread_time()
    chosen(piece * (30_000 // len(piece)), ["true", "false"])
    assert time.thread_time() - started < 2


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
        ("not entailment", "neutral"),
        ("entailment or neutral", None),
        ("entailment, neutral or contradiction", None),
        ("It is not entailment.", "neutral"),
        ("It may be entailment or neutral.", None),
        ("Yes", None),
        ("", None),
        # Thinking aloud, with the verdict in the last line, in the first, or in a box.
        (r"The premise says that she was born there. \boxed{entailment}", "entailment"),
        (r"First, ... $\boxed{\text{Contradiction}}$.", "contradiction"),
        ("Neutral at first sight. But the premise names both.\n\nentailment", "entailment"),
        ("Let us see whether it follows.\n1. He is old.\n**Verdict:** neutral", "neutral"),
        ("Entailment\n\nThe premise names Ohio, which does not contradict it.", "entailment"),
        ("It says 1946. So the answer is: contradiction.", "contradiction"),
        ("Neutral? Perhaps.\nThe hypothesis follows from the premise.", "entailment"),
        ("The hypothesis follows.", "entailment"),
        (
            "If he was born there, it follows. He was not.\nThe hypothesis does not follow.",
            "neutral",
        ),
        ("We ask whether the hypothesis follows from the premise.", None),
        ("The hypothesis cannot be inferred from the premise alone.", "neutral"),
        ("The hypothesis is entailed by the premise.", "entailment"),
        ("The premise directly contradicts the hypothesis.", "contradiction"),
        ("Entailment: it names her.\nNeutral: it does not.\nThe hypothesis follows.", "entailment"),
        ("Entailment: it names her.\nNeutral: it does not.", None),
        # In other languages.
        ("Widerspruch", "contradiction"),
        ("Die Hypothese folgt aus der Prämisse.", "entailment"),
        ("Die Hypothese folgt nicht aus der Prämisse.", "neutral"),
        ("L'hypothèse ne découle pas de la prémisse.", "neutral"),
        ("La hipótesis se deduce de la premisa.", "entailment"),
        ("答案：蕴含", "entailment"),
        ("前提に書かれている。\n仮説は前提から導かれる。", "entailment"),
        ("不能从前提推出假设。", "neutral"),
    ],
)
def test_entailment(text: str, verdict: str | None) -> None:
    assert parse_entailment(text) == verdict


near_verdicts = st.sampled_from(
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
verdicts = st.lists(st.text(max_size=20) | near_verdicts, max_size=10).map("".join)


@given(verdicts)
def test_no_verdict_raises(text: str) -> None:
    verdict = parse_sufficient(text)
    assert verdict is None or "\n" not in verdict[1]
    assert parse_right(text) in (True, False, None)
    parse_entailment(text)
