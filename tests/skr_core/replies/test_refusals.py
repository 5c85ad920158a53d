"""Refusals, in the words that were asked for and in a model's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.prompts import REFUSAL
from skr_core.replies import (
    LONGEST_OPENING,
    is_refusal,
    may_become_refusal,
    say_partial,
    says_unknown,
)

REFUSALS = [
    REFUSAL,
    REFUSAL + ".",
    f'"{REFUSAL}."',
    f"**{REFUSAL}.**",
    f"  {REFUSAL}\n",
    REFUSAL.replace("'", "’"),
    REFUSAL.upper(),
    "I am sorry, but I cannot answer the question based on the provided references.",
    "I'm sorry, I can't answer this question from the given information.",
    "Based on the provided references, I cannot answer the question with the given passages.",
    "Unfortunately, I am unable to answer the question based on the available references.",
    "I’m sorry, I can’t fully answer the question based on these references.",
    "I could not answer it with the current passages.",
    "I cannot determine her birthplace from the given references.",
    "The answer cannot be determined from the provided passages.",
    "The references do not contain enough information to answer.",
    "The provided context doesn't include what is needed to answer this question.",
    "The given information is insufficient.",
    "The references do not mention where she was born.",
    "Unfortunately, the provided references don’t specify the year.",
    "None of the passages mentions her.",
    "There is not enough information to answer.",
    "There is no information about her birthplace in the references.",
    "I'm sorry, but I cannot answer that question.",
    "I don't know.",
    "I don’t know the answer to this question.",
    "I have no idea.",
    # As models of 2024 to 2026 wrote them.
    "Unable to determine - no retrieved context provided",
    "The retrieved context does not contain information about this discovery",
    "I'm sorry, but the information provided doesn't include details about the plant.",
    "Insufficient information in the provided context to determine the country.",
    "",
    " \n",
]
ANSWERS = [
    "Paris [1].",
    "I'm sorry to say that he died in 1912 [1].",
    "Nobody could answer Fermat's question for centuries [2].",
    "The references of the thesis fill ten pages [1].",
    "Sorry is a song by Justin Bieber [1].",
    "He was born in Ulm [1]; the references do not mention the hospital.",
    "I Don't Know How to Love Him is a song [1].",
    "There is no information theory without Shannon [1].",
    "The answer is Paris [1].",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text: str) -> None:
    assert is_refusal(text)
    assert says_unknown(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_answers_are_no_refusals(text: str) -> None:
    assert not is_refusal(text)
    assert not may_become_refusal(text)


@pytest.mark.parametrize("text", REFUSALS)
def test_no_beginning_of_a_refusal_is_let_through(text: str) -> None:
    assert all(may_become_refusal(text[:end]) for end in range(len(text) + 1))


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("I'm not sure, but I think it is Paris.", True),
        ("Unknown.", True),
        ("It is unknown to me.", True),
        ("No idea.", True),
        ("I am uncertain", True),
        ("As an AI, I cannot tell.", True),
        ("Paris.", False),
        ("The Unknown Soldier", False),
        ("Paris, I am certain.", False),
    ],
)
def test_what_says_that_the_model_does_not_know(text: str, unknown: bool) -> None:
    assert says_unknown(text) is unknown


def test_what_begins_otherwise_is_let_through_at_once() -> None:
    assert not may_become_refusal("Par")
    assert not may_become_refusal("I we")
    assert not may_become_refusal("The answer is")


def test_an_apology_that_ends_without_refusing_is_let_through() -> None:
    assert may_become_refusal("Unfortunately, the ship")
    assert not may_become_refusal("Unfortunately, the ship sank [1]. It")


def test_a_gap_that_is_named_before_an_answer_is_let_through() -> None:
    gap = "The references do not mention the hospital."
    assert may_become_refusal(gap)
    assert not may_become_refusal(f"{gap} He was born in Ulm [1].")


def test_a_long_opening_is_taken_for_an_answer_unless_it_refuses() -> None:
    opening = "Based on the map " + "and the map " * LONGEST_OPENING
    assert may_become_refusal(opening[:LONGEST_OPENING])
    assert not may_become_refusal(opening)
    assert may_become_refusal(f"{opening} {REFUSAL}")


near_words = st.sampled_from(
    [REFUSAL, "I don't know", "sorry", "the references", " do not ", "[1]", "\n", ". ", "’", '"']
)
replies = st.lists(st.text(max_size=30) | near_words, max_size=8).map("".join)


@given(replies)
def test_a_refusal_may_become_one_and_nothing_raises(text: str) -> None:
    assert may_become_refusal(text) or not is_refusal(text)
    assert says_unknown(text) or not is_refusal(text)


@pytest.mark.parametrize(
    ("question", "opening"),
    [
        ("What did he earn?", "The references do not answer the question in full. Missing: x"),
        (
            "How do drivers come home as guests?",
            "The references do not answer the question in full.",
        ),
        ("Was verdiente der Wärter?", "Die Quellen beantworten die Frage nicht vollständig. Es"),
        ("Quanto guadagnava il custode della torre?", "I riferimenti non rispondono del tutto"),
        ("Qual foi o salário do guarda?", "As referências não respondem totalmente"),
        ("Wat was het loon van de wachter?", "De bronnen beantwoorden de vraag niet volledig."),
        ("Сколько зарабатывал смотритель?", "Источники отвечают на вопрос не полностью."),
        ("등대지기의 급여는 얼마였나?", "참고 자료는 이 질문에 완전히 답하지 못합니다."),
    ],
)
def test_a_part_says_so_in_the_question_s_language(question: str, opening: str):
    said = say_partial(question, "Orr [1].", "x")
    assert said.startswith(opening)
    assert said.endswith("x\n\nOrr [1].")


def test_a_part_that_names_its_gap_is_left_as_it_is():
    said = "It sank in 1912 [1]. The references do not say why."
    assert say_partial("When, and why?", said, "the reason") == said
