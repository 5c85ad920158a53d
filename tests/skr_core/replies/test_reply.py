"""Replies in all the forms in which models write them, and what each is read as."""

from __future__ import annotations

import gzip
import json
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.answering import generate
from skr_core.flow import run
from skr_core.prompts import MAX_QUERIES, QUERY_LEAD, REFUSAL
from skr_core.replies import (
    Reply,
    ThoughtFilter,
    VerdictStream,
    cited_numbers,
    read_reply,
    strip_thoughts,
)
from skr_core.testing import ScriptedModel
from skr_core.types import Prompt

TABLE: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("replies.toml").read_text(encoding="utf-8")
)["reply"]
PROMPT = Prompt("answer_with_references", "Who?", "Who?")
SAID = {"yes": True, "no": False, "unknown": None}


def read(text: str, count: int) -> Reply:
    """Read what a model wrote, as it enters."""
    return read_reply(run(generate(ScriptedModel([text]), PROMPT)).text, count)


def test_the_table_is_large_and_names_each_reply_once() -> None:
    assert len(TABLE) >= 150
    assert len({row["name"] for row in TABLE}) == len({row["text"] for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["name"])
def test_replies(row: dict[str, Any]) -> None:
    reply = read(row["text"], row.get("given", 3))
    assert (reply.sufficient, reply.text, reply.queries) == (
        SAID[row["sufficient"]],
        row.get("answer", row["text"]),
        tuple(row.get("queries", ())),
    )


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["name"])
def test_no_cut_changes_what_is_read_or_passed_on(row: dict[str, Any]) -> None:
    text, count = row["text"], row.get("given", 3)
    whole = read(text, count)
    for size in (1, 2, 3, 7):
        pieces = [text[place : place + size] for place in range(0, len(text), size)]
        stream = VerdictStream(count)
        passed = "".join(map(stream.write, pieces))
        assert stream.finish() == whole
        assert whole.text.startswith(passed)
        assert whole.sufficient or not passed


def test_an_answer_comes_right_behind_its_verdict() -> None:
    stream = VerdictStream(1)
    assert [stream.write(piece) for piece in ["SUFFICIENT", "\n", "Z", "ü", "rich"]] == [
        *("", "", "Z", "ü", "rich")
    ]
    assert (stream.verdict, stream.undecided) == (True, False)


def test_nothing_is_passed_on_of_what_may_be_taken_back() -> None:
    for reply in ("INSUFFICIENT\nParis [1].", "Paris [1].", f"SUFFICIENT\n{REFUSAL}."):
        stream = VerdictStream(1)
        assert "".join(map(stream.write, reply)) == ""
        stream.finish()
        assert not stream.undecided


def test_what_is_missing_is_told() -> None:
    assert read_reply("INSUFFICIENT: her birthplace", 1).missing == "her birthplace"
    assert read_reply("INSUFFICIENT\nMissing: her birthplace", 1).missing == "her birthplace"
    gap = "The references do not name her birthplace."
    assert read_reply(gap, 1).missing == read_reply(f"She is old [1]. {gap}", 1).missing == gap
    assert read_reply('{"verdict": "INSUFFICIENT", "missing": "her name"}', 1).missing == "her name"


def test_a_reply_tells_whether_it_states_and_whether_it_cites() -> None:
    assert read_reply("SUFFICIENT\nParis.", 1) == Reply(True, "Paris.", stated=True)
    assert read_reply("SUFFICIENT\nParis [1].", 1).cites
    assert not read_reply("SUFFICIENT\nParis [2].", 1).cites
    assert not read_reply("Paris [1].", 1).stated


def test_citations_in_all_forms() -> None:
    said = "[1] [2, 3] 【4】 [^5] [Ref 6] [source: 7] ［８］ `x[9]` [99] [0] [1999]"
    assert cited_numbers(said, 10) == frozenset(range(1, 9))


BRIDGE = "The bridge is long [1]. "


@pytest.mark.parametrize(
    "text",
    [
        "SUFFICIENT\n" + BRIDGE * 40_000,
        "INSUFFICIENT\n" + "- a query\n" * 100_000,
        "INSUFFICIENT\n" + "Search: " * 125_000,
        "the references " * 70_000,
        BRIDGE * 40_000 + "The references do not say more.",
        "<think>" * 140_000,
        "</think>" * 120_000,
        "<" * 1_000_000,
        "`" * 1_000_000,
        "```\n" * 250_000,
        "\n" * 1_000_000,
        " " * 1_000_000,
        "[" * 1_000_000,
        "[1, " * 250_000,
        '{"verdict": ' * 80_000,
        '{"verdict": "' + "\\" * 1_000_000,
        "SUFFICIENT " * 90_000,
        "verdict: " * 110_000,
        "*" * 1_000_000,
        "不" * 1_000_000,
        "no " * 330_000,
        QUERY_LEAD * 25_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_reply_of_a_megabyte_takes_no_second(text: str) -> None:
    began = time.thread_time()
    stream = VerdictStream(5)
    stream.write(text)
    stream.finish()
    assert time.thread_time() - began < 5


near_words = st.sampled_from(
    [
        *("SUFFICIENT", "INSUFFICIENT", "sufficient", "Verdict: ", "**", "\n", "\n\n", "- ", "1. "),
        *(
            "Search: ",
            "Queries:",
            "Answer: ",
            "Missing: ",
            "[1]",
            "[9]",
            ". ",
            ": ",
            "?",
            "`",
            "```\n",
        ),
        *(
            "<think>",
            "</think>",
            "<|channel|>analysis<|message|>",
            "assistantfinal",
            "<",
            "|",
            "    ",
        ),
        *(REFUSAL, "The references do not mention it", "I don't know", "Paris", QUERY_LEAD, "None"),
        *(
            "Die Quellen nennen",
            " nicht",
            "没有提到",
            '{"verdict": "',
            '", "answer": "',
            '"}',
            "\r",
        ),
    ]
)
replies = st.lists(st.text(max_size=20) | near_words, max_size=14).map("".join)


@given(replies, st.integers(0, 5))
def test_reading_ends_and_invents_nothing(text: str, count: int) -> None:
    reply = read(text, count)
    assert len(reply.queries) <= MAX_QUERIES
    assert len({query.casefold() for query in reply.queries}) == len(reply.queries)
    assert reply.text or not reply.sufficient
    assert not (count == 0 and reply.sufficient and not reply.stated)
    if "{" not in text:
        rest = iter(text)
        assert all(character in rest for character in reply.text)
    assert strip_thoughts(strip_thoughts(text)) is not None


@given(st.lists(replies, max_size=8), st.integers(0, 3))
def test_any_cut_gives_the_same(pieces: list[str], count: int) -> None:
    text = "".join(pieces)
    whole, stream = read(text, count), VerdictStream(count)
    passed = "".join(map(stream.write, pieces))
    assert stream.finish() == whole
    assert whole.text.startswith(passed)
    assert whole.sufficient or not passed
    letters = VerdictStream(count)
    assert whole.text.startswith("".join(map(letters.write, text)))


@given(st.lists(replies, max_size=8))
def test_thoughts_are_the_same_for_any_cut(pieces: list[str]) -> None:
    text = "".join(pieces)
    for cut in (pieces, list(text)):
        thoughts, said = ThoughtFilter(), ""
        for piece in cut:
            new = thoughts.write(piece)
            said = new if thoughts.restarted else said + new
        new = thoughts.finish()
        said = new if thoughts.restarted else said + new
        assert said.strip() == strip_thoughts(text)


@pytest.mark.parametrize("text", ["    0 <THINK>", "> <think>a</think>b", "x\n  <think>y"])
def test_a_tag_begins_a_line_whatever_the_cut(text: str) -> None:
    thoughts = ThoughtFilter()
    said = "".join(map(thoughts.write, text)) + thoughts.finish()
    assert said.strip() == strip_thoughts(text)


@pytest.mark.data
def test_what_gpt_4_said_about_filings(data_dir: Path) -> None:
    with gzip.open(data_dir / "replies_financebench_gpt4.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]

    def insufficient(label: str, *, given: int) -> float:
        """The share of a label's replies that are read as insufficient."""
        told = [
            read_reply(row["reply"], given).sufficient is False
            for row in rows
            if row["label"] == label and (row["setting"] != "closed_book") == bool(given)
        ]
        return sum(told) / len(told)

    assert insufficient("refusal", given=5) >= 0.95
    assert insufficient("correct", given=5) <= 0.04
    assert insufficient("refusal", given=0) >= 0.95
    assert insufficient("correct", given=0) <= 0.10


def test_a_supported_sentence_without_a_marker_is_a_part_of_the_answer():
    reply = read_reply("INSUFFICIENT\nThe first keeper was Malachy Orr.\nSearch: Orr salary", 1)
    assert (reply.text, reply.missing) == ("The first keeper was Malachy Orr.", "")
    reply = read_reply("INSUFFICIENT\nthe salary of the keeper\nSearch: Orr salary", 1)
    assert (reply.text, reply.missing) == ("", "the salary of the keeper")
    reply = read_reply("INSUFFICIENT\nI would need the salary of the keeper.\nSearch: salary", 1)
    assert (reply.text, reply.missing) == ("", "I would need the salary of the keeper.")


@pytest.mark.parametrize(
    ("verdict", "sufficient"),
    [
        ("UNZUREICHEND", False),
        ("**NICHT AUSREICHEND**", False),
        ("Insuficiente.", False),
        ("НЕДОСТАТОЧНО", False),
        ("不充分", False),
        ("SUFFISANT", True),
        ("充分", True),
        ("BRISTATHRETT", True),  # by what is said and cited
    ],
)
def test_a_translated_verdict_is_read_and_never_a_part_of_the_answer(
    verdict: str, sufficient: bool
):
    reply = read_reply(f"{verdict}\nThe first keeper was Malachy Orr [1].", 1)
    assert (reply.sufficient, reply.text) == (sufficient, "The first keeper was Malachy Orr [1].")


@pytest.mark.parametrize("answer", ["NASA\nIt launched it [1].", "IT IS THE ATLANTIC OCEAN [1]."])
def test_an_answer_in_capitals_stays(answer: str):
    assert read_reply(answer, 1).text == answer
