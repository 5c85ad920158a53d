"""Portions: what is read at a time, of many files or of one that is large.

A large file need not fit in memory, and what was read of it is added before the rest is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from skr_core.types import Reference
from skr_store.loaders import OnBad, documents_of, has_lines, lines_of, load_file

LINES = 1_000
FILES = 20
BYTES = 1_000_000
"""Whichever is reached first ends a portion."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Some files, or some lines of one file.

    Attributes:
        files: Read whole, unless there are lines.
        lines: Of the one file, with their numbers.
    """

    files: tuple[Path, ...]
    lines: tuple[tuple[int, bytes], ...] = ()


def portions_of(files: Sequence[Path], on_bad: OnBad) -> Iterator[Portion]:
    """Cut files into portions, as they are asked for.

    Args:
        files: Of known suffixes.
        on_bad: What to do with a file of lines that is broken.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("a.txt", "b.txt"):
        ...     written = (folder / name).write_text("Paris is in France.")
        >>> [len(each.files) for each in portions_of(sorted(folder.iterdir()), print)]
        [2]
    """
    waiting: list[Path] = []
    size = 0
    for file in files:
        if has_lines(file):
            yield from _portions_of_lines(file, on_bad)
            continue
        waiting.append(file)
        size += _size(file)
        if len(waiting) >= FILES or size >= BYTES:
            yield Portion(tuple(waiting))
            waiting, size = [], 0
    if waiting:
        yield Portion(tuple(waiting))


def read_portion(portion: Portion, on_bad: OnBad) -> Sequence[Reference]:
    """Read a portion and cut it into passages.

    Args:
        portion: The files or lines to read.
        on_bad: What to do with a line or a file that is broken.
    """
    from skr_store.splitter import PASSAGE_LIMIT, TokenSplitter

    of_documents, of_passages = TokenSplitter(), TokenSplitter(limit=PASSAGE_LIMIT)
    references = []
    for file in portion.files:
        documents = (
            documents_of(file, portion.lines, on_bad) if portion.lines else load_file(file, on_bad)
        )
        for document in documents:
            splitter = of_passages if document.is_passage else of_documents
            for part in splitter.split(document.text):
                references.append(Reference.of(part, document.title, metadata=document.metadata))
    return references


def _portions_of_lines(file: Path, on_bad: OnBad) -> Iterator[Portion]:
    lines: list[tuple[int, bytes]] = []
    size = 0
    for number, line in lines_of(file, on_bad):
        lines.append((number, line))
        size += len(line)
        if len(lines) >= LINES or size >= BYTES:
            yield Portion((file,), tuple(lines))
            lines, size = [], 0
    if lines:
        yield Portion((file,), tuple(lines))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # whoever reads it says so
        return 0
