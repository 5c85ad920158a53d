"""Markers in answers: resolved, or taken out and counted; never an index below one."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.references import citations
from skr_core.references.citations import (
    MarkerResolver,
    resolve_citations,
    without_markers,
)
from skr_core.types import Reference

REFERENCES = [Reference.of(f"passage {number}") for number in range(1, 4)]


@pytest.mark.parametrize(
    ("text", "resolved", "markers", "removed"),
    [
        ("Paris [1].", "Paris [1].", [1], 0),
        ("Paris [0].", "Paris.", [], 1),
        ("Paris [-1].", "Paris.", [], 1),
        ("Paris [4].", "Paris.", [], 1),
        ("Paris [1, 2].", "Paris [1][2].", [1, 2], 0),
        ("Paris [1; 3].", "Paris [1][3].", [1, 3], 0),
        ("Paris [1 and 2].", "Paris [1][2].", [1, 2], 0),
        ("Paris [1-3].", "Paris [1][2][3].", [1, 2, 3], 0),
        ("Paris [2–3].", "Paris [2][3].", [2, 3], 0),
        ("Paris [1-99].", "Paris [1].", [1], 1),
        ("Paris [3-1].", "Paris [3][1].", [3, 1], 0),
        ("Paris [1, 9].", "Paris [1].", [1], 1),
        ("Paris [0, -2, 2].", "Paris [2].", [2], 2),
        ("Paris [1, 1].", "Paris [1].", [1], 0),
        ("Paris【1】.", "Paris[1].", [1], 0),
        ("Paris 【1†source】.", "Paris [1].", [1], 0),
        ("Paris [1, p. 5].", "Paris [1].", [1], 0),
        ("Paris [ 01 ].", "Paris [1].", [1], 0),
        ("Paris [1][2] [3].", "Paris [1][2] [3].", [1, 2, 3], 0),
        ("Founded [2019].", "Founded.", [], 1),
        ("Founded [20192019].", "Founded.", [], 1),
        ("Paris. [1] Lyon.", "Paris. [1] Lyon.", [1], 0),
        ("Paris [a], [n], [] and [see 1].", "Paris [a], [n], [] and [see 1].", [], 0),
        ("[1] Paris", "[1] Paris", [1], 0),
        ("[9] Paris", "Paris", [], 1),
        ("- one\n[1] two", "- one\n[1] two", [1], 0),
        ("[[7]9] end", "end", [], 2),
        ("[[1]]", "[[1]]", [1], 0),
        ("", "", [], 0),
    ],
)
def test_markers(text: str, resolved: str, markers: list[int], removed: int):
    cited = resolve_citations(text, REFERENCES)
    assert cited.text == resolved
    assert [citation.marker for citation in cited.citations] == markers
    assert cited.removed == removed
    assert [c.reference_id for c in cited.citations] == [REFERENCES[m - 1].id for m in markers]


def test_without_references_every_marker_goes():
    cited = resolve_citations("Paris [1]. Lyon [2].", [])
    assert (cited.text, cited.citations, cited.removed) == ("Paris. Lyon.", (), 2)


def test_a_marker_behind_the_full_stop_belongs_to_the_sentence_before():
    cited = resolve_citations("Paris is large. [1] Lyon is old.[2] Nice.", REFERENCES)
    assert [citation.sentence for citation in cited.citations] == [
        "Paris is large. [1]",
        "Lyon is old.[2]",
    ]


def test_without_markers():
    assert without_markers("Paris [1][2] is  large 【3】.") == "Paris is large."


pieces = st.sampled_from(
    [
        *'[]【】1209-,–; .x"†\n\u00a0',
        *("Dr.", " and ", "A sentence. "),
        *("[1]", "[7]", "[0]", "[1-3]", "[1, 9]", "[2019]"),
    ]
)
answers = st.lists(pieces, max_size=25).map("".join) | st.text()


@given(answers, st.integers(0, 4))
def test_whatever_a_model_writes(text: str, count: int):
    references = [Reference.of(str(number)) for number in range(count)]
    cited = resolve_citations(text, references)
    printed = [int(number) for number in re.findall(r"\[([0-9]+)\]", cited.text)]
    assert all(1 <= number <= count for number in printed)
    assert [citation.marker for citation in cited.citations] == printed
    for citation in cited.citations:
        start, end = citation.span
        assert cited.text[start:end] == f"[{citation.marker}]"
        assert citation.reference_id == references[citation.marker - 1].id
        assert f"[{citation.marker}]" in citation.sentence
        assert citation.sentence in cited.text
    again = resolve_citations(cited.text, references)
    assert (again.text, again.citations, again.removed) == (cited.text, cited.citations, 0)
    assert re.findall(r"\[[0-9]+\]", without_markers(cited.text)) == []


@pytest.mark.parametrize(
    "text",
    [
        " " * 50_000,
        "[" * 50_000,
        "[1" + "9" * 50_000 + "]",
        "[" + "9" * 50_000,
        "[1" + ", 1" * 20_000,
        "Dr. " * 15_000,
        "." * 50_000,
        '."' * 25_000,
        "." + " [1]" * 15_000 + "x",
        "[" * 8_000 + "7]" + "9]" * 8_000,
        "[9" * 20_000 + "]" * 20_000,
        "[\n" * 20_000,
    ],
    ids=lambda text: text[:6],
)
def test_hostile_answers_take_no_long_time(text: str):
    started = time.perf_counter()
    resolve_citations(text, REFERENCES)
    assert time.perf_counter() - started < 2


def test_nested_brackets_are_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    looked_at: list[str] = []
    inside = citations._INSIDE

    class Counting:
        def fullmatch(self, text: str) -> re.Match[str] | None:
            looked_at.append(text)
            return inside.fullmatch(text)

    monkeypatch.setattr(citations, "_INSIDE", Counting())
    text = "[" * 8_000 + "7]" + "9]" * 8_000
    cited = resolve_citations(text, REFERENCES)
    assert (cited.text, cited.removed) == ("9]", 8_000)
    assert sum(map(len, looked_at)) <= len(text)


@given(answers, st.lists(st.integers(0, 60), max_size=12), st.integers(0, 3))
def test_cut_anywhere_what_has_settled_is_a_beginning(text: str, cuts: list[int], count: int):
    whole = resolve_citations(text, [Reference.of(str(number)) for number in range(count)])
    resolver, settled = MarkerResolver(count), ""
    ends = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    for start, end in pairwise(ends):
        resolver.write(text[start:end])
        settled += resolver.take()
        assert whole.text.startswith(settled)
    assert (resolver.text, resolver.removed) == (whole.text, whole.removed)
