"""Words, sentences and quotation marks of plain text, on cases labelled by hand."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.texts import sentence_spans, split_sentences, straight_quotes, words

SENTENCES = {
    # Passages.
    "One. Two! Three?": ["One.", "Two!", "Three?"],
    "J. R. R. Tolkien wrote it. He lived.": ["J. R. R. Tolkien wrote it.", "He lived."],
    "Dr. No is a film. It ran.": ["Dr. No is a film.", "It ran."],
    "The U.S. Army left. It won.": ["The U.S. Army left.", "It won."],
    "It cost 3.5 million. Cheap.": ["It cost 3.5 million.", "Cheap."],
    'He said "Go." Then he left.': ['He said "Go."', "Then he left."],
    '"Really?" he asked.': ['"Really?" he asked.'],
    "A heading\nA line": ["A heading", "A line"],
    "Symphony No. 5 is loud. It ends.": ["Symphony No. 5 is loud.", "It ends."],
    "Is it so? No. He left.": ["Is it so?", "No.", "He left."],
    "它很大。它很旧。": ["它很大。", "它很旧。"],
    "他说：“很大。”我走了。": ["他说：“很大。”", "我走了。"],
    "是的。 好。": ["是的。", "好。"],
    # Answers with markers.
    "It is 3.5 km long. So.": ["It is 3.5 km long.", "So."],
    "Dr. No met Mr. J. Bond. He left.": ["Dr. No met Mr. J. Bond.", "He left."],
    "Use e.g. water. Stop.": ["Use e.g. water.", "Stop."],
    "Paris is large. [1] Lyon is old.[2] Nice.": [
        "Paris is large. [1]",
        "Lyon is old.[2]",
        "Nice.",
    ],
    "He lived in Washington, D.C. [1] Then he left.": [
        "He lived in Washington, D.C. [1]",
        "Then he left.",
    ],
    "It is by Smith et al. [1] and others. [2] So.": [
        "It is by Smith et al. [1] and others. [2]",
        "So.",
    ],
    'He said "no." [1][2] She left.': ['He said "no." [1][2]', "She left."],
    "- Paris is in France [1]\n- Lyon too [2]": ["- Paris is in France [1]", "- Lyon too [2]"],
    "It was by Smith and Co.": ["It was by Smith and Co."],
    "no stop at all": ["no stop at all"],
    "": [],
    " \n ": [],
}


@pytest.mark.parametrize(("text", "sentences"), SENTENCES.items(), ids=SENTENCES)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


pieces = st.sampled_from(["Dr.", " ", "\n", ". ", "[1]", "。", "”", "a", "B", "No.", "?"])
texts = st.lists(pieces, max_size=20).map("".join) | st.text()


@given(texts)
def test_sentences_lose_nothing_but_space(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())
    assert all(text.startswith(sentence, place) for place, sentence in sentence_spans(text))
    assert all("\n" not in sentence.strip() for sentence in split_sentences(text))


@given(texts)
def test_a_sentence_by_itself_is_one(text: str) -> None:
    for sentence in split_sentences(text):
        assert "".join(split_sentences(sentence)) == sentence


@pytest.mark.parametrize(
    "piece", [" ", "\n", ".", '."', "Dr. ", " [1]", ". [1", "U.", "。", "。 ", "a.\n", "]", "'"]
)
def test_a_hostile_text_takes_no_longer_than_its_length(piece: str) -> None:
    started = time.thread_time()
    split_sentences("." + piece * (60_000 // len(piece)) + "x")
    assert time.thread_time() - started < 2


@given(st.text())
def test_straight_quotes_keep_the_length(text: str) -> None:
    assert len(straight_quotes(text)) == len(text)
    assert words(straight_quotes("It’s “so”")) == ["it", "s", "so"]
