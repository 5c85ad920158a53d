"""Content words and names."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_app.extractive import content_words, fits, names, read_lines
from skr_core.texts import words


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("The film was directed by Curtis Bernhardt.", ["Curtis Bernhardt"]),
        ("Edward, Duke of York, left Paris.", ["Edward", "Duke of York", "Paris"]),
        ("Ludwig van Beethoven's Fifth", ["Ludwig van Beethoven", "Fifth"]),
        ("In May he saw Apollo 13 in New York.", ["Apollo 13", "New York"]),
        ("An American singer met J. R. Smith.", ["J. R. Smith"]),
        ("Фильм снял Андрей Тарковский.", ["Андрей Тарковский"]),
        ("no names here, 1999", []),
        ("东京是日本的首都", []),
        ("", []),
    ],
)
def test_names(sentence: str, found: list[str]) -> None:
    assert names(sentence) == found


def test_content_words_leave_out_grammar_and_repeats() -> None:
    assert content_words("Who is the man, the MAN of the year?") == ["man", "year"]


@given(st.text())
def test_nothing_raises(text: str) -> None:
    assert all(name in text for name in names(text))
    assert set(content_words(text)) <= set(words(text))


PAGE = """\
# Installing

Most people need the plain package, which brings
numpy and little else. See [extras](extras.md).

## Extras

| extra | for | brings |
|---|---|---|
| `plots` | drawings | matplotlib |
| `all` | all of the above | |

1. Make an environment.
2. Install into it:

```sh
pip install thing   # the core

# a comment, no heading
pip install "thing[plots]"
```
"""


def test_a_page_is_read_as_sentences() -> None:
    lines = read_lines(PAGE)
    assert [each.text for each in lines] == [
        "Most people need the plain package, which brings numpy and little else.",
        "See extras.",
        "extra: `plots` · for: drawings · brings: matplotlib",
        "extra: `all` · for: all of the above",
        "Make an environment.",
        "Install into it:",
        "pip install thing # the core",
        "# a comment, no heading",
        'pip install "thing[plots]"',
    ]
    assert [each.is_code for each in lines[-4:]] == [False, True, True, True]
    assert {each.under for each in lines[:2]} == {"Installing"}
    assert lines[2].under == "Extras"
    assert lines[-1].under == "Extras Install into it:"


def test_short_lines_of_plain_text_stay_apart() -> None:
    assert [each.text for each in read_lines("Red\nGreen\nBlue")] == ["Red", "Green", "Blue"]
    assert [each.text for each in read_lines("It was\nblue.")] == ["It was blue."]


@pytest.mark.parametrize("text", ["|" * 50_000, "[" * 50_000, "```\n" * 20_000, "- " * 50_000])
def test_hostile_text_costs_no_time(text: str) -> None:
    started = time.thread_time()
    read_lines(text)
    assert time.thread_time() - started < 5


@given(st.text(st.sampled_from("a .|#-`~[](1\n"), max_size=80))
def test_no_letter_is_lost_but_addresses_and_headings(text: str) -> None:
    told = "".join(each.text + each.under for each in read_lines(text))
    assert "a" not in text or "a" in told or any(mark in text for mark in "](#|`~")


def test_a_number_or_a_name_is_wanted() -> None:
    assert fits("How many arches has it?")("It has five.")
    assert not fits("How many arches has it?")("It has arches.")
    assert fits("Who built the bridge?")("It was built by Ada Moor.")
    assert not fits("Who built the Arden bridge?")("The Arden bridge was built in stone.")
    assert fits("Why?")("Whatever.")
