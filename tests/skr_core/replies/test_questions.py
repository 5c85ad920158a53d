"""A question and its answer, as models write them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.replies.questions import read_question

PAIR = ("Who was it?", "Ada")


@pytest.mark.parametrize(
    "reply",
    [
        "Question: Who was it?\nAnswer: Ada",
        "**Question:** Who was it?\n\n**Answer:** Ada",
        "Question:\nWho was it?\nAnswer:\nAda",
        "1. Question: Who was it?\n   Answer: Ada [1].\n",
        "Question 1: Who was it?\nAnswer 1: Ada",
        "Q: Who was it?\nA: Ada",
        "Question: Who was it? Answer: Ada",
        "```\nQuestion: “Who was it?”\nAnswer: `Ada`\n```",
        "I could ask so.\nQuestion: When?\nOr better:\nQuestion: Who was it?\nAnswer: Ada\n\nOk.",
        "Question: ...\nAnswer: ...\n\nQuestion: Who was it?\nCorrect answer: Ada",
        '{"question": "Who was it?", "answer": "Ada"}',
        'Here:\n```json\n{"questions": [{"Question": "Who was it?", "Answer": "Ada"}]}\n```',
        '{\n  "question": "Who was it?",\n  "answer": "Ada"\n',
        "Frage: Who was it?\nAntwort: Ada",
        "问题：Who was it?\n答案：Ada",
    ],
)
def test_forms(reply: str):
    found = read_question(reply)
    assert found is not None
    assert (found[0], found[1].rstrip(".")) == PAIR


@pytest.mark.parametrize(
    "reply", ["NONE", "", "Question: NONE", "I'm sorry, I cannot.", "{}", "[1"]
)
def test_no_question(reply: str):
    assert read_question(reply) is None


def test_a_question_without_an_answer():
    assert read_question("Question: Who was it?\nAnswer:") == ("Who was it?", "")


@given(st.text('Question:Aswer \n*{}"?1.'))
def test_nothing_raises(reply: str):
    found = read_question(reply)
    assert found is None or found[0]


@pytest.mark.parametrize("piece", ["?", "{", "* ", "1 ", "Question:", "a:\n"])
def test_it_takes_time_in_proportion(piece: str):
    begun = time.perf_counter()
    read_question(piece * 50_000)
    assert time.perf_counter() - begun < 5
