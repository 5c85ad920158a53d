from __future__ import annotations

import pytest

from skr_core.replies.condensed import read_condensed

TURNS = ("What is the capital of France?", "Paris.")
ASKED = "And its river?"
WANTED = "Which river flows through Paris?"


@pytest.mark.parametrize(
    "reply",
    [
        WANTED,
        f"  {WANTED}\n",
        f'"{WANTED}"',
        f"**{WANTED}**",
        f"- {WANTED}",
        f"Standalone question: {WANTED}",
        f"**Standalone question:** {WANTED}",
        f"### Standalone question\n{WANTED}",
        f"Standalone question:\n\n{WANTED}",
        f"Sure! Here is the standalone question:\n\n{WANTED}",
        f"Sure, here's the rewritten question: {WANTED}",
        f"<think>Its means of Paris. Is it?</think>{WANTED}",
        f"Its means of Paris. Is it?</think>\n{WANTED}",
        f'The user asks for "its river". "It" is Paris.\nSo the question is: {WANTED}',
        f"The user means Paris.\n\nRewritten question: {WANTED}\n\nNote: I replaced its.",
        f"What does the user mean?\nThe river of Paris.\n{WANTED}",
        f"```\n{WANTED}\n```",
        f"```text\nStandalone question: {WANTED}\n```",
        f'{{"standalone_question": "{WANTED}"}}',
        f'```json\n{{"reasoning": "Its is Paris.", "question": "{WANTED}"}}\n```',
        f"<|channel|>analysis<|message|>Paris?<|end|><|channel|>final<|message|>{WANTED}",
        f'{WANTED}\n\nExplanation: "its" stands for Paris.',
        f"Eigenständige Frage: {WANTED}",
        f"独立问题：{WANTED}",
    ],
)
def test_the_question_is_found_in_what_models_write(reply: str):
    assert read_condensed(reply, ASKED, TURNS) == WANTED


def test_words_to_search_for_are_a_question_too():
    assert read_condensed("river of Paris", ASKED, TURNS) == "river of Paris"


def test_a_question_of_another_script():
    turns = ("法国的首都是什么？", "巴黎。")
    assert read_condensed("独立问题：巴黎的人口是多少？", "人口呢？", turns) == "巴黎的人口是多少？"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n ",
        "<think>Its is Paris.",
        "<think>Its is Paris.</think>",
        "I'm sorry, I cannot rewrite the question.",
        "I cannot answer the question based on the provided references",
        "The Seine flows through Paris.",
        "Die Seine fließt durch Paris.",
        "塞纳河流经巴黎。",
        "text text text",
        "{}",
        '{"question": 5}',
        "[",
        "None",
        "```\n```",
        "Which river flows " * 100 + "?",
    ],
)
def test_what_is_no_such_question_is_none(reply: str):
    assert read_condensed(reply, ASKED, TURNS) == ""


def test_a_long_question_may_stay_long():
    long = f"{'Tell me of the river Seine, please, ' * 10}and of Paris?"
    assert len(long) > 300
    assert read_condensed(long, long.replace("Paris", "it"), TURNS) == long


@pytest.mark.parametrize(
    "piece", ["<think>", "question: ", "[", "{", "*", "?\n", "a" * 50, "：", '"']
)
def test_a_reply_of_any_length_is_read(piece: str):
    assert isinstance(read_condensed(piece * (400_000 // len(piece)), ASKED, TURNS), str)
