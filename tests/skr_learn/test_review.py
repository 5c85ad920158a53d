"""The review file of questions: what a person edits comes back, and all that is wrong is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skr_core import Question, read_questions
from skr_core.errors import DataError, InputError
from skr_core.questions import UNANSWERABLE, Context
from skr_learn import accept_questions, read_review
from skr_learn.review import HEADER, ReviewedQuestion, question_block

LINES = (
    st.text()
    .map(lambda text: " ".join(text.split()))
    .map(lambda text: text.encode(errors="replace").decode())
)
SAID = LINES.filter(bool)
TEXTS = st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]))


@st.composite
def made(draw: st.DrawFn) -> ReviewedQuestion:
    type = draw(st.sampled_from(["one_passage", "two_passages", UNANSWERABLE]))
    has_answer = type != UNANSWERABLE
    contexts = draw(
        st.lists(st.builds(Context, LINES, TEXTS, supporting=st.just(has_answer)), max_size=2)
    )
    titles = tuple(dict.fromkeys(each.title for each in contexts if each.title and has_answer))
    question = Question(
        draw(SAID),
        draw(SAID),
        tuple(draw(st.lists(SAID, min_size=1))) if has_answer else (),
        supporting_titles=titles,
        contexts=tuple(contexts),
        types=(type,),
    )
    return ReviewedQuestion(question, draw(st.sampled_from([None, True, False])), ("look here",))


@settings(max_examples=25, deadline=None)
@given(questions=st.lists(made(), max_size=3))
def test_questions_come_back_as_they_went(
    questions: list[ReviewedQuestion], tmp_path_factory: pytest.TempPathFactory
):
    """Whatever titles, answers and passages say: none of it can begin another block or line."""
    path = tmp_path_factory.mktemp("review") / "review.md"
    path.write_bytes((HEADER + "\n".join(map(question_block, questions))).encode())
    read = read_review(path)
    assert [(each.question, each.known) for each in read] == [
        (each.question, each.known) for each in questions
    ]


def write(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "review.md"
    path.write_text("\n".join((HEADER, *lines)) + "\n")
    return path


def test_what_is_accepted_is_a_file_of_questions(tmp_path: Path):
    passage = "Passage: The light"
    review = write(
        tmp_path,
        *("## one", "Question: Who keeps it?", "Answer: Ada", "Answer: A. Moor"),
        *("Type: one_passage", "Known: yes", passage, "| Ada keeps", "|   the light.", "> Look!"),
        *("## none", "Question: Who built it?", "Type: unanswerable", passage, "| Ada."),
        *("## mine", "Question: Is it tall?", "Answer: yes"),
    )
    out = tmp_path / "questions.jsonl"
    accepted = accept_questions(review, out)
    assert read_questions(out) == accepted
    one, none, mine = accepted
    assert one.gold == ("Ada", "A. Moor")
    assert one.supporting_titles == ("The light",)
    assert [(each.title, each.text) for each in one.gold_contexts] == [
        ("The light", "Ada keeps\n  the light.")
    ]
    assert none.is_unanswerable
    assert not none.gold_contexts
    assert mine == Question("mine", "Is it tall?", ("yes",))
    assert '"known":true' in out.read_text()

    accept_questions(review, out)  # the same again
    review.write_text(review.read_text().replace("Ada keeps", "She keeps"))
    with pytest.raises(InputError, match="give another --out"):
        accept_questions(review, out)


def test_all_that_has_to_be_put_right_is_told_at_once(tmp_path: Path):
    start = HEADER.count("\n") + 2
    review = write(
        tmp_path,
        *("## a", "Question: Who keeps it?", "Answer: Ada"),
        *("## b", "Question: who keeps it", "Answer: Bo"),
        *("## a", "Answer: Ada"),
        *("## c", "Question: Since when?", "Answer:"),
        *("## d", "Question: For whom?", "Answer: x", "Type: unanswerable"),
    )
    with pytest.raises(DataError) as told:
        accept_questions(review)
    assert told.value.problem == (
        f"5 lines have to be put right: "
        f"line {start + 3}: the question of line {start} is asked again; "
        f'line {start + 6}: "a" has no question; '
        f'line {start + 6}: "a" stands in the file twice, first in line {start}; '
        f'line {start + 8}: "c" has no answer, and no Type unanswerable; '
        f'line {start + 11}: "d" is unanswerable, and has an answer'
    )
    review = write(tmp_path, "## a", "Question: Who?", "Ansr: Ada", "Answer: Ada", "It is she.")
    with pytest.raises(DataError, match=rf"line {start + 2}: a line begins .*line {start + 4}: "):
        accept_questions(review)
    with pytest.raises(DataError, match="there is no question in this file"):
        accept_questions(write(tmp_path))
    with pytest.raises(InputError, match="there is no file"):
        accept_questions(tmp_path / "none.md")


def test_editors_of_other_systems(tmp_path: Path):
    """A byte-order mark and line ends of Windows change nothing."""
    review = tmp_path / "review.md"
    text = "## a\nQuestion: Who?\nAnswer: Ada\nPassage: P\n| one\n|\n| two\n"
    review.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    [accepted] = accept_questions(review)
    assert accepted.contexts[0].text == "one\n\ntwo"
