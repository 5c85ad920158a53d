"""A store's folder: lock, journal and index, and putting right what a killed process left.

```text
folder/
├── references.jsonl   every reference, on the disk before an addition is acknowledged
├── index/             Chroma's files, which can be made again from the journal
├── words/            the words of the journal, which can be read again from it
├── index.seal         what the index was when it was closed; gone while it is written to
├── index.draft/       the next index while a rebuild is under way
└── store.lock         held by the one process that has the folder open
```
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from skr_core.errors import InputError, StoreError, extra
from skr_core.flow import run
from skr_core.models.embedders import default_embedder, probe
from skr_store._compat import handle_of
from skr_store.chroma_index import BATCH_SIZE, ChromaIndex, mismatch
from skr_store.embedded import INDEX_NAME, fill, make_again
from skr_store.index_folder import IndexFolder
from skr_store.journal import Journal, begin_journal, check_beginning, read_journal
from skr_store.keyword_files import KeywordFiles
from skr_store.locking import lock_store
from skr_store.read_only import can_be_written, copy_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skr_core.ports import Embedder
    from skr_core.types import Reference

_LOG = logging.getLogger(__name__)

JOURNAL_NAME = "references.jsonl"
WORDS_NAME = "words"


class StoreFolder:
    """An open folder; the references of journal and index are the same when this is made.

    Args:
        path: Made if missing.
        embedder: Of the store; makes the vectors that the index lacks. Where none is given
            `default_embedder` says which.
        afresh: Make the index again from the journal, which may change the embedder. The old one
            stays until the new one is whole, so a failure leaves the store as it was.

    Attributes:
        embedder: Of the store.
        index: The Chroma collection.
        journal: The record of all references.
        keywords: The words of all references.
        path: Of the folder.
        process: That opened it.

    Raises:
        StoreLocked: The folder is open elsewhere.
        EmbedderMismatch: Another embedder made the store.
        InputError: There is no journal to make the index from.
        DataError: What has the journal's name is none, or is broken.
        StoreError: The folder cannot be used.
        MissingDependency: The extra ``chroma`` is not installed.
    """

    def __init__(self, path: Path, embedder: Embedder | None, *, afresh: bool = False) -> None:
        self.path = self._path = path
        self.process = os.getpid()
        self._copy: Path | None = None
        self._closed = self._failed = False
        try:
            if not can_be_written(path, (JOURNAL_NAME, INDEX_NAME, WORDS_NAME)):
                if afresh:
                    raise StoreError(f"{path} is read-only here, so no index can be made in it")
                self._path = self._copy = copy_store(path, JOURNAL_NAME, INDEX_NAME)
            self._open(embedder, afresh)
        except OSError as error:
            self._remove_copy()
            raise StoreError(f"{path} cannot be used as a store's folder: {error}") from error
        except BaseException:
            self._remove_copy()
            raise
        _open_folders.add(self)
        _close_all_at_exit()

    @property
    def references(self) -> int:
        """How many the journal holds."""
        return len(self.keywords.index)

    @property
    def read_only(self) -> bool:
        """Whether this process may not write to the folder; a copy of its index is searched."""
        return self._copy is not None

    def _open(self, given: Embedder | None, afresh: bool) -> None:
        path, journal = self._path, self._path / JOURNAL_NAME
        # Before anything is written, the lock's file included: the folder may be of another kind,
        # Chroma not installed, and the embedder one that cannot be loaded.
        with extra("chroma"):
            import chromadb  # noqa: F401
        maker = None
        if not afresh:
            maker = check_beginning(journal)
        elif not journal.is_file():
            raise InputError(f"{path} holds no {JOURNAL_NAME} to rebuild the index from")
        else:
            for _ in read_journal(journal):
                pass
        self.embedder = embedder = given or default_embedder(maker)
        if afresh or not journal.exists():
            probe(embedder)
        path.mkdir(parents=True, exist_ok=True)
        self._lock = lock_store(path)
        try:
            if afresh:
                make_again(path, journal, embedder)
            maker = begin_journal(journal, embedder.name)
            if maker != embedder.name:
                raise mismatch(self.path, maker, embedder.name)
            words = self.path / WORDS_NAME
            self.keywords = KeywordFiles(words, journal, read_only=self.read_only)
            self.journal = Journal(journal, embedder.name, self.keywords.index.ids)
            self._kept = IndexFolder(path, self.path)
            self.index = self._kept.open(embedder.name, self.references, self._record)
            self._reconcile(embedder)
        except BaseException:
            self._failed = True
            self.close()
            raise

    def close(self) -> None:
        """Close the files and give the lock back; closing twice does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            if hasattr(self, "index"):
                self.index.close()
            if hasattr(self, "journal"):
                self.journal.close()
                self.keywords.keep()
            if not self._failed:
                self._kept.seal(self.references)
        finally:
            self._lock.release()
            self._remove_copy()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """What is added within makes the index another than it was closed as.

        Raises:
            StoreError: This process may not write to the folder.
        """
        if self.read_only:
            raise StoreError(
                f"{self.path} is read-only here, so nothing can be added: it can be searched"
            )
        self._kept.break_seal()
        try:
            yield
        except BaseException:
            self._failed = True  # Chroma's files may be half written
            raise

    def record(self, references: Sequence[Reference]) -> None:
        """Write references to the journal, and their words into the keyword index.

        Raises:
            StoreError: The disk does not take them.
        """
        self.keywords.append(self.journal.append(references))

    def check_size(self) -> None:
        """As `IndexFolder.check_size`."""
        self._kept.check_size(self.references)

    @contextmanager
    def lent(self) -> Iterator[int]:
        """Give the index to a child process, which holds the lock for as long as it lives.

        Yields:
            The lock's handle, which the child inherits.

        Raises:
            StoreError: This process may not write to the folder.
        """
        with self.writing():
            self.index.close()
            self._failed = True  # what the child leaves is looked at, not sealed unseen
            yield handle_of(self._lock)

    def _remove_copy(self) -> None:
        if self._copy is not None:
            shutil.rmtree(self._copy, ignore_errors=True)

    def _reconcile(self, embedder: Embedder) -> None:
        """Give the index what only the journal has, and the journal what only the index has."""
        if self._is_as_it_was_closed():
            return
        indexed = self._record(self.index)
        lost = self.journal.ids.keys() - indexed
        if not lost:
            return
        if indexed:
            _LOG.warning(
                "%s: %d references that the index lacked are added to it from the journal",
                self.path,
                len(lost),
            )
        self._kept.break_seal()
        recorded = read_journal(self._path / JOURNAL_NAME)
        fill(self.index, recorded, indexed, embedder, self.check_size)

    def _is_as_it_was_closed(self) -> bool:
        """Whether neither journal nor index have changed since they held the same references."""
        held = self._kept.sealed_references() if self.keywords.were_complete else None
        return held is not None and held == self.references == run(self.index.count())

    def _record(self, index: ChromaIndex) -> set[str]:
        """Record what only an index has, which a server was given; return all that it has."""
        indexed = run(index.known())
        unrecorded = sorted(indexed - self.journal.ids.keys())
        for start in range(0, len(unrecorded), BATCH_SIZE):
            found = run(index.fetch(unrecorded[start : start + BATCH_SIZE]))
            self.record(list(found.values()))
        return indexed


# A program that ends without closing its stores has closed them all the same.
_open_folders: WeakSet[StoreFolder] = WeakSet()


@cache
def _close_all_at_exit() -> None:
    atexit.register(_close_all)  # once filelock is imported, which gives all locks back itself


def _close_all() -> None:
    for folder in list(_open_folders):
        if folder.process == os.getpid():  # a fork has what its parent goes on using
            folder.close()
