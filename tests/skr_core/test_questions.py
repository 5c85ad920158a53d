"""Questions are read, and broken lines named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skr_core import Question, read_questions
from skr_core.errors import DataError, InputError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "questions.jsonl"


def write(path: Path, *rows: Any) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.parametrize(
    ("row", "question"),
    [
        ({"question": " Who? "}, Question("1", "Who?", ())),
        ({"question": "Who?", "answers": ["Ada", "A."]}, Question("1", "Who?", ("Ada", "A."))),
        ({"question": "Who?", "gold": ["Ada"]}, Question("1", "Who?", ("Ada",))),
        ({"question": "Who?", "answer": "Ada"}, Question("1", "Who?", ("Ada",))),
        ({"question": "Who?", "answers": None, "answer": "Ada"}, Question("1", "Who?", ("Ada",))),
        ({"question": "Who?", "id": 7}, Question("7", "Who?", ())),
        (
            {"question": "Who?", "supporting_titles": ["Jaws"]},
            Question("1", "Who?", (), ("Jaws",)),
        ),
        ({"question": "Who?", "supporting_titles": "Jaws"}, Question("1", "Who?", (), ("Jaws",))),
        (
            {"question": "Who?", "history": [{"role": "user", "content": "Hi"}, ["ai", "Yes?"]]},
            Question("1", "Who?", (), history=(("user", "Hi"), ("ai", "Yes?"))),
        ),
        (
            {"question": "Who?", "config": {"configurable": {"tenant": "a"}}},
            Question("1", "Who?", (), config={"configurable": {"tenant": "a"}}),
        ),
        ({"question": "Who?", "config": "distractor"}, Question("1", "Who?", ())),
    ],
)
def test_rows(path: Path, row: dict[str, Any], question: Question):
    write(path, row)
    assert read_questions(path) == [question]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({}, 'the field "question" is missing or empty'),
        ({"question": "  "}, 'the field "question" is missing or empty'),
        ({"question": 3}, 'the field "question" is missing or empty'),
        ({"question": "Who?", "answers": [1]}, "must be texts"),
        ({"question": "Who?", "answer": 1914}, "must be texts"),
        ({"question": "Who?", "answers": {"a": 1}}, "must be texts"),
        ({"question": "Who?", "supporting_titles": [None]}, "must be texts"),
        ({"question": "Who?", "supporting_titles": 3}, "must be texts"),
        ([], "not a JSON object"),
    ],
)
def test_broken_rows_are_named_or_left_out(path: Path, row: Any, problem: str):
    write(path, {"question": "One?"}, row, {"question": "Three?"})
    with pytest.raises(DataError, match=rf"questions\.jsonl, line 2: .*{problem}"):
        read_questions(path)
    assert [each.id for each in read_questions(path, skip_bad=True)] == ["1", "3"]


def test_a_limit_counts_questions_and_reads_no_further(path: Path):
    write(path, {"question": "One?"}, {}, {"question": "Three?"})
    path.write_text(path.read_text() + "broken")
    assert [each.id for each in read_questions(path, limit=1)] == ["1"]
    assert [each.id for each in read_questions(path, limit=2, skip_bad=True)] == ["1", "3"]


def test_a_file_without_a_question(path: Path):
    path.write_text("\n\n")
    with pytest.raises(DataError, match="there is no question in this file"):
        read_questions(path)


def test_no_file(path: Path):
    with pytest.raises(InputError, match="there is no file"):
        read_questions(path)


def test_one_text_is_no_tuple_of_right_answers():
    with pytest.raises(InputError, match=r"give a tuple of right answers, \('Port Elm',\)"):
        Question("1", "Where?", "Port Elm")  # type: ignore[arg-type]
