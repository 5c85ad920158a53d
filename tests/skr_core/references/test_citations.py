"""Markers in answers: resolved, or taken out and counted, with quotes; what is none stays."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import Citation, Reference
from skr_core.plain import from_plain, to_plain
from skr_core.references import (
    LONGEST_QUOTE,
    NO_QUOTE,
    MarkerResolver,
    QuoteFinder,
    resolve_citations,
    without_markers,
)
from skr_core.texts import is_json

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
        ("Paris [12].", "Paris.", [], 1),
        ("Paris [7-9].", "Paris.", [], 3),
        ("Paris [7, 8] is", "Paris is", [], 2),
        ("Paris[1].", "Paris[1].", [1], 0),
        ("Paris[7].", "Paris.", [], 1),
        ("a city[1][7].", "a city[1].", [1], 1),
        ("in 2019[7].", "in 2019.", [], 1),
        (
            "FY2019[1], Plan B[2], self-made[3].",
            "FY2019[1], Plan B[2], self-made[3].",
            [1, 2, 3],
            0,
        ),
        ("Paris (France)[1].", "Paris (France)[1].", [1], 0),
        ("**Paris**[1] and _Rome_[2]", "**Paris**[1] and _Rome_[2]", [1, 2], 0),
        ("`Paris`[1]", "`Paris`[1]", [1], 0),
        ("^[1]^, C++[2], C#[3]", "^[1]^, C++[2], C#[3]", [1, 2, 3], 0),
        ("巴黎[1]是首都[7]。", "巴黎[1]是首都。", [1], 1),
        ("巴黎［１］，里昂【２】", "巴黎[1]，里昂[2]", [1, 2], 0),
        ("Paris [１，３].", "Paris [1][3].", [1, 3], 0),
        ("Paris [^1] and[^7].", "Paris [1] and.", [1], 1),
        ("Paris [Ref 1].", "Paris [1].", [1], 0),
        ("Paris [Reference 2].", "Paris [2].", [2], 0),
        ("Paris [source: 1].", "Paris [1].", [1], 0),
        ("Paris [Source 1, Source 3].", "Paris [1][3].", [1, 3], 0),
        ("Paris [Sources 1-2].", "Paris [1][2].", [1, 2], 0),
        ("Paris [Quelle 1].", "Paris [1].", [1], 0),
        ("巴黎[来源1]", "巴黎[1]", [1], 0),
        ("Paris [Ref 9].", "Paris.", [], 1),
        ("arr【1】", "arr [1]", [1], 0),
        ("Paris 【4:0†source】.", "Paris.", [], 1),
        ("Paris [1]-[3].", "Paris [1][2][3].", [1, 2, 3], 0),
        ("Paris [1]–[2].", "Paris [1][2].", [1, 2], 0),
        ("Paris [2]-[9].", "Paris [2][3].", [2, 3], 6),
        ("Paris [7]-[9].", "Paris.", [], 3),
        ("Paris [3]-[1].", "Paris [3]-[1].", [3, 1], 0),
        ("Paris [1]-[2][3].", "Paris [1][2][3].", [1, 2, 3], 0),
        ("Paris [1]- and", "Paris [1]- and", [1], 0),
        ("Paris [1: Title of it].", "Paris [1].", [1], 0),
        ("[7] Paris.\n[8] Rome.", "Paris.\nRome.", [], 2),
        ("| Paris   [1] |\t[2] |", "| Paris   [1] |\t[2] |", [1, 2], 0),
        ("Paris [7][1].", "Paris [1].", [1], 1),
        ("so [[7]] it", "so it", [], 1),
        ("Paris. [1] Lyon.", "Paris. [1] Lyon.", [1], 0),
        ("Paris [a], [n], [] and [see 1].", "Paris [a], [n], [] and [see 1].", [], 0),
        ("[1] Paris", "[1] Paris", [1], 0),
        ("[9] Paris", "Paris", [], 1),
        ("- one\n[1] two", "- one\n[1] two", [1], 0),
        ("[[7]9] end", "[[7]9] end", [], 0),
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


@pytest.mark.parametrize(
    "text",
    [
        "Founded [2019], sold [1987], and [2019-2020], [20192019].",
        "Its [10-K], [8-K], [5 percent], [3 million], [12:30], [1/3], [1a] and [sic].",
        "Items [100, 200], aged [10-20]; a value in [0, 1], in [0,1)",
        "See [1](https://example.org), [2](#two) and [three](x).",
        "x = arr[0]",
        "x = arr[1]",
        "arr[0] is the first, items[7] the eighth, x[1] another, my_list[2], nums2[3], byName[1].",
        "matrix[0][1], m[1][2], f(x)[1], (a + b)[7], print(values[1])",
        "x = values[1, 2] + values[1-3]",
        "self.rows[1], counts[-1], [a, b][0], 'abc'[0]",
        "`x = arr[1]`, `[7]`, ``a ` [1] [7]``, `[1, 2]【1】`",
        "`  [7]  ` | `[^1]`",
        "```python\nx = [1, 2] [7]\n\n  ```x\n```",
        "~~~\n[1] [7]\n```\n[2]\n~~~~",
        "```\n[1] [7] cut off",
        "[^0-9]+ and [^1-9] and [0-9]",
        "np.array([1, 2]), y = [1, 2], x.T[0, 1], self._parts[1]",
        "[see 1] [x] [ ] - [x] done",
    ],
)
def test_what_is_no_citation_stays_byte_for_byte(text: str):
    cited = resolve_citations(text, REFERENCES)
    assert (cited.text, cited.citations, cited.removed) == (text, (), 0)


def test_code_begins_and_ends_as_in_markdown():
    text = (
        "It is `a [7]` [1].\n```\nb [7]\n```` \n[7] It was ` [7].\n"
        "- ~~~\n~~ [7]\n```c [7]```\nd [7]"
    )
    cited = resolve_citations(text, REFERENCES)
    assert cited.text == (
        "It is `a [7]` [1].\n```\nb [7]\n```` \nIt was `.\n- ~~~\n~~\n```c [7]```\nd"
    )
    assert ([citation.marker for citation in cited.citations], cited.removed) == ([1], 4)


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
        *'[]【】［］1209-,–; .x"†\n\u00a0`~(^|=',
        *("Dr.", " and ", "A sentence. ", "Paris", "arr", "city", "巴", "```", "``", "~~~", "  "),
        *("[1]", "[7]", "[0]", "[1-3]", "[1, 9]", "[2019]", "[^1]", "[Ref 2]", "【1】"),
    ]
)
answers = st.lists(pieces, max_size=25).map("".join) | st.text()


@given(answers, st.integers(0, 4))
def test_whatever_a_model_writes(text: str, count: int):
    references = [Reference.of(str(number)) for number in range(count)]
    cited = resolve_citations(text, references)
    assert all(1 <= citation.marker <= count for citation in cited.citations)
    spans = [citation.span for citation in cited.citations]
    assert spans == sorted(set(spans))
    for citation in cited.citations:
        start, end = citation.span
        if not is_json(cited.text):
            assert cited.text[start:end] == f"[{citation.marker}]"
        assert citation.reference_id == references[citation.marker - 1].id
        assert cited.text[start:end] in citation.sentence
        assert citation.sentence in cited.text
    again = resolve_citations(cited.text, references)
    assert (again.text, again.citations, again.removed) == (cited.text, cited.citations, 0)


@given(answers)
def test_without_markers_nothing_is_cited(text: str):
    text = text.replace("`", "").replace("~", "")  # code stays, whatever it says
    bare = without_markers(resolve_citations(text, REFERENCES).text)
    assert "  " not in bare
    if not is_json(bare):  # a list of numbers alone is data, and stays
        assert resolve_citations(bare, REFERENCES).citations == ()


@given(st.lists(st.sampled_from([*"[]1 7.x\n", "[7]", "[1]", "arr[0]", "``x", "~~~"])).map("".join))
def test_a_block_of_code_stays_whatever_it_says(code: str):
    block = f"````\n{code}\n````"
    cited = resolve_citations(f"So [7] it is [1]:\n{block}\nEnd [9].", REFERENCES)
    assert cited.text == f"So it is [1]:\n{block}\nEnd."
    assert [citation.marker for citation in cited.citations] == [1]


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
        "[" * 8_000 + " 7]" + " 9]" * 8_000,
        "[9" * 20_000 + "]" * 20_000,
        "[\n" * 20_000,
        "\n" * 50_000,
        "`[7] " * 15_000,
        "".join("`" * n + " [7] " for n in range(300)),
        "`" * 50_000 + "[7]" * 10_000,
        "```\n" * 20_000,
        "~~~x\n [1]" * 10_000,
        "[1]-" * 20_000,
        "a" * 50_000 + "[1]" * 10_000,
        " " * 20_000 + "[7] " * 10_000,
        "[[7]] " * 10_000,
        "[1][7]" * 10_000,
        "Ref " * 10_000 + "[Ref " * 10_000,
    ],
    ids=lambda text: text[:6],
)
def test_hostile_answers_take_no_long_time(text: str):
    started = time.thread_time()
    resolve_citations(text, REFERENCES)
    reading = MarkerResolver(3)
    for character in text:
        reading.write(character)
    reading.finish()
    assert time.thread_time() - started < 10


@given(answers, st.lists(st.integers(0, 60), max_size=12), st.integers(0, 3))
def test_cut_anywhere_what_has_settled_is_a_beginning(text: str, cuts: list[int], count: int):
    whole = resolve_citations(text, [Reference.of(str(number)) for number in range(count)])
    reading, settled = MarkerResolver(count), ""
    ends = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    for start, end in pairwise(ends):
        reading.write(text[start:end])
        settled += reading.take()
        assert whole.text.startswith(settled)
    assert (reading.finish(), reading.removed) == (whole.text, whole.removed)
    assert len(reading.markers) == len(whole.citations)


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
    found, (start, end) = QuoteFinder([Reference.of(FILM)]).best(1, claim)
    assert found == quote == FILM[start:end]


def test_a_row_of_a_table_and_a_line_of_code():
    text = "| year | revenue |\n|---|---|\n| 2019 | 7,431 |\n| 2020 | 8,012 |\n\n    x = arr[0]\n"
    quoted = QuoteFinder([Reference.of(text)])
    assert quoted.best(1, "In 2020 the revenue was 8,012 [1].")[0] == "| 2020 | 8,012 |"
    assert quoted.best(1, "It sets `x = arr[0]`.")[0] == "x = arr[0]"


def test_other_scripts():
    quoted = QuoteFinder([Reference.of("巴黎是法国的首都。里昂是第三大城市。")])
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
    quote, (start, end) = QuoteFinder([Reference.of(text)]).best(1, claim)
    assert text[start:end] == quote
    assert len(quote) <= LONGEST_QUOTE
    assert (quote, (start, end)) == QuoteFinder([Reference.of(text)]).best(1, claim)


def test_a_sentence_without_end_is_quoted_in_part():
    text = "word " * 1_000 + "shark " + "word " * 1_000 + "x" * 1_000
    quote, (start, end) = QuoteFinder([Reference.of(text)]).best(1, "A shark.")
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
    quote, (start, end) = QuoteFinder([Reference.of(text)]).best(1, "Ada Quill did [1].")
    assert text[start:end] == quote == "A\u200bda Qu\u00adill \x1b[1mwrote it in 1931."
