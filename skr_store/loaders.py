"""Reading files into documents, one after the other.

| suffix | what becomes a document |
|---|---|
| .txt .text .rst .adoc .log .py | the file, by its name |
| .md .markdown | the file, or where it is long each section, by the headings above it |
| .html .htm .docx | the same, by <title> where no heading is the page's own |
| .pdf .pptx | a page, a slide |
| .xlsx | a sheet, a row of it a line, by its name |
| .jsonl .jsonl.gz | a line ``{"id": ..., "title": ..., "text": ...}``; only text is required |
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import orjson

from skr_core.errors import DataError, InputError, MissingDependency
from skr_core.files import read_lines, read_whole, regular_file
from skr_core.files.reading import LARGEST_FILE
from skr_core.forks import OfProcess, leave_to_parent, renew_in_children
from skr_core.types import Metadata
from skr_store import convert
from skr_store.convert import CONVERTED, Converted
from skr_store.database import DATABASE_NAME
from skr_store.markdown import sections

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Document:
    """A text as it was found, before it is cut into passages.

    Attributes:
        text: The whole text.
        title: Of the document.
        metadata: ``source`` is the file; ``page``, ``heading`` or ``id`` where there is one.
        is_passage: Whether its maker has cut it already, as a line of JSON Lines is.
    """

    text: str
    title: str
    metadata: Metadata
    is_passage: bool = False


SECONDS = 120
"""Longest that an HTML, PDF or Office file is read, a hundred times what a usual one takes."""

MEMORY = 2_000_000_000
"""Most bytes that it takes meanwhile."""

OnBad = Callable[[DataError], None]
"""Called with each broken line or file; raises it, or notes it and lets the others survive."""


def stop(error: DataError) -> None:
    """Raise what is broken."""
    raise error


def find_files(
    paths: Sequence[str | Path],
    on_bad: OnBad = stop,
    on_other: Callable[[Path], None] | None = None,
) -> list[Path]:
    """The files to read: those named, and all of a known suffix in the folders named.

    Hidden files and folders, linked folders and the folders of stores are passed over; the order is
    that of the names.

    Args:
        paths: Of files and folders.
        on_bad: What to do with a file that is linked from without its folder, as an archive of
            somebody else's may link your own files.
        on_other: Told of each file in a folder that is passed over for its suffix.

    Raises:
        InputError: A path does not exist, or a named file is of an unknown suffix, or none.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("b.md", "a.txt", ".hidden.txt", "c.png"):
        ...     (folder / name).touch()
        >>> [path.name for path in find_files([folder])]
        ['a.txt', 'b.md']
    """
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            files += _walk(path, on_bad, on_other)
        elif not path.exists():
            raise InputError(f"{path} does not exist")
        elif _loader(path) is None:
            raise InputError(f"{path} is of an unknown kind; known are {', '.join(_LOADERS)}")
        else:
            files.append(regular_file(path))
    return files


def load_file(path: Path, on_bad: OnBad) -> Iterator[Document]:
    """Read a file document by document, so that a large one need not fit in memory.

    Args:
        path: Of a known suffix.
        on_bad: What to do with broken lines; a broken file is one of them.

    Raises:
        InputError: The file is of an unknown suffix.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "note.md")
        >>> size = path.write_text("# Paris\\n\\nIt is in France.")
        >>> [(each.title, each.text) for each in load_file(path, print)]
        [('Paris', 'It is in France.')]
    """
    loader = _loader(path)
    if loader is None:
        raise InputError(f"{path} is of an unknown kind; known are {', '.join(_LOADERS)}")
    yield from _readable(path, lambda: loader(regular_file(path), on_bad), on_bad)


def _readable(path: Path, read: Callable[[], Iterator[T]], on_bad: OnBad) -> Iterator[T]:
    """What is read of a file, up to where it is broken."""
    try:
        yield from read()
    except DataError as error:
        on_bad(error)
    except InputError as error:
        on_bad(DataError(path, None, f"cannot be read: {error}"))
    except OSError as error:
        on_bad(DataError(path, None, f"cannot be read: {error}"))


def _walk(folder: Path, on_bad: OnBad, on_other: Callable[[Path], None] | None) -> Iterator[Path]:
    within = folder.resolve()
    for root, folders, names in os.walk(folder):
        if DATABASE_NAME in names:  # a store's own folder is no document
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            if name.startswith("."):
                continue
            if _loader(path) is None:
                if on_other is not None:
                    on_other(path)
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(within):
                on_bad(DataError(path, None, f"a link out of {folder}: name its file to read it"))
            else:
                yield path


def _load_text(path: Path, on_bad: OnBad) -> Iterator[Document]:
    try:
        text = read_whole(path).decode()
    except UnicodeDecodeError as error:
        # Guessing an encoding would put wrong letters into answers without a word.
        problem = f"not UTF-8 at byte {error.start}: convert the file, for example with iconv"
        raise DataError(path, None, problem) from None
    suffix = path.suffix.lower()
    name = path.name if suffix in _CODE else path.stem
    parts = sections(text, name) if suffix in _MARKDOWN else [(name, text)]
    for title, part in parts:
        heading = {"heading": title} if suffix in _MARKDOWN else {}
        yield Document(part, title, {"source": str(path), **heading})


def _load_converted(path: Path, on_bad: OnBad) -> Iterator[Document]:
    converted = _convert(path)
    if not any(part["text"].strip() for part in converted["parts"]):
        raise DataError(path, None, "holds no text; a scan needs text recognition first")
    name, source = converted["title"].strip() or path.stem, {"source": str(path)}
    for part in converted["parts"]:
        if "page" in part:
            yield Document(part["text"], name, {**source, "page": part["page"]})
        elif "heading" in part:
            title = f"{name}: {part['heading']}"
            yield Document(part["text"], title, {**source, "heading": part["heading"]})
        else:
            for title, text in sections(part["text"], name):
                yield Document(text, title, {**source, "heading": title})


def _convert(path: Path) -> Converted:
    """What a file holds, read in another process, so that none hangs or ends this one."""
    if path.stat().st_size > LARGEST_FILE:
        raise DataError(path, None, f"it holds more than {LARGEST_FILE:,} bytes: split it")
    said = _reading.read(path)
    if "missing" in said:
        raise MissingDependency(said["missing"], "documents")
    if "problem" in said:
        problem = " ".join(said["problem"].split())
        raise DataError(path, None, f"not a readable {path.suffix[1:].upper()}: {problem:.200}")
    return cast(Converted, said)


class _Reading(OfProcess):
    """A process that reads one file after the other; it ends when this one does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        renew_in_children(self)

    def forget(self) -> None:
        """Leave the process to the parent, in a forked child."""
        leave_to_parent(self._process)
        self._lock, self._process = threading.Lock(), None

    def read(self, path: Path) -> dict[str, Any]:
        """What it says of a file.

        Raises:
            DataError: It did not answer in time, or ended.
        """
        with self._lock:
            process = self._process = self._process or self._begin()
            assert process.stdin is not None
            assert process.stdout is not None
            begin, watch = time.monotonic(), threading.Timer(SECONDS, process.kill)
            watch.daemon = True
            watch.start()
            try:
                # Not orjson, which refuses the names that some file systems have.
                process.stdin.write(json.dumps([str(path), SECONDS, MEMORY]).encode() + b"\n")
                process.stdin.flush()
                line = process.stdout.readline()
                said: dict[str, Any] = orjson.loads(line)
            except (BrokenPipeError, orjson.JSONDecodeError):
                self._end()
                if time.monotonic() - begin >= SECONDS:
                    problem = f"not read within {SECONDS} seconds: split it"
                    raise DataError(path, None, problem) from None
                ended = f"reading it ended the process that did (exit status {process.returncode})"
                raise DataError(path, None, ended) from None
            except BaseException:  # an answer that comes later would be taken for the next file's
                self._end()
                raise
            finally:
                watch.cancel()
            return said

    def end(self) -> None:
        """Let the process go, once it has read what it is reading."""
        with self._lock:
            self._end()

    def _begin(self) -> subprocess.Popen[bytes]:
        # With -P no module is imported from beside a script, where this package has its own.
        return subprocess.Popen(
            [sys.executable, "-P", convert.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


_reading = _Reading()


def end_reading() -> None:
    """Let go of the process that reads HTML, PDF and Office; the next file begins another."""
    _reading.end()


atexit.register(end_reading)


def _load_jsonl(path: Path, on_bad: OnBad) -> Iterator[Document]:
    for number, line in read_lines(path):
        try:
            document = _document_of_line(line, path, number)
        except DataError as error:
            on_bad(error)
        else:
            yield document


def _document_of_line(line: bytes, path: Path, number: int) -> Document:
    try:
        row: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise DataError(path, number, f"not JSON: {error}") from None
    if not isinstance(row, dict) or not isinstance(row.get("text"), str) or not row["text"].strip():
        raise DataError(path, number, 'must be an object with "text", a string that is not blank')
    title = row.get("title") or ""
    if not isinstance(title, str):
        raise DataError(path, number, '"title" must be a string')
    metadata: dict[str, str | int | float | bool] = {"source": str(path)}
    if isinstance(row.get("id"), str | int):
        metadata["id"] = str(row["id"])
    return Document(row["text"], title, metadata, is_passage=True)


_MARKDOWN = (".md", ".markdown")
_CODE = (".py",)
_LOADERS: dict[str, Callable[[Path, OnBad], Iterator[Document]]] = {
    **dict.fromkeys((".txt", ".text", ".rst", ".adoc", ".log", *_MARKDOWN, *_CODE), _load_text),
    **dict.fromkeys(CONVERTED, _load_converted),
    ".jsonl": _load_jsonl,
    ".jsonl.gz": _load_jsonl,
}


KINDS = tuple(_LOADERS)
"""The suffixes of files that can be read."""


def _loader(path: Path) -> Callable[[Path, OnBad], Iterator[Document]] | None:
    name = path.name.lower()
    return next((load for suffix, load in _LOADERS.items() if name.endswith(suffix)), None)
