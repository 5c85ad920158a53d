"""What follows "the answer is"."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.replies.conclusion import conclusion, final_answer


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Therefore, the answer is 42.\nAnd so on.", "42."),
        ("The answer is A. No: the final answer is: B", "B"),
        ("Answer: yes", "yes"),
        ("**Answer:** Paris", "Paris"),
        ("**Final answer**: Paris", "Paris"),
        ("It flows there.\n\nAnswer:\nthe Seine", "the Seine"),
        ("It flows there. Answer: the Seine", "the Seine"),
        ("So the final answer is: Ohio", "Ohio"),
        ("The answer to the question is Paris.", "Paris."),
        ("The correct answer would be (c).", "(c)."),
        ("The answer must be the Seine [1].", "the Seine [1]."),
        ("The answer, therefore, is Paris.", "Paris."),
        ("The answer is that he died.", "he died."),
        (
            "The answer is Paris. This answer is supported by [1].",
            "Paris. This answer is supported by [1].",
        ),
        ("Paris. The answer is given in the second passage.", None),
        ("Nobody could answer: he was gone.", None),
        ("Ohio\n\nQuestion: Who?\nAnswer: Ada", None),
        ("So the answer is Ohio.\n\nQuestion: Who?\nAnswer: Ada", "Ohio."),
        ("So the answer is Ohio. So the answer is", "Ohio."),
        ("Just this.", None),
        ("", None),
    ],
)
def test_conclusions(said: str, answer: str | None) -> None:
    found = conclusion(said)
    assert (None if found is None else found.splitlines()[0]) == answer
    assert final_answer(said) == (said if answer is None else answer)


near_words = st.sampled_from(["answer", " is ", "the ", ":", "\n", "Question:", "**", "to ", ". "])
replies = st.lists(st.text(max_size=20) | near_words, max_size=10).map("".join)


@given(replies)
def test_nothing_raises(text: str) -> None:
    found = conclusion(text)
    assert found is None or found.strip()
    assert final_answer(text) == final_answer(text).strip()


@pytest.mark.parametrize(
    "piece", ["answer ", "answer to ", "answer:", "\n", " ", "**", "\n* ", "_"]
)
def test_a_hostile_reply_takes_no_longer_than_its_length(piece: str) -> None:
    started = time.thread_time()
    conclusion(piece * (60_000 // len(piece)))
    assert time.thread_time() - started < 2
