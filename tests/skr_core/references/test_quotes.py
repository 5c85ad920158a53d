"""The sentence that supports a claim: found by rare words, with its place in the reference."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.plain import from_plain, to_plain
from skr_core.references.citations import resolve_citations
from skr_core.references.quotes import LONGEST_QUOTE, NO_QUOTE, Quoted
from skr_core.types import Citation, Reference

FILM = (
    "Jaws is a film of 1975. It was directed by Steven Spielberg.\n"
    "The film is about a shark. The film was a success, and the film won three prizes."
)


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Steven Spielberg made the film [1].", "It was directed by Steven Spielberg."),
        ("A shark is in the film [1][2].", "The film is about a shark."),
        ("The film [1].", "Jaws is a film of 1975."),
        ("It came out in 1975.", "Jaws is a film of 1975."),
        ("It was the best of all.", ""),
        ("[1]", ""),
        ("", ""),
    ],
)
def test_the_best_sentence(claim: str, quote: str):
    found, (start, end) = Quoted([Reference.of(FILM)]).best(1, claim)
    assert found == quote == FILM[start:end]


def test_a_row_of_a_table_and_a_line_of_code():
    text = "| year | revenue |\n|---|---|\n| 2019 | 7,431 |\n| 2020 | 8,012 |\n\n    x = arr[0]\n"
    quoted = Quoted([Reference.of(text)])
    assert quoted.best(1, "In 2020 the revenue was 8,012 [1].")[0] == "| 2020 | 8,012 |"
    assert quoted.best(1, "It sets `x = arr[0]`.")[0] == "x = arr[0]"


def test_other_scripts():
    quoted = Quoted([Reference.of("巴黎是法国的首都。里昂是第三大城市。")])
    assert quoted.best(1, "首都是巴黎[1]。") == ("巴黎是法国的首都。", (0, 9))


def test_a_citation_carries_its_quote():
    references = [Reference.of("Rome is in Italy."), Reference.of(FILM)]
    [citation] = resolve_citations("It is about a shark [2].", references).citations
    assert citation.quote == "The film is about a shark."
    start, end = citation.quote_span
    assert FILM[start:end] == citation.quote
    assert from_plain(Citation, to_plain(citation)) == citation


def test_a_citation_of_another_version_has_no_quote():
    plain = {"marker": 1, "reference_id": "x", "sentence": "So [1].", "span": [3, 6]}
    assert (from_plain(Citation, plain).quote, from_plain(Citation, plain).quote_span) == NO_QUOTE


@given(st.text(), st.text(alphabet="Jaws film. \n巴黎[1]1975"), st.booleans())
def test_whatever_is_cited_the_quote_stands_in_the_reference(claim: str, text: str, same: bool):
    claim = text if same else claim
    quote, (start, end) = Quoted([Reference.of(text)]).best(1, claim)
    assert text[start:end] == quote
    assert len(quote) <= LONGEST_QUOTE
    assert (quote, (start, end)) == Quoted([Reference.of(text)]).best(1, claim)


def test_a_sentence_without_end_is_quoted_in_part():
    text = "word " * 1_000 + "shark " + "word " * 1_000 + "x" * 1_000
    quote, (start, end) = Quoted([Reference.of(text)]).best(1, "A shark.")
    assert "shark" in quote == text[start:end]
    assert len(quote) <= LONGEST_QUOTE


def test_references_of_a_megabyte_take_no_long_time():
    references = [Reference.of(f"Word{n} is here. It was new. " * 35_000) for n in range(10)]
    text = "It was new [1][2][3][4][5]. It is here [6][7][8][9][10]. " * 50
    started = time.thread_time()
    cited = resolve_citations(text, references)
    assert len(cited.citations) == 500
    assert time.thread_time() - started < 10


def test_a_quote_is_found_through_what_hides_in_its_words_and_spans_the_text_as_it_is():
    text = "It is old.\r\nA\u200bda Qu\u00adill \x1b[1mwrote it in 1931. It rained."
    quote, (start, end) = Quoted([Reference.of(text)]).best(1, "Ada Quill did [1].")
    assert text[start:end] == quote == "A\u200bda Qu\u00adill \x1b[1mwrote it in 1931."
