"""Files of others: none of them hangs, fills the memory or is read in a wrong encoding.

JSON Lines have one object a line. A lone surrogate, which no UTF-8 holds, is written as U+FFFD, so
that whatever a model wrote can be stored.

Example:
    >>> in_utf8("Café".encode("utf-16"))
    b'Caf\\xc3\\xa9'
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

import orjson

from skr_core.errors import DataError, InputError
from skr_core.texts import encodable

LARGEST_FILE = 200_000_000
"""Bytes of a file that is read as a whole, once it is decompressed."""

LARGEST_RATIO = 100
"""How many times its bytes a large file may hold once it is decompressed; texts hold some ten."""

LONGEST_LINE = 32_000_000
"""Bytes of a line; longer ones are no rows of text but a bomb."""

_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
_UTF8 = codecs.BOM_UTF8
# The marks of UTF-32 begin as those of UTF-16 do.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def in_utf8(content: bytes) -> bytes:
    """What a file holds in UTF-8 and without a byte-order mark, where the mark says what it is in.

    What is not in the encoding of its mark stays as it is.
    """
    content = content.removeprefix(_UTF8)
    encoding = _encoding(content)
    try:
        return content.decode(encoding).encode() if encoding else content
    except UnicodeError:
        return content


def read_whole(path: str | Path, *, most: int = LARGEST_FILE) -> bytes:
    """All that a file holds, in UTF-8 where it has a byte-order mark; ``.gz`` is decompressed.

    Args:
        path: A regular file: a pipe would be waited for, and a device has no end.
        most: Bytes.

    Raises:
        InputError: There is no such file.
        DataError: It is larger, or its compression is broken.
        OSError: It cannot be read.
    """
    path = regular_file(path)
    try:
        with _opened(path) as file:
            content = file.read(most + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(path, None, f"broken compression: {error}") from error
    if len(content) > most:
        raise DataError(path, None, f"it holds more than {most:,} bytes: split it")
    return in_utf8(content)


def read_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not blank with its number, counted from 1, in UTF-8.

    A byte-order mark is left out, and says whether the file is in UTF-16; ``.gz`` is decompressed
    on the way.

    Raises:
        InputError: There is no such file.
        DataError: The compression is broken, a line has more than `LONGEST_LINE` bytes, or the file
            is not in the encoding of its byte-order mark.
    """
    path = regular_file(path)
    number = total = 0
    most = max(LARGEST_FILE, LARGEST_RATIO * path.stat().st_size)
    try:
        with _opened(path) as file:
            for number, line in enumerate(_lines(file), start=1):
                if len(line) > LONGEST_LINE:
                    raise DataError(path, number, f"longer than {LONGEST_LINE:,} bytes")
                total += len(line)
                if total > most:
                    problem = f"it holds more than {LARGEST_RATIO} times its bytes: decompress it"
                    raise DataError(path, number, problem)
                # In any line, because files with a mark of their own may have been joined.
                if (text := line.removeprefix(_UTF8)).strip():
                    yield number, text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(path, number + 1, f"broken compression: {error}") from error
    except UnicodeError as error:
        raise DataError(path, number + 1, f"not in its encoding: {error}") from error


def regular_file(path: str | Path) -> Path:
    """The path of a file that can be read to its end.

    Raises:
        InputError: There is none, or it is a folder, a pipe, a socket or a device.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if not path.is_file():
        raise InputError(f"there is no file {path}: it is a folder, pipe, socket or device")
    return path


def _opened(path: Path) -> IO[bytes]:
    is_compressed = path.suffix.lower() == ".gz"
    return cast("IO[bytes]", gzip.open(path) if is_compressed else path.open("rb"))


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Each line, cut where it is longer than the longest."""
    encoding = _encoding(cast("io.BufferedReader", file).peek(4)[:4])
    if not encoding:
        yield from iter(lambda: file.readline(LONGEST_LINE + 1), b"")
        return
    text = io.TextIOWrapper(file, encoding=encoding)
    try:
        yield from (line.encode() for line in iter(lambda: text.readline(LONGEST_LINE + 1), ""))
    finally:
        text.detach()  # whoever opened the file closes it


def _encoding(content: bytes) -> str:
    """The encoding that a byte-order mark names, but for UTF-8; empty where there is none."""
    return next((name for mark, name in _MARKS.items() if content.startswith(mark)), "")


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
