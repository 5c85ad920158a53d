"""Reading a file of records, whoever wrote it; `rows.py` says what a line may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from skr_core.errors import DataError
from skr_core.files import read_jsonl
from skr_core.rivals import plain_text as plain_text
from skr_learn.self_knowledge.records import SelfKnowledge, check_same_stamp
from skr_learn.self_knowledge.rows import number_of as number_of
from skr_learn.self_knowledge.rows import record_of as record_of

OnSkipped = Callable[[DataError], None]
"""Told of each line that is left out."""


def read_self_knowledge(
    path: str | Path,
    *,
    skip_bad: bool = False,
    mixed_stamps: bool = False,
    on_skipped: OnSkipped | None = None,
) -> list[SelfKnowledge]:
    """Read records, plain or gzip-compressed.

    A line is any of the rows that `skr_learn.self_knowledge.rows` knows.

    Args:
        path: The file.
        skip_bad: Leave out bad lines instead of raising.
        mixed_stamps: Allow records that were not all made with the same.
        on_skipped: Told of each bad line that is left out.

    Raises:
        InputError: There is no such file.
        DataError: A line is bad, or none is a record.
        StampMismatch: The records were made with different models, retrievers or metrics.

    Example:
        >>> import json, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "pairs.jsonl"
        >>> row = {"question": "Who?", "gold": ["Ada"], "answer_direct": "Bob",
        ...        "answer_retrieved": "Ada", "correct_direct": False, "correct_retrieved": True}
        >>> _ = path.write_text(json.dumps(row))
        >>> read_self_knowledge(path)[0].benefit
        1.0
    """
    records = list(_read(Path(path), skip_bad, on_skipped))
    if not records:
        raise DataError(path, None, "there is no record of self-knowledge in this file")
    if not mixed_stamps:
        check_same_stamp([each.stamp for each in records], path, "read them with mixed_stamps=True")
    return records


def latest_rows(path: str | Path, *, skip_bad: bool = False) -> list[tuple[int, dict[str, Any]]]:
    """The rows of a file with their line numbers; of two with one key the later counts.

    A collection adds what it has learnt since.

    Args:
        path: The file.
        skip_bad: Leave out lines that are not JSON objects instead of raising.

    Raises:
        InputError: There is no such file.
        DataError: A line is not a JSON object.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
        >>> size = path.write_text('{"key": "a", "n": 1}\\n{"n": 2}\\n{"key": "a", "n": 3}')
        >>> [row["n"] for _, row in latest_rows(path)]
        [3, 2]
    """
    rows: dict[object, tuple[int, dict[str, Any]]] = {}
    for number, row in read_jsonl(path, skip_bad=skip_bad):
        key = row.get("key")
        rows[key if isinstance(key, str) else number] = number, row
    return list(rows.values())


def _read(path: Path, skip_bad: bool, on_skipped: OnSkipped | None) -> Iterator[SelfKnowledge]:
    for number, row in latest_rows(path, skip_bad=skip_bad):
        try:
            yield record_of(row, path, number)
        except DataError as error:
            if not skip_bad:
                raise
            if on_skipped is not None:
                on_skipped(error)
