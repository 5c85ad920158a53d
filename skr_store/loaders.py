"""Reading files into documents, one after the other.

| suffix | what becomes a document |
|---|---|
| .txt .text .py | the file, by its name |
| .md .markdown | the file, or where it is long each section, by the headings above it |
| .html .htm | the visible text, with <pre> as it is and a row of a table a line; by <title> |
| .pdf | a page |
| .jsonl .jsonl.gz | a line ``{"id": ..., "title": ..., "text": ...}``; only text is required |
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import orjson

from skr_core.errors import DataError, InputError, extra
from skr_core.files import read_lines, read_whole, regular_file
from skr_core.files.reading import LARGEST_FILE
from skr_core.types import Metadata
from skr_store.locking import LOCK_NAME
from skr_store.markdown import sections

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Document:
    """A text as it was found, before it is cut into passages.

    Attributes:
        text: The whole text.
        title: Of the document.
        metadata: ``source`` is the file; ``page`` or ``id`` where there is one.
        is_passage: Whether its maker has cut it already, as a line of JSON Lines is.
    """

    text: str
    title: str
    metadata: Metadata
    is_passage: bool = False


LARGEST_HTML = 50_000_000
"""Bytes of a page."""

MOST_TAGS = 1_000_000
"""Of a page, those that close among them: each takes a kilobyte while it is read."""

MOST_OPEN = 200
"""Tags, or comments, of which the end is missing: for each of them the rest is searched for it."""

MOST_PAGES = 50_000
"""Of a PDF."""

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
    yield from readable(path, lambda: loader(regular_file(path), on_bad), on_bad)


def lines_of(path: Path, on_bad: OnBad) -> Iterator[tuple[int, bytes]]:
    """The lines of a file of JSON Lines with their numbers, for `documents_of`.

    Args:
        path: Of the file.
        on_bad: What to do with a file that is broken.
    """
    return readable(path, lambda: read_lines(path), on_bad)


def has_lines(path: Path) -> bool:
    """Whether each line of a file is a document."""
    return _loader(path) is _load_jsonl


def readable(path: Path, read: Callable[[], Iterator[T]], on_bad: OnBad) -> Iterator[T]:
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
        if LOCK_NAME in names:  # a store's own folder is no document
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
        yield Document(part, title, {"source": str(path)})


def _load_html(path: Path, on_bad: OnBad) -> Iterator[Document]:
    from skr_store.html import visible_text

    content = read_whole(path, most=LARGEST_HTML)
    if content.count(b"<") > MOST_TAGS:
        raise DataError(path, None, f"more than {MOST_TAGS:,} tags: split it")
    if any(content.count(begin, content.rfind(end) + 1) > MOST_OPEN for begin, end in _TAGS):
        raise DataError(path, None, f"more than {MOST_OPEN} tags or comments that do not end")
    title, text = visible_text(content)
    yield Document(text, title or path.stem, {"source": str(path)})


def _load_pdf(path: Path, on_bad: OnBad) -> Iterator[Document]:
    with extra("documents"):
        from pypdf import PdfReader

    if path.stat().st_size > LARGEST_FILE:
        raise DataError(path, None, f"it holds more than {LARGEST_FILE:,} bytes: split it")
    try:
        with path.open("rb") as file:
            reader = PdfReader(file)
            if reader.is_encrypted and not reader.decrypt(""):
                raise DataError(path, None, "encrypted: save a copy without a password")
            if len(reader.pages) > MOST_PAGES:
                raise DataError(path, None, f"more than {MOST_PAGES:,} pages: split it")
            title = ((reader.metadata.title if reader.metadata else None) or "").strip()
            pages = [page.extract_text() for page in reader.pages]
    except (DataError, OSError):
        raise
    except Exception as error:  # pypdf raises its own errors and stumbles over broken files
        raise DataError(path, None, f"not a readable PDF: {error}") from error
    if not any(page.strip() for page in pages):
        raise DataError(path, None, "holds no text; a scan needs text recognition first")
    for number, page in enumerate(pages, start=1):
        yield Document(page, title or path.stem, {"source": str(path), "page": number})


def _load_jsonl(path: Path, on_bad: OnBad) -> Iterator[Document]:
    yield from documents_of(path, read_lines(path), on_bad)


def documents_of(
    path: Path, lines: Iterable[tuple[int, bytes]], on_bad: OnBad
) -> Iterator[Document]:
    """Read lines of a file of JSON Lines.

    Args:
        path: Of the file.
        lines: With their numbers, counted from 1.
        on_bad: What to do with broken ones.
    """
    for number, line in lines:
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
_TAGS = ((b"<!--", b"-->"), (b"<![", b"]>"), (b"<", b">"))
_LOADERS: dict[str, Callable[[Path, OnBad], Iterator[Document]]] = {
    ".txt": _load_text,
    ".text": _load_text,
    ".md": _load_text,
    ".markdown": _load_text,
    ".py": _load_text,
    ".html": _load_html,
    ".htm": _load_html,
    ".pdf": _load_pdf,
    ".jsonl": _load_jsonl,
    ".jsonl.gz": _load_jsonl,
}


KINDS = tuple(_LOADERS)
"""The suffixes of files that can be read."""


def _loader(path: Path) -> Callable[[Path, OnBad], Iterator[Document]] | None:
    name = path.name.lower()
    return next((load for suffix, load in _LOADERS.items() if name.endswith(suffix)), None)
