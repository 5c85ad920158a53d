"""From a published file to questions: JSON, JSON Lines, CSV and TSV, plain or gzip-compressed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from skr_core.errors import DataError, InputError
from skr_core.files import read_jsonl, read_whole
from skr_core.questions import Question
from skr_lab.datasets.formats import FORMATS, Fields, Format

Rows = Iterator[tuple[int, Mapping[str, Any]]]

LARGEST = 4_000_000_000
"""Bytes of a data set that is published as one piece; more are a bomb."""


def read_dataset(
    name: str, path: str | Path, *, limit: int | None = None, skip_bad: bool = False
) -> list[Question]:
    """Read a data set's own file.

    Args:
        name: A key of `FORMATS`.
        path: The file, as its authors publish it.
        limit: How many questions to read at most.
        skip_bad: Leave out rows that lack something instead of raising.

    Raises:
        InputError: There is no such format or file.
        DataError: A row lacks a field; the message names the row and the field.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "dev.jsonl")
        >>> size = path.write_text('{"question": "Who wrote Emma?", "answer": ["Jane Austen"]}')
        >>> [question.gold for question in read_dataset("nq_open", path)]
        [('Jane Austen',)]
    """
    if name not in FORMATS:
        raise InputError(f"no data set {name!r} is known here: give one of {', '.join(FORMATS)}")
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    questions = list(islice(_questions(FORMATS[name], path, skip_bad), limit))
    if not questions:
        raise DataError(path, None, f"there is no question of {FORMATS[name].title} in this file")
    return questions


def _questions(form: Format, path: Path, skip_bad: bool) -> Iterator[Question]:
    for number, row in _rows(form, path, skip_bad):
        try:
            question = form.read(Fields(path, number, row))
        except DataError:
            if not skip_bad:
                raise
        else:
            if question is not None:
                yield question


def _rows(form: Format, path: Path, skip_bad: bool) -> Rows:
    if form.kind == "jsonl":
        return read_jsonl(path, skip_bad=skip_bad)
    text = _text(path)
    if form.kind in {"csv", "tsv"}:
        delimiter = "," if form.kind == "csv" else "\t"
        rows = csv.DictReader(
            io.StringIO(text, newline=""), fieldnames=form.columns or None, delimiter=delimiter
        )
        return enumerate(rows, start=1 if form.columns else 2)
    try:
        loaded = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DataError(path, None, f"this is not JSON ({error})") from error
    if form.list_in:
        if not isinstance(loaded, dict) or form.list_in not in loaded:
            raise DataError(path, None, f'the field "{form.list_in}" is missing')
        loaded = loaded[form.list_in]
    if not isinstance(loaded, list) or not all(isinstance(row, dict) for row in loaded):
        raise DataError(path, None, f"{form.title} is published as a list of objects")
    return enumerate(loaded, start=1)


def _text(path: Path) -> str:
    try:
        return read_whole(path, most=LARGEST).decode()
    except UnicodeDecodeError as error:
        raise DataError(path, None, f"this is not UTF-8 ({error})") from error
