"""Reading files into documents, one after the other.

| suffix | what becomes a document |
|---|---|
| .txt .text .md .markdown .py | the file; Markdown is titled by its first heading, others by name |
| .html .htm | the visible text, with <pre> as it is and a row of a table a line; by <title> |
| .pdf | a page |
| .jsonl .jsonl.gz | a line ``{"id": ..., "title": ..., "text": ...}``; only text is required |
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from skr_core.errors import DataError, InputError, extra
from skr_core.files import read_lines
from skr_core.store.folder import LOCK_NAME
from skr_core.types import Metadata


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


OnBad = Callable[[DataError], None]
"""Called with each broken line or file; raises it, or notes it and lets the others survive."""


def find_files(paths: Sequence[str | Path]) -> list[Path]:
    """The files to read: those named, and all of a known suffix in the folders named.

    Hidden files and folders, and the folders of stores, are passed over; the order is that of the
    names.

    Raises:
        InputError: A path does not exist, or a named file is of an unknown suffix.

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
            files += _walk(path)
        elif not path.exists():
            raise InputError(f"{path} does not exist")
        elif _loader(path) is None:
            raise InputError(f"{path} is of an unknown kind; known are {', '.join(_LOADERS)}")
        else:
            files.append(path)
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
    try:
        yield from loader(path, on_bad)
    except DataError as error:
        on_bad(error)
    except OSError as error:
        on_bad(DataError(path, None, f"cannot be read: {error}"))


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        if LOCK_NAME in names:  # a store's own folder is no document
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            if not name.startswith(".") and _loader(path) is not None:
                yield path


def _load_text(path: Path, on_bad: OnBad) -> Iterator[Document]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Guessing an encoding would put wrong letters into answers without a word.
        problem = f"not UTF-8 at byte {error.start}: convert the file, for example with iconv"
        raise DataError(path, None, problem) from None
    suffix = path.suffix.lower()
    heading = _heading(text) if suffix in _MARKDOWN else None
    if heading:  # the title goes with every passage, so the text need not say it again
        text = (text[: heading.start()] + text[heading.end() :]).lstrip("\r\n")
    name = path.name if suffix in _CODE else path.stem
    yield Document(text, heading[1] if heading else name, {"source": str(path)})


def _heading(text: str) -> re.Match[str] | None:
    """The first heading of a Markdown text; a comment in a block of code is none."""
    fence = ""
    for line in _LINE.finditer(text):
        if fence:
            if line[0].strip().startswith(fence) and not line[0].strip().strip(fence[0]):
                fence = ""
        elif opened := _FENCE.match(line[0]):
            fence = opened[1]
        elif heading := _HEADING.match(text, line.start(), line.end()):
            return heading
    return None


def _load_html(path: Path, on_bad: OnBad) -> Iterator[Document]:
    with extra("documents"):
        from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML reads well as HTML
            soup = BeautifulSoup(path.read_bytes(), "html.parser")
        title = soup.title.get_text().strip() if soup.title else ""
        for tag in soup(["script", "style", "template", "noscript", "title"]):
            tag.decompose()
        for tag in soup("pre"):
            for line_break in tag("br"):
                line_break.replace_with("\n")
            tag.string = tag.get_text().strip("\r\n").translate(_KEPT)
        for string in soup(string=re.compile("[\r\n]")):  # elsewhere a line break is a space
            string.replace_with(string.translate(_UNBROKEN))
        for row in soup("tr"):
            for cell in row(["td", "th"], recursive=False)[1:]:
                if cell.find(_BLOCKS) is None:
                    cell.insert_before(" | ")
        for tag in soup(_BLOCKS):
            if tag.name in _CELLS and tag.find(_BLOCKS) is None:
                continue  # one of several on a line
            tag.insert(0, "\n")  # before it too: an item left open holds the next one
            tag.append("\n")
        lines = (" ".join(line.split()) for line in soup.get_text().splitlines())
        text = "\n".join(line for line in lines if line).translate(_GIVEN_BACK)
    except RecursionError:
        raise DataError(path, None, "its tags are nested too deeply") from None
    yield Document(text, title or path.stem, {"source": str(path)})


def _load_pdf(path: Path, on_bad: OnBad) -> Iterator[Document]:
    with extra("documents"):
        from pypdf import PdfReader

    try:
        with path.open("rb") as file:
            reader = PdfReader(file)
            if reader.is_encrypted and not reader.decrypt(""):
                raise DataError(path, None, "encrypted: save a copy without a password")
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
_LINE = re.compile(r"[^\n]+")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"# +(\S.*?)[ #\r]*$")
_CELLS = ("td", "th")
# Space in <pre> is meant. While the rest is put on lines, noncharacters, which no text may hold,
# stand for it.
_KEPT = {0x20: 0xFDD0, 0x0A: 0xFDD1, 0x09: 0xFDD2, 0x0D: None}
_UNBROKEN = str.maketrans("\r\n", "  ")
_GIVEN_BACK = {kept: given for given, kept in _KEPT.items() if kept is not None}
# After these a line ends; the others run on within one.
_BLOCKS = re.compile(
    r"^(p|div|br|hr|li|ul|ol|dl|dt|dd|tr|table|td|th|caption|h[1-6]|pre|blockquote|section|article"
    r"|aside|header|footer|main|nav|figure|figcaption|address|form|option)$"
)
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


def _loader(path: Path) -> Callable[[Path, OnBad], Iterator[Document]] | None:
    name = path.name.lower()
    return next((load for suffix, load in _LOADERS.items() if name.endswith(suffix)), None)
