"""Key-facts from a model's reply to a frozen file, with a person's edits between."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from skr_core import Question, read_questions
from skr_core.errors import DataError, InputError, ModelError
from skr_core.flow import run
from skr_core.questions import Context
from skr_core.replies import parse_facts
from skr_core.testing import ScriptedModel
from skr_lab.key_facts import (
    HEADER,
    KeyFacts,
    accept,
    freeze,
    make_key_facts,
    read_review,
    read_worked_steps,
    review_block,
    with_key_facts,
)

MADE = KeyFacts("q1", "Where?", ("Ohio",), ("Jaws is by Spielberg.", "He is from Ohio."), "First.")


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join((HEADER, *lines)) + "\n")
    return path


def test_two_calls_with_the_papers_words():
    model = ScriptedModel(["Step one.\nStep two.", "- A is B.\n- C is D."])
    question = Question("1", "Where?", ("Ohio",), contexts=(Context("Jaws", "By Spielberg."),))
    made = run(make_key_facts(model, question))
    assert made.facts == ("A is B.", "C is D.")
    first, second = (prompt.text for prompt in model.prompts)
    assert '[1] Jaws\n"""\nBy Spielberg.\n"""' in first
    assert "reasoning process towards the answer step-by-step without other content" in first
    assert "identify 2 to 4 non-redundant key-facts" in second
    assert "Step two." in second


def test_worked_examples_stand_before_the_question(tmp_path: Path):
    """RaLLM §3: the steps are asked for after demonstrations."""
    path = tmp_path / "worked.jsonl"
    path.write_text(
        '{"question": "Who?", "answer": "Ada", "reasoning": "First this.", '
        '"contexts": [{"text": "It was\\nAda."}]}\n'
    )
    model = ScriptedModel(["First that.", "- A is B.\n- C is D."])
    run(make_key_facts(model, Question("1", "Where?", ("Ohio",)), read_worked_steps(path)))
    steps, facts = (prompt.text for prompt in model.prompts)
    assert steps.startswith(
        "Question: Who?\nHere are some passages:\nIt was Ada.\nAnswer: Ada\n"
        "Reasoning: First this.\n\nQuestion: Where?\n"
    )
    assert "Ada" not in facts
    path.write_text('{"question": "Who?", "answer": "Ada"}\n')
    with pytest.raises(DataError, match="reasoning"):
        read_worked_steps(path)
    path.write_text("")
    with pytest.raises(DataError, match="no worked example"):
        read_worked_steps(path)


def test_a_model_that_writes_nothing():
    with pytest.raises(ModelError, match="no key-fact"):
        run(make_key_facts(ScriptedModel(["", ""]), Question("1", "?", ("x",))))


@pytest.mark.parametrize(
    "replies",
    [
        ["I'm sorry, but I can't help with that."],
        ["First, Jaws.", "I cannot identify key-facts: the references do not mention the film."],
        ["First, Jaws.", "- Jaws is by Spielberg.\n- I'm sorry, I cannot tell where he was born."],
        ["<think>Easy.</think>The references do not provide enough information."],
    ],
)
def test_a_refusal_is_a_failure_and_never_a_key_fact(replies: list[str]):
    with pytest.raises(ModelError, match="refuses to make key-facts"):
        run(make_key_facts(ScriptedModel(replies), Question("1", "Where?", ("Ohio",))))


def test_a_step_that_names_a_gap_is_no_refusal_and_thoughts_are_no_facts():
    steps = "1. Jaws is by Spielberg.\n2. The text does not mention it, so his town is Ohio's."
    facts = "<think>- Perhaps three?</think>\n- Jaws is by Spielberg.\n- Spielberg is from Ohio."
    made = run(make_key_facts(ScriptedModel([steps, facts]), Question("1", "Where?", ("Ohio",))))
    assert made.facts == ("Jaws is by Spielberg.", "Spielberg is from Ohio.")


def test_the_review_file_says_what_to_look_at(tmp_path: Path):
    context = Context("Jaws", "Jaws is a film by Steven Spielberg. Spielberg was born in Ohio.")
    question = Question("1", "Where?", ("Ohio",), contexts=(context,))

    def remarks(*facts: str) -> tuple[str, ...]:
        reply = "\n".join(f"- {fact}" for fact in facts)
        return run(make_key_facts(ScriptedModel(["First.", reply]), question)).remarks

    assert remarks("Jaws is a film by Spielberg.", "Spielberg was born in Ohio.") == ()
    assert remarks("Spielberg was born in Ohio.") == ("1 key-fact: 2 to 4 are accepted",)
    assert remarks("Jaws is by Spielberg.", "Jaws is a film.") == ("no fact names the answer",)
    assert "fact 2 leans on another" in remarks("Jaws is by Spielberg.", "He was born in Ohio.")
    same = remarks("Spielberg was born in Ohio.", "In Ohio Spielberg was born.")
    assert same == ("facts 1 and 2 say much the same",)
    [alien] = remarks("Jaws is by Spielberg.", "Ohio has many excellent universities.")
    assert alien == "fact 2 does not stand in the references, word for word"
    assert (
        remarks("I'm an AI of Ohio.", "Jaws is by Spielberg.")[0] == "fact 1 speaks of its writer"
    )

    block = review_block(replace(MADE, remarks=("no fact names the answer",)))
    assert "> Look: no fact names the answer\n> First." in block
    assert accept(write(tmp_path / "r.md", block))[0].facts == MADE.facts
    assert "necessary" in HEADER


@pytest.mark.parametrize(
    ("reply", "facts"),
    [
        ("1. A is B.\n2) C is D.", ("A is B.", "C is D.")),
        ("Key-fact 1: A is B.\nKey-fact 2: C is D.", ("A is B.", "C is D.")),
        ("A is B.\nC is D.", ("A is B.", "C is D.")),
        ("* A is B.\n* A is B.", ("A is B.",)),
        ("- 1.5 million live there.", ("1.5 million live there.",)),
    ],
)
def test_replies(reply: str, facts: tuple[str, ...]):
    assert parse_facts(reply) == facts


def test_a_block_comes_back_as_it_went(tmp_path: Path):
    [read] = read_review(write(tmp_path / "r.md", review_block(MADE)))
    assert (read.id, read.question, read.gold, read.facts) == (
        MADE.id,
        MADE.question,
        MADE.gold,
        MADE.facts,
    )
    assert read.line > 1


def test_hostile_text_cannot_begin_another_block(tmp_path: Path):
    hostile = KeyFacts("q\n## q2", "Who?\n- fact", ("a\n## b",), ("x\n## y", "z"), "> a\n## b\n- c")
    assert len(read_review(write(tmp_path / "r.md", review_block(hostile)))) == 1
    assert len(accept(tmp_path / "r.md")[0].facts) == 2


def test_frozen_and_read_with_the_questions(tmp_path: Path):
    accepted = accept(write(tmp_path / "r.md", review_block(MADE)))
    freeze(tmp_path / "f.jsonl", accepted)
    freeze(tmp_path / "f.jsonl", accepted)  # the same again changes nothing
    with pytest.raises(InputError, match="frozen"):
        freeze(tmp_path / "f.jsonl", accepted * 2)
    questions = [Question("q1", "Where?", ("Ohio",)), Question("q2", "Who?", ())]
    one, two = with_key_facts(questions, tmp_path / "f.jsonl")
    assert one.key_facts == MADE.facts
    assert two.key_facts == ()
    assert read_questions(tmp_path / "f.jsonl")[0].key_facts == MADE.facts
    with pytest.raises(DataError, match="none of these"):
        with_key_facts(questions[1:], tmp_path / "f.jsonl")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["## q", "- One is."], "1 key-facts, not 2 to 4"),
        (["## q", *(f"- Fact {n}." for n in range(5))], "5 key-facts"),
        (["## q", "- One is.", "-"], "empty"),
        (["## q", "- The one is.", "- one is"], "twice"),
        (["## q", "- A.", "- B.", "## q", "- C.", "- D."], "twice"),
        (["## q", "- A.", "B."], "begins with"),
        ([], "no question"),
    ],
)
def test_what_has_to_be_put_right(tmp_path: Path, lines: list[str], words: str):
    with pytest.raises(DataError, match=words):
        accept(write(tmp_path / "r.md", *lines))


def test_files_that_are_not_there_or_are_something_else(tmp_path: Path):
    with pytest.raises(InputError, match="no file"):
        accept(tmp_path / "absent.md")
    (tmp_path / "f.jsonl").write_text('{"id": "1"}\n')
    with pytest.raises(DataError, match="key_facts"):
        with_key_facts([Question("1", "?", ())], tmp_path / "f.jsonl")
