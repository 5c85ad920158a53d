"""The keyword index of a store's journal, kept beside it so that an opening need not read all.

Each file covers some bytes of the journal, from where the one before it ends, and holds their
checksum. What the files do not cover, or no longer fit, is read from the journal, which alone is
believed. The files are written whole and never changed; small ones are merged into larger ones, so
that their number grows with the logarithm of the store.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skr_core.errors import DataError
from skr_core.flow import Flow
from skr_core.types import Reference
from skr_store.bm25 import BM25Index
from skr_store.chroma_index import in_thread
from skr_store.journal import header_length, read_journal_from
from skr_store.mapped import map_arrays, write_mapped
from skr_store.postings import Postings, merged
from skr_store.storable import keyword_text

_LOG = logging.getLogger(__name__)

VERSION = 1
"""Of the words of a passage, and of what a file holds of them."""
SUFFIX = ".words"
KEPT_AFTER = 20_000
"""Passages in memory before they are written."""
MANY = 200
"""Passages of one addition that are counted at once."""
WORTH_KEEPING = 100
"""Passages that were read from the journal again; fewer wait until the store is closed."""
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class _File:
    """One file: the bytes of the journal that it covers, behind the first line, and their lines."""

    path: Path
    start: int
    end: int
    lines: int
    check: int
    postings: Postings


class KeywordFiles:
    """The words of every reference of a journal.

    Args:
        folder: Of the files; made when there are some.
        journal: The journal, whose last line is whole.
        read_only: Write nothing.

    Attributes:
        index: Searches them.
        were_complete: Whether the files had all, so that the journal is as it was then.

    Raises:
        DataError: A line of the journal that the files do not cover is broken.
    """

    def __init__(self, folder: Path, journal: Path, *, read_only: bool = False) -> None:
        self._folder, self._journal, self._read_only = folder, journal, read_only
        self._first = header_length(journal)
        self._files = self._fitting()
        self.index = BM25Index([file.postings for file in self._files])
        self._lines = 0  # that are in memory alone
        self._end = self._first + self._covered  # of what is indexed
        self.were_complete = self._end == journal.stat().st_size
        if not self.were_complete:
            self._read_rest()

    def search(self, query: str, limit: int) -> Flow[list[tuple[str, float]]]:
        """As `BM25Index.search`, in a thread where it is awaited."""
        return (yield from in_thread(self.index.search, query, limit))

    def append(self, references: Sequence[Reference]) -> None:
        """Add what the journal has just been given, and knows to be new."""
        add = self.index.extend if len(references) >= MANY else self.index.append
        add((item.id, keyword_text(item)) for item in references)
        self._lines += len(references)
        self._end = self._journal.stat().st_size
        if self._lines >= KEPT_AFTER:
            self.keep()

    def keep(self) -> None:
        """Write what is in memory alone; where it fails, the next opening does it."""
        if self._read_only or not self._lines:
            return
        try:
            self._keep()
        except OSError as error:
            self._read_only = True  # what the next file would begin with is not in this one
            _LOG.warning("the words of %s cannot be kept: %s", self._journal, error)

    @property
    def _covered(self) -> int:
        return self._files[-1].end if self._files else 0

    def _read_rest(self) -> None:
        """Index the lines that no file covers; an id that is there already is passed over."""
        lines = sum(file.lines for file in self._files)
        for item, end in read_journal_from(self._journal, self._end, lines + 2):
            self.index.add([(item.id, keyword_text(item))])
            self._lines += 1
            self._end = end
            if self._lines >= KEPT_AFTER:
                self.keep()
        if self._lines >= WORTH_KEEPING:
            self.keep()

    def _keep(self) -> None:
        end = self._end - self._first
        self._folder.mkdir(exist_ok=True)
        self._write(self._covered, end, self._lines, self.index.freeze(), [])
        self._lines = 0
        self.index.replace_last(1, self._files[-1].postings)
        while len(self._files) > 1 and self._files[-2].lines < 2 * self._files[-1].lines:
            before, last = self._files[-2:]
            both = merged([before.postings, last.postings])
            lines = before.lines + last.lines
            self._write(before.start, end, lines, both, [before, last])
            self.index.replace_last(2, self._files[-1].postings)

    def _write(
        self, start: int, end: int, lines: int, postings: Postings, instead_of: list[_File]
    ) -> None:
        path = self._folder / f"{start:015}-{end:015}{SUFFIX}"
        check = _checksum(self._journal, self._first + start, self._first + end)
        about = {"version": VERSION, "start": start, "end": end, "lines": lines, "check": check}
        write_mapped(path, about, postings.arrays())
        self._files = [file for file in self._files if file not in instead_of]
        # Mapped at once, so that its pages may leave the memory again.
        self._files.append(_read(path))
        for file in instead_of:
            file.path.unlink(missing_ok=True)

    def _fitting(self) -> list[_File]:
        """The files that cover the beginning of the journal as it is; others are taken away."""
        fitting: list[_File] = []
        place = 0
        # Of those with the same beginning the longest first, which a merge has made of others.
        found = sorted(self._folder.glob(f"*{SUFFIX}"), reverse=True)
        while starting := [path for path in found if path.name.startswith(f"{place:015}-")]:
            file = next(filter(None, map(self._fits, starting)), None)
            if file is None or file.end <= place:
                break
            fitting.append(file)
            place = file.end
        if not self._read_only:
            for path in set(found) - {file.path for file in fitting}:
                path.unlink(missing_ok=True)
        return fitting

    def _fits(self, path: Path) -> _File | None:
        try:
            file = _read(path)
            start, end = (self._first + each for each in (file.start, file.end))
            return file if _checksum(self._journal, start, end) == file.check else None
        except DataError as error:
            _LOG.info("%s", error)
            return None


def _read(path: Path) -> _File:
    about, arrays = map_arrays(path)
    try:
        if about["version"] != VERSION:
            raise ValueError(f"version {about['version']} is not known here")
        start, end, lines, check = (int(about[key]) for key in ("start", "end", "lines", "check"))
        return _File(path, start, end, lines, check, Postings(**arrays))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(path, None, f"these are no words that were kept ({error})") from error


def _checksum(path: Path, start: int, end: int) -> int | None:
    """Of some bytes of a file; None where it ends before."""
    value = 0
    with path.open("rb") as file:
        file.seek(start)
        while (left := end - file.tell()) > 0:
            if not (block := file.read(min(left, _BLOCK))):
                return None
            value = zlib.crc32(block, value)
    return value
