"""The turns before a question, and the question without them."""

from __future__ import annotations

import pytest

from skr_core.conversation import Utterance, condense, exchanges, latest_turns, read_condensed
from skr_core.flow import run
from skr_core.references import fast_tokens
from skr_core.testing import ScriptedModel

PLENTY = 1_000


def talk(*turns: str) -> list[Utterance]:
    """Turns of user and assistant."""
    return [("assistant" if place % 2 else "user", turn) for place, turn in enumerate(turns)]


def test_user_and_assistant_take_turns_whatever_was_said():
    said: list[Utterance] = [
        ("assistant", "Hello!"),
        ("user", "I am in Paris."),
        ("user", "Which river is this?"),
        ("assistant", "The Seine."),
        ("assistant", "It is long."),
        ("user", " "),
        ("user", "How long?"),
    ]
    assert latest_turns(said, PLENTY) == (
        "I am in Paris.\n\nWhich river is this?",
        "The Seine.\n\nIt is long.",
        "How long?",
    )
    assert exchanges(latest_turns(said, PLENTY)) == latest_turns(said[:-1], PLENTY)


def test_what_an_earlier_answer_cited_is_not_shown():
    answer = "<think>Lyon?</think>Paris [1][2] is large [3].\n\n`x = arr[0]` stays.\n[4] Lyon"
    (_, shown) = latest_turns(talk("Which is the capital?", answer), PLENTY)
    assert shown == "Paris is large.\n\n`x = arr[0]` stays.\nLyon"


def test_what_the_user_says_stays_as_it_is():
    (question, _) = latest_turns(talk("What does [2] say?", "It says so [2]."), PLENTY)
    assert question == "What does [2] say?"


def test_an_answer_of_markers_alone_is_still_a_turn():
    assert latest_turns(talk("Which?", "[1]", "And?", "Yes."), PLENTY) == (
        *("Which?", "…"),
        *("And?", "Yes."),
    )


def test_the_latest_that_fit_are_kept_and_a_question_with_its_answer():
    turns = [f"Question {n}, of some length?" for n in range(10)]
    said = talk(*(text for turn in turns for text in (turn, f"Answer to {turn}")))
    kept = latest_turns(said, 80)
    assert kept == tuple(text for turn in turns[-4:] for text in (turn, f"Answer to {turn}"))
    assert sum(map(fast_tokens, kept)) <= 80
    assert latest_turns(said, PLENTY * 10) == tuple(text for _, text in said)


def test_the_latest_are_cut_rather_than_left_out():
    kept = latest_turns(talk("Early?", "Yes.", "Tell all. " * 400, "All of it. " * 400), 100)
    assert len(kept) == 2
    assert kept[0].startswith("Tell all.")
    assert kept[1].startswith("All of it.")
    assert kept[1].endswith("…")
    assert sum(map(fast_tokens, kept)) <= 110


def test_nothing_said_is_no_turn():
    assert latest_turns([], PLENTY) == ()
    assert latest_turns([("assistant", "Hello!")], PLENTY) == ()


def test_lone_surrogates_can_be_sent():
    (shown,) = latest_turns([("user", f"a{chr(0xD800)}b")], PLENTY)
    assert shown == f"a{chr(0xFFFD)}b"


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
    condensed = run(condense(ScriptedModel([reply]), ASKED, TURNS))
    assert (condensed.question, condensed.error) == (WANTED, "")


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
    condensed = run(condense(ScriptedModel([reply]), ASKED, TURNS))
    assert condensed.question == ASKED
    assert "holds no question" in condensed.error


def test_a_long_question_may_stay_long():
    long = f"{'Tell me of the river Seine, please, ' * 10}and of Paris?"
    assert len(long) > 300
    assert read_condensed(long, long.replace("Paris", "it"), TURNS) == long


@pytest.mark.parametrize(
    "piece", ["<think>", "question: ", "[", "{", "*", "?\n", "a" * 50, "：", '"']
)
def test_a_reply_of_any_length_is_read(piece: str):
    assert isinstance(read_condensed(piece * (400_000 // len(piece)), ASKED, TURNS), str)
