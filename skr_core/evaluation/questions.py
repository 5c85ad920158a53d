"""Reading multi-hop questions with their gold answers and supporting titles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from skr_core.errors import DataError
from skr_core.jsonl import read_jsonl


@dataclass(frozen=True, slots=True)
class Question:
    """A question to be judged.

    Attributes:
        id: Its own, or its line's number.
        question: The text.
        gold: Right answers; any of them counts.
        supporting_titles: Of the passages that the answer needs; empty where not recorded.
    """

    id: str
    question: str
    gold: tuple[str, ...]
    supporting_titles: tuple[str, ...] = ()


def read_questions(
    path: str | Path, *, limit: int | None = None, skip_bad: bool = False
) -> list[Question]:
    """Read a JSONL file of questions, plain or gzip-compressed.

    A line holds ``question``; the gold answers as ``answers``, ``gold`` or ``answer``; and where
    known ``id`` and ``supporting_titles``.

    Args:
        path: The file.
        limit: How many to read at most.
        skip_bad: Leave out broken lines instead of raising.

    Raises:
        InputError: There is no such file.
        DataError: A line is broken, or none holds a question.
    """
    questions = list(islice(_read(Path(path), skip_bad), limit))
    if not questions:
        raise DataError(path, None, "there is no question in this file")
    return questions


def _read(path: Path, skip_bad: bool) -> Iterator[Question]:
    for number, row in read_jsonl(path, skip_bad=skip_bad):
        try:
            question = _question(path, number, row)
        except DataError:
            if not skip_bad:
                raise
        else:
            yield question


def _question(path: Path, number: int, row: Mapping[str, Any]) -> Question:
    question = row.get("question")
    if not isinstance(question, str) or not question.strip():
        raise DataError(path, number, 'the field "question" is missing or empty')
    return Question(
        id=str(row.get("id", number)),
        question=question.strip(),
        gold=_texts(path, number, row.get("answers") or row.get("gold") or row.get("answer")),
        supporting_titles=_texts(path, number, row.get("supporting_titles")),
    )


def _texts(path: Path, number: int, given: Any) -> tuple[str, ...]:
    """One text or a list of texts; nothing is no text."""
    texts = [given] if isinstance(given, str) else given or []
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise DataError(path, number, "answers and supporting titles must be texts")
    return tuple(texts)
