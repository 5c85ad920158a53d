"""Content words and names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_app.extractive.text import content_words, names
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
