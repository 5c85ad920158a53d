"""Rows of files and tables, whoever wrote them: what questions and records are read from.

| given | its rows |
|---|---|
| ``.csv``, ``.tsv`` | lines of texts; a list or an object in a cell is read as such |
| ``.parquet`` | those of the table |
| ``.json`` | a list, also under a usual name such as ``examples``, columns, or JSON Lines |
| any other file | JSON Lines |
| a DataFrame, or an iterable of mappings, of pydantic objects or of pairs | each |

A cell without a value (NaN, NA) is None. A dotted name is that of a field within a field, as pandas
and LangSmith flatten objects: ``outcomes.direct.score``, ``inputs.question``.

Example:
    >>> [row for place, row in read_rows([{"inputs.question": "Who?", "id": float("nan")}])]
    [{'inputs': {'question': 'Who?'}, 'id': None}]
"""

from __future__ import annotations

import ast
import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from skr_core.errors import DataError, InputError, extra
from skr_core.files.reading import (
    LARGEST_FILE,
    encodable_json,
    json_line,
    parse_object,
    read_jsonl,
    read_whole,
    regular_file,
)
from skr_core.files.writing import replace_file

if TYPE_CHECKING:
    from pandas import DataFrame

LISTS = ("questions", "examples", "samples", "data", "rows", "items", "records")
"""The names under which a JSON file of one object has its rows."""

_BATCH = 1_000
_SAID = 200


class Place(NamedTuple):
    """Where a row stands, as `DataError` takes it.

    Attributes:
        source: The file; with the row's number where it has no lines.
        line: The number of the line, from 1.
        number: The number of the line or of the row.
    """

    source: str
    line: int | None
    number: int


def read_rows(source: Any, *, skip_bad: bool = False) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield each row with its place.

    Args:
        source: A path, a DataFrame, or an iterable of rows.
        skip_bad: Leave out lines that are no rows instead of raising.

    Raises:
        InputError: There is no such file, or the source has no rows.
        DataError: A row is broken, or the file is not what its name says.
        MissingDependency: Parquet is read by ``skr-rag[formats]``.
    """
    name = str(source) if isinstance(source, str | Path) else type(source).__name__
    for count, (line, given) in enumerate(_found(source, skip_bad), start=1):
        place = Place(name, line, line) if line else Place(f"{name}, row {count}", None, count)
        row = given if line else _row(given)
        if row is not None:
            yield place, _nested(row)
        elif not skip_bad:
            raise DataError(place.source, None, "this is no object with named fields")


def kind_of(path: Path) -> str:
    """What a file is, by the end of its name: ``.csv`` of ``Questions.CSV.gz``."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def write_rows(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows to a file: Parquet, CSV or, by any other name, JSON Lines (also ``.gz``).

    In a CSV a list is written as JSON, and a text that a spreadsheet would take for a formula
    begins with an apostrophe.

    Raises:
        DataError: A field has values of several types, which Parquet cannot hold.
        MissingDependency: Parquet is written by ``skr-rag[formats]``.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "answers.csv"
        >>> write_rows(path, [{"response": "=1+1", "contexts": ["Ada."]}])
        >>> print(path.read_text().split()[1])
        '=1+1,"[""Ada.""]"
    """
    path = Path(path)
    kind = kind_of(path)
    if kind == ".parquet":
        content = _parquet_of(path, rows)
    elif kind == ".csv":
        content = _csv_of([encodable_json(each) for each in rows]).encode()
    else:
        content = b"".join(map(json_line, rows))
    replace_file(path, gzip.compress(content) if path.suffix == ".gz" else content)


def frame_of(rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Rows as a DataFrame, in which a field within a field has a dotted name.

    Raises:
        MissingDependency: It is made by ``skr-rag[formats]``.
    """
    with extra("formats"):
        import pyarrow  # noqa: F401 - which pandas writes Parquet with
        from pandas import json_normalize
    return json_normalize([encodable_json(each) for each in rows])


def rows_of_columns(given: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The rows of an object of columns; None where it is another object.

    Example:
        >>> rows_of_columns({"text": ["Ada", "A."], "answer_start": [1, 5]})
        [{'text': 'Ada', 'answer_start': 1}, {'text': 'A.', 'answer_start': 5}]
        >>> rows_of_columns({"queries": {"7": "Who?"}, "responses": {"7": "Ada"}})
        [{'id': '7', 'queries': 'Who?', 'responses': 'Ada'}]
    """
    columns = list(given.values())
    if columns and all(isinstance(each, list) for each in columns):
        if len({*map(len, columns)}) == 1:
            return [dict(zip(given, cells, strict=True)) for cells in zip(*columns, strict=True)]
    elif columns and "inputs" not in given and all(isinstance(each, dict) for each in columns):
        keys = columns[0].keys()
        if keys and all(each.keys() <= keys for each in columns):
            return [
                {"id": key, **{name: each.get(key) for name, each in given.items()}} for key in keys
            ]
    return None


def _found(source: Any, skip_bad: bool) -> Iterable[tuple[int | None, Any]]:
    """What a source has, each with the number of its line where it has lines."""
    if not isinstance(source, str | Path):
        return ((None, each) for each in _listed(source))
    path = Path(source)
    match kind_of(path):
        case ".csv" | ".tsv":
            return _table(path, skip_bad)
        case ".parquet":
            return ((None, each) for each in _parquet(path))
        case ".json" if (rows := _json(path)) is not None:
            return ((None, each) for each in rows)
        case ".xlsx" | ".xls" | ".ods":
            raise DataError(path, None, "a spreadsheet is not read: save it as CSV")
    return read_jsonl(path, skip_bad=skip_bad)


def _row(given: Any) -> dict[str, Any] | None:
    """A row of a table or a list; None where it is none."""
    example = given.get("example") if isinstance(given, Mapping) else None
    try:
        row = _plain(example if hasattr(example, "inputs") else given)  # of LangSmith's experiments
    except RecursionError:
        return None
    if isinstance(row, list) and [*map(type, row)] == [str, str]:
        return {"question": row[0], "answer": row[1]}
    return row if isinstance(row, dict) else None


def _listed(given: Any) -> Iterable[Any]:
    """The rows of an object in Python, or of what a JSON file holds."""
    if hasattr(given, "columns") and hasattr(given, "to_dict"):
        return list(given.to_dict("records"))
    given = _plain(given) if hasattr(given, "model_dump") else given
    if isinstance(given, Mapping):
        rows = next((given[name] for name in LISTS if isinstance(given.get(name), list)), None)
        return rows if rows is not None else rows_of_columns(given) or [dict(given)]
    if not isinstance(given, Iterable) or isinstance(given, bytes | str):
        raise InputError(
            f"rows are read from a path, a DataFrame or a list of dicts, not from "
            f"{type(given).__name__}"
        )
    return given


def _plain(value: Any) -> Any:
    """The values of numpy, pandas and pydantic as those of Python; what is missing is None."""
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if type(value).__name__ in ("NAType", "NaTType") or (value != value) is True:
        return None
    return value


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with the fields of dotted names within those that they begin with."""
    made: dict[str, Any] = {}
    for name, value in row.items():
        if value is None:
            made.setdefault(name, None)
            continue
        *outer, last = name.split(".")
        within = made
        for part in outer:
            if within.get(part) is None:
                within[part] = {}
            if not isinstance(within[part], dict):  # a field of its own, beside it
                within, last = made, name
                break
            within = within[part]
        within[last] = value
    return made


def _json(path: Path) -> Iterable[Any] | None:
    """The rows of a JSON file; None where it holds JSON Lines."""
    content = read_whole(path).strip()
    try:
        loaded = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        if parse_object(content.partition(b"\n")[0]) is not None:
            return None
        raise DataError(path, None, f"this is not JSON ({error})") from error
    if not isinstance(loaded, list | dict):
        raise DataError(path, None, "a list of objects is wanted")
    return _listed(loaded)


def _table(path: Path, skip_bad: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a table of texts, each with the line on which it ends."""
    try:
        text = read_whole(path).decode()
    except UnicodeDecodeError:
        raise DataError(path, None, "not UTF-8: convert it, for example with iconv") from None
    header = text.partition("\n")[0]
    delimiter = "\t" if kind_of(path) == ".tsv" else max(",;\t", key=header.count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in rows:
            try:
                if None in row or "\0" in "".join(filter(None, row.values())):
                    problem = "more cells than the header has names, or NUL: quote the cells"
                    raise DataError(path, rows.line_num, problem)
                cells = {name: _cell(each, path, rows.line_num) for name, each in row.items()}
            except DataError:
                if not skip_bad:
                    raise
            else:
                yield rows.line_num, cells
    except csv.Error as error:
        problem = f"no table of {delimiter!r} ({error}): write JSON Lines or Parquet"
        raise DataError(path, rows.line_num, problem) from error


def _cell(text: str | None, path: Path, line: int) -> Any:
    """A cell, also one that holds a list or an object as JSON or Python write it."""
    if not text or not text.startswith(("[", "{", "array(")):
        return text or None
    for read in (orjson.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if read is orjson.loads or repr(value) == text:  # numpy's lists are read as others
            return value
    if text.startswith(("['", '["', "{'", "[array(", "array(")):
        problem = f"{text:.30}... was printed and cannot be read back: write JSON Lines or Parquet"
        raise DataError(path, line, problem)
    return text


def _csv_of(rows: list[dict[str, Any]]) -> str:
    def cell(value: Any) -> Any:
        if isinstance(value, dict | list | tuple):
            return orjson.dumps(value).decode()
        formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
        return f"'{value}" if formula else value

    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _parquet_of(path: Path, rows: Iterable[Mapping[str, Any]]) -> bytes:
    frame = frame_of(rows)
    with extra("formats"):
        from pyarrow import ArrowException
    try:
        content: bytes = frame.to_parquet(index=False)
    except ArrowException as error:
        said = f"Parquet cannot hold it, write JSON Lines ({str(error)[:_SAID]})"
        raise DataError(path, None, said) from error
    return content


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    path = regular_file(path)
    with extra("formats"):
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    too_large = DataError(path, None, f"it holds more than {LARGEST_FILE:,} bytes: split it")
    read = 0
    try:
        with ParquetFile(path) as file:
            groups = range(file.metadata.num_row_groups)
            size = sum(file.metadata.row_group(each).total_byte_size for each in groups)
            if size > LARGEST_FILE:
                raise too_large
            # A value that is repeated takes no room in the file: few rows at a time of large ones.
            for batch in file.iter_batches(min(_BATCH, LARGEST_FILE // max(size, 1))):
                read += batch.nbytes
                if read > LARGEST_FILE:
                    raise too_large
                yield from batch.to_pylist()
    except (ArrowException, OSError, UnicodeError) as error:
        raise DataError(path, None, f"this is not Parquet ({str(error)[:_SAID]})") from error
