"""Follow-up queries, and the items of lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.prompts import MAX_QUERIES, QUERY_LEAD, REFUSAL
from skr_core.replies import (
    MAX_QUERY_CHARACTERS,
    has_bullets,
    list_items,
    parse_facts,
    parse_queries,
    without_bullet,
)


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        (f"{QUERY_LEAD} who directed Jaws?", ("who directed Jaws?",)),
        (f"{QUERY_LEAD.lower()} who directed Jaws?", ("who directed Jaws?",)),
        (f"**{QUERY_LEAD}** who directed Jaws?", ("who directed Jaws?",)),
        (f"Hm.\n{QUERY_LEAD}\n- one\n* two\n• three", ("one", "two", "three")),
        (f"{QUERY_LEAD}\n\n- one\n- two\n\nI hope this helps.", ("one", "two")),
        (f"{QUERY_LEAD} one\n\nThis would tell who directed it.", ("one",)),
        (f"{QUERY_LEAD} one\n{QUERY_LEAD} two", ("one", "two")),
        (f"{QUERY_LEAD} one\ntwo", ("one", "two")),
        (f"{QUERY_LEAD} 1. one\n2) two\n(3) three", ("one", "two", "three")),
        (f"{QUERY_LEAD} “one”\n`two`\n**three**", ("one", "two", "three")),
        (f"{QUERY_LEAD} One\none\nONE", ("One",)),
        ("one\n\n  two  words ", ("one", "two words")),
        ("Here are some queries:\n1. one\n2. two", ("one", "two")),
        ("Here are some queries:\none\ntwo", ("one", "two")),
        ("Query 1: one\nQuery 2: two", ("one", "two")),
        ("Search: one\nSearch: two", ("one", "two")),
        ('["one", "two"]', ("one", "two")),
        ('```json\n["one", "two"]\n```', ("one", "two")),
        ("Sure! Here are the queries:\n\none\ntwo\n\nI hope this helps.", ("one", "two")),
        ("Certainly!\none\nThese would settle it.", ("one",)),
        (f"{QUERY_LEAD} 2001: A Space Odyssey", ("2001: A Space Odyssey",)),
        (f"{QUERY_LEAD} 9.5 magnitude earthquake", ("9.5 magnitude earthquake",)),
        (f"{QUERY_LEAD} ???\n--\n", ()),
        (f"{QUERY_LEAD}", ()),
        ("", ()),
        ("x" * (MAX_QUERY_CHARACTERS + 1), ("x" * MAX_QUERY_CHARACTERS,)),
        (f"Search: {'long ' * 5_000}", (("long " * 60).rstrip(),)),
        ("Search: Jaws\u200b \U000e0041director\x1b", ("Jaws director",)),
        ("a\nb\nc\nd\ne\nf", ("a", "b", "c", "d")),
    ],
)
def test_queries(text: str, queries: tuple[str, ...]) -> None:
    assert parse_queries(text) == queries


@pytest.mark.parametrize(
    "reply",
    [
        "None",
        "(none)",
        "No further queries needed.",
        "I don’t know.",
        "I do not need anything else",
        "None needed.",
        REFUSAL,
        "The references do not mention it.",
        "Keine",
    ],
)
def test_a_model_without_a_query_asks_nothing(reply: str) -> None:
    assert parse_queries(reply) == ()
    assert parse_queries(f"{QUERY_LEAD} {reply}") == ()


def test_the_default_limit() -> None:
    assert len(parse_queries("\n".join("abcdefgh"))) == MAX_QUERIES


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("- one", "one"),
        ("• one", "one"),
        ("  (2) two", "two"),
        ("3: three", "three"),
        ("Key-fact 1: It is old.", "It is old."),
        ("Key fact: It is old.", "It is old."),
        ("1. Key-fact: It is old.", "It is old."),
        ("-5 degrees is cold.", "-5 degrees is cold."),
        ("10:30 is late.", "10:30 is late."),
        ("The query is old.", "The query is old."),
    ],
)
def test_bullets(line: str, bare: str) -> None:
    assert without_bullet(line) == bare
    assert has_bullets(line) is (bare != line)


def test_facts_are_the_items_of_a_list_none_twice() -> None:
    reply = "Here they are:\n\n1. **Paris** is old.\n2. It is in France.\n3. It is in France.\nBye!"
    assert parse_facts(reply) == ("Paris is old.", "It is in France.")


near_words = st.sampled_from([QUERY_LEAD, REFUSAL, "\n", "\n\n", "- ", "1. ", "query", ":", '"'])
replies = st.lists(st.text(max_size=30) | near_words, max_size=8).map("".join)


@given(replies, st.integers(0, 9))
def test_nothing_raises(text: str, limit: int) -> None:
    queries = parse_queries(text, limit)
    assert len(queries) <= limit
    assert len({query.casefold() for query in queries}) == len(queries)
    assert all(query.strip() == query and "\n" not in query for query in queries)
    assert all(0 < len(query) <= MAX_QUERY_CHARACTERS for query in queries)
    assert all(item and item == " ".join(item.split()) for item in list_items(text))
