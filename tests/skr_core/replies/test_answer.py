"""Model output is untrusted: anything may come, nothing raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.prompts.templates import MAX_QUERIES, QUERY_LEAD, REFUSAL
from skr_core.replies.answer import (
    LONGEST_OPENING,
    MAX_QUERY_CHARACTERS,
    is_refusal,
    may_become_refusal,
    parse_queries,
    parse_verdict,
)

REFUSALS = [
    REFUSAL,
    REFUSAL + ".",
    f'"{REFUSAL}."',
    f"  {REFUSAL}\n",
    REFUSAL.replace("'", "’"),
    REFUSAL.upper(),
    "I am sorry, but I cannot answer the question based on the provided references.",
    "I'm sorry, I can't answer this question from the given information.",
    "Based on the provided references, I cannot answer the question with the given passages.",
    "Unfortunately, I am unable to answer the question based on the available references.",
    "I’m sorry, I can’t fully answer the question based on these references.",
    "I could not answer it with the current passages.",
    "",
    " \n",
]
ANSWERS = [
    "Paris [1].",
    "I'm sorry to say that he died in 1912 [1].",
    "Nobody could answer Fermat's question for centuries [2].",
    "The references of the thesis fill ten pages [1].",
    "Sorry is a song by Justin Bieber [1].",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text: str):
    assert is_refusal(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_answers_are_no_refusals(text: str):
    assert not is_refusal(text)
    assert not may_become_refusal(text)


@pytest.mark.parametrize("text", REFUSALS)
def test_no_beginning_of_a_refusal_is_let_through(text: str):
    assert all(may_become_refusal(text[:end]) for end in range(len(text) + 1))


def test_what_begins_otherwise_is_let_through_at_once():
    assert not may_become_refusal("Par")
    assert not may_become_refusal("I w")


def test_an_apology_that_ends_without_refusing_is_let_through():
    assert may_become_refusal("Unfortunately, the ship")
    assert not may_become_refusal("Unfortunately, the ship sank [1]. It")


def test_a_long_opening_is_taken_for_an_answer_unless_it_refuses():
    opening = "Based on the map " + "and the map " * LONGEST_OPENING
    assert may_become_refusal(opening[:LONGEST_OPENING])
    assert not may_become_refusal(opening)
    assert may_become_refusal(f"{opening} {REFUSAL}")


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        (f"{QUERY_LEAD} who directed Jaws?", ("who directed Jaws?",)),
        (f"{QUERY_LEAD.lower()} who directed Jaws?", ("who directed Jaws?",)),
        (f"Hm.\n{QUERY_LEAD}\n- one\n* two\n• three", ("one", "two", "three")),
        (f"{QUERY_LEAD} one\n{QUERY_LEAD} two", ("one", "two")),
        (f"{QUERY_LEAD} 1. one\n2) two\n(3) three", ("one", "two", "three")),
        (f"{QUERY_LEAD} “one”\n`two`\n**three**", ("one", "two", "three")),
        (f"{QUERY_LEAD} One\none\nONE", ("One",)),
        ("one\n\n  two  words ", ("one", "two words")),
        (f"{QUERY_LEAD} 2001: A Space Odyssey", ("2001: A Space Odyssey",)),
        (f"{QUERY_LEAD} 9.5 magnitude earthquake", ("9.5 magnitude earthquake",)),
        (f"{QUERY_LEAD} ???\n--\n", ()),
        (f"{QUERY_LEAD}", ()),
        ("", ()),
        ("x" * (MAX_QUERY_CHARACTERS + 1), ()),
        ("a\nb\nc\nd\ne\nf", ("a", "b", "c", "d")),
    ],
)
def test_queries(text: str, queries: tuple[str, ...]):
    assert parse_queries(text) == queries


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("sufficient", (True, "")),
        ("Sufficient.", (True, "")),
        ("Insufficient: the birthplace", (False, "the birthplace")),
        ("The references are **insufficient** - the year", (False, "** - the year")),
        ("not sufficient, the year", (False, "the year")),
        ("They aren't sufficient: the year", (False, "the year")),
        ("They are not entirely sufficient: the year", (False, "the year")),
        ("insufficient", (False, "")),
        ("yes", None),
        ("", None),
    ],
)
def test_verdicts(text: str, verdict: tuple[bool, str] | None):
    assert parse_verdict(text) == verdict


near_words = st.sampled_from([QUERY_LEAD, REFUSAL, "insufficient", "\n", "- ", "1. ", "’", '"'])
replies = st.lists(st.text(max_size=30) | near_words, max_size=8).map("".join)


@given(replies, st.integers(0, 9))
def test_nothing_raises(text: str, limit: int):
    queries = parse_queries(text, limit)
    assert len(queries) <= limit
    assert len({query.casefold() for query in queries}) == len(queries)
    assert all(query.strip() == query and "\n" not in query for query in queries)
    assert all(0 < len(query) <= MAX_QUERY_CHARACTERS for query in queries)
    assert isinstance(is_refusal(text), bool)
    assert isinstance(may_become_refusal(text), bool)
    assert parse_verdict(text) is None or isinstance(parse_verdict(text), tuple)


@given(replies)
def test_a_refusal_may_become_one(text: str):
    assert may_become_refusal(text) or not is_refusal(text)


def test_the_default_limit():
    assert len(parse_queries("\n".join("abcdefgh"))) == MAX_QUERIES


@pytest.mark.parametrize(
    "reply",
    [
        "None",
        "(none)",
        "No further queries needed.",
        "I don’t know.",
        "I do not need anything else",
    ],
)
def test_a_model_without_a_query_asks_nothing(reply):
    assert parse_queries(reply) == ()
    assert parse_queries(f"I further need to ask the search engine: {reply}") == ()


@pytest.mark.parametrize(
    "reply",
    [
        "The references do not contain enough information to answer.",
        "The provided context doesn't include what is needed to answer this question.",
        "The given information is insufficient.",
    ],
)
def test_refusals_in_other_words(reply):
    assert is_refusal(reply)
    assert all(may_become_refusal(reply[:end]) for end in range(1, len(reply)))


def test_an_answer_that_names_a_gap_is_no_refusal():
    assert not is_refusal("He was born in Ulm [1]; the references do not mention the hospital.")
