"""Reading JSON Lines, plain or gzip-compressed, line by line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from skr_core.errors import DataError, InputError


def read_jsonl(path: str | Path, *, skip_bad: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object with its line number, counted from 1; blank lines are passed over.

    Args:
        path: The file; ``.gz`` is decompressed on the way.
        skip_bad: Leave out lines that are not JSON objects instead of raising.

    Raises:
        InputError: There is no such file.
        DataError: A line is not a JSON object, or the compression is broken.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                row = _parse(line)
                if row is not None:
                    yield number, row
                elif not skip_bad:
                    raise DataError(path, number, "this line is not a JSON object")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(path, number + 1, f"broken compression: {error}") from error


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None
