"""JSON Lines, plain and compressed: one object a line.

A lone surrogate, which no UTF-8 holds, is written as U+FFFD, so that whatever a model wrote can be
stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from skr_core.errors import DataError
from skr_core.files.reading import read_lines
from skr_core.texts import encodable

_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY


def read_jsonl(path: str | Path, *, skip_bad: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object with its line number, counted from 1; blank lines are passed over.

    Args:
        path: The file; ``.gz`` is decompressed on the way.
        skip_bad: Leave out lines that are not JSON objects instead of raising.

    Raises:
        InputError: There is no such file.
        DataError: A line is not a JSON object, or the compression is broken.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "rows.jsonl")
        >>> size = path.write_text('{"a": 1}\\n\\n{"b": 2}\\n')
        >>> list(read_jsonl(path))
        [(1, {'a': 1}), (3, {'b': 2})]
    """
    for number, line in read_lines(path):
        row = parse_object(line)
        if row is not None:
            yield number, row
        elif not skip_bad:
            raise DataError(path, number, f"this line is not a JSON object{_why(line)}")


def _why(line: bytes) -> str:
    try:
        line.decode()
    except UnicodeDecodeError:
        return ", and not UTF-8: convert the file, for example with iconv"
    return ": JSON Lines have one a line"


def parse_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object that a line is; None where it is none."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None


def json_line(row: Mapping[str, Any]) -> bytes:
    r"""A row as one line of JSON.

    Example:
        >>> json_line({"said": "Paris"})
        b'{"said":"Paris"}\n'
    """
    try:
        return orjson.dumps(dict(row), option=_OPTIONS)
    except TypeError:  # a lone surrogate in a model's output
        return orjson.dumps(encodable_json(dict(row)), option=_OPTIONS)


def encodable_json(value: Any) -> Any:
    """The value with every lone surrogate in its texts replaced.

    Example:
        >>> encodable_json({"said": ["Paris" + chr(0xD800)]}) == {"said": ["Paris" + chr(0xFFFD)]}
        True
    """
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, Mapping):
        return {encodable(str(key)): encodable_json(each) for key, each in value.items()}
    return [encodable_json(each) for each in value] if isinstance(value, list | tuple) else value
