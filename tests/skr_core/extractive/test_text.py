"""Words, sentences and names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.extractive.text import content_words, names, split_sentences
from skr_core.texts import words


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("J. R. R. Tolkien wrote it. He lived.", ["J. R. R. Tolkien wrote it.", "He lived."]),
        ("Dr. No is a film. It ran.", ["Dr. No is a film.", "It ran."]),
        ("The U.S. Army left. It won.", ["The U.S. Army left.", "It won."]),
        ("It cost 3.5 million. Cheap.", ["It cost 3.5 million.", "Cheap."]),
        ('He said "Go." Then he left.', ['He said "Go."', "Then he left."]),
        ("A heading\nA line", ["A heading", "A line"]),
        ("它很大。它很旧。", ["它很大。", "它很旧。"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


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
def test_nothing_is_lost_and_nothing_raises(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())
    assert all(name in text for name in names(text))
    assert set(content_words(text)) <= set(words(text))
