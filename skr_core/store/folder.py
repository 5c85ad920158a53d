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
from skr_core.store.chroma_index import BATCH_SIZE, COLLECTION, ChromaIndex, mismatch
from skr_core.store.embedded import (
    INDEX_NAME,
    attach_index,
    fill,
    is_oversized,
    make_again,
    open_index,
    remove_index,
)
from skr_core.store.health import (
    break_seal,
    can_be_searched,
    is_sealed,
    seal,
    sealed_references,
)
from skr_core.store.journal import Journal, begin_journal, check_beginning, read_journal
from skr_core.store.keyword_files import KeywordFiles
from skr_core.store.locking import lock_store
from skr_core.store.read_only import can_be_written, copy_store

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
        self._closed = self._sealed = self._failed = False
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
            self.index = self._open_index(embedder.name)
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
                self.seal()
        finally:
            self._lock.release()
            self._remove_copy()

    def seal(self) -> None:
        """Say that the index is whole; it must be closed."""
        if self._sealed and sealed_references(self._path) == self.references:
            return
        try:
            seal(self._path, self._path / INDEX_NAME, self.references)
        except OSError as error:  # the next opening looks closer, and that is all
            _LOG.warning("%s cannot be sealed: %s", self.path, error)

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
        self.break_seal()
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

    def break_seal(self) -> None:
        """Say that the index is being written to."""
        if self._sealed:
            break_seal(self._path)
            self._sealed = False

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
            yield self._lock._context.lock_file_fd  # type: ignore[misc]

    def _remove_copy(self) -> None:
        if self._copy is not None:
            shutil.rmtree(self._copy, ignore_errors=True)

    def check_size(self) -> None:
        """Stop a runaway index before it fills the disk.

        Raises:
            StoreError: The index takes far more room than its references can need.
        """
        if is_oversized(self._path / INDEX_NAME, self.references):
            raise StoreError(
                f"the index in {self._path / INDEX_NAME} has grown out of proportion: close the "
                f"store and open it again, which rebuilds the index; no reference is lost"
            )

    def _open_index(self, embedder: str) -> ChromaIndex:
        """The index, made again where it cannot be trusted; then it is empty yet."""
        path = self._path / INDEX_NAME
        problem = self._problem()
        if problem is None:
            try:
                return open_index(path, embedder)
            except StoreError as error:
                # Unreadable, or left by a rebuild that was killed half way. The journal has it all.
                if not self.references:
                    raise
                problem = str(error)
        self._rescue(embedder)
        _LOG.warning(
            "%s: the index is made again from the journal's %d references, because %s",
            self.path,
            self.references,
            problem,
        )
        break_seal(self._path)
        self._sealed = False
        if (path / "chroma.sqlite3").exists():
            remove_index(path)
        return open_index(path, embedder)

    def _problem(self) -> str | None:
        """Why the index cannot be trusted; None where it can, or has to be made."""
        index = self._path / INDEX_NAME
        if not (index / "chroma.sqlite3").exists():
            return "it is missing" if self.references else None
        if is_oversized(self._path / INDEX_NAME, self.references):
            return "it had grown out of proportion"
        sealed = is_sealed(self._path, index)
        self._sealed = sealed is True
        if sealed is False:
            return "its files changed after it was closed"
        if sealed is None and not can_be_searched(index, COLLECTION):
            return "it was not closed and cannot be searched"
        return None

    def _rescue(self, embedder: str) -> None:
        """Record what only the index has, which a server was given; its database is apart.

        Raises:
            StoreError: Nothing can be read, and the journal has nothing either.
        """
        path = self._path / INDEX_NAME
        if not (path / "chroma.sqlite3").exists():
            return
        try:
            index = attach_index(path, embedder)
            try:
                self._record(index, run(index.known()))
            finally:
                index.close()
        except StoreError:
            if not self.references:
                raise

    def _reconcile(self, embedder: Embedder) -> None:
        """Give the index what only the journal has, and the journal what only the index has."""
        if self._is_as_it_was_closed():
            return
        indexed = run(self.index.known())
        self._record(self.index, indexed)
        lost = self.journal.ids.keys() - indexed
        if not lost:
            return
        if indexed:
            _LOG.warning(
                "%s: %d references that the index lacked are added to it from the journal",
                self.path,
                len(lost),
            )
        self.break_seal()
        fill(self.index, read_journal(self._path / JOURNAL_NAME), indexed, embedder)

    def _is_as_it_was_closed(self) -> bool:
        """Whether neither journal nor index have changed since they held the same references."""
        if not (self._sealed and self.keywords.were_complete):
            return False
        held = sealed_references(self._path)
        return held is not None and held == self.references == run(self.index.count())

    def _record(self, index: ChromaIndex, indexed: set[str]) -> None:
        """Record what only an index has: a server has added to the folder meanwhile."""
        unrecorded = sorted(indexed - self.journal.ids.keys())
        for start in range(0, len(unrecorded), BATCH_SIZE):
            found = run(index.fetch(unrecorded[start : start + BATCH_SIZE]))
            self.record(list(found.values()))


# A program that ends without closing its stores has closed them all the same.
_open_folders: WeakSet[StoreFolder] = WeakSet()


@cache
def _close_all_at_exit() -> None:
    atexit.register(_close_all)  # once filelock is imported, which gives all locks back itself


def _close_all() -> None:
    for folder in list(_open_folders):
        if folder.process == os.getpid():  # a fork has what its parent goes on using
            folder.close()
