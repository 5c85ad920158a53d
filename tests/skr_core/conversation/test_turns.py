from __future__ import annotations

from skr_core.conversation.turns import Said, exchanges, latest_turns
from skr_core.references.packing import fast_tokens

PLENTY = 1_000


def talk(*turns: str) -> list[Said]:
    """Turns of user and assistant."""
    return [("assistant" if place % 2 else "user", turn) for place, turn in enumerate(turns)]


def test_user_and_assistant_take_turns_whatever_was_said():
    said: list[Said] = [
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
