"""A store's folder: lock, journal and index, and putting right what a killed process left.

```text
folder/
├── references.jsonl   every reference, on the disk before an addition is acknowledged
├── index/             Chroma's files, which can be made again from the journal
├── index.draft/       the next index while a rebuild is under way
└── store.lock         held by the one process that has the folder open
```
"""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skr_core.errors import InputError, StoreError, StoreLocked, extra
from skr_core.flow import run
from skr_core.models.embedders import probe
from skr_core.references.storable import searchable
from skr_core.store.chroma_index import BATCH_SIZE, SILENT, ChromaIndex, mismatch
from skr_core.store.journal import Journal, check_beginning, read_journal, rewrite_journal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from filelock import FileLock

    from skr_core.ports import Embedder
    from skr_core.types import Reference

JOURNAL_NAME = "references.jsonl"
INDEX_NAME = "index"
DRAFT_NAME = "index.draft"
# A healthy row takes 4 bytes a dimension and a few hundred for its links: 17 kB at 4096
# dimensions. Once, after a kill, a file of links grew to 69 GB over a few thousand rows.
MOST_BYTES_A_ROW = 64 * 1024
BYTES_SET_ASIDE = 64 * 1024 * 1024  # Chroma allocates ahead, whatever the number of rows


class StoreFolder:
    """An open folder; the references of journal and index are the same when this is made.

    Args:
        path: Made if missing.
        embedder: Of the store; makes the vectors that the index lacks.
        afresh: Make the index again from the journal, which may change the embedder. The old one
            stays until the new one is whole, so a failure leaves the store as it was.

    Attributes:
        index: The Chroma collection.
        journal: The record of all references.

    Raises:
        StoreLocked: The folder is open elsewhere.
        EmbedderMismatch: Another embedder made the store.
        InputError: There is no journal to make the index from.
        DataError: What has the journal's name is none, or is broken.
        StoreError: The folder cannot be used.
        MissingDependency: The extra ``chroma`` is not installed.
    """

    def __init__(self, path: Path, embedder: Embedder, *, afresh: bool = False) -> None:
        self._path = path
        try:
            self._open(embedder, afresh)
        except OSError as error:
            raise StoreError(f"{path} cannot be used as a store's folder: {error}") from error

    def _open(self, embedder: Embedder, afresh: bool) -> None:
        path, journal = self._path, self._path / JOURNAL_NAME
        # Before anything is written, the lock's file included: the folder may be of another kind,
        # Chroma not installed, and the embedder one that cannot be loaded.
        with extra("chroma"):
            import chromadb  # noqa: F401
        if not afresh:
            check_beginning(journal)
        elif not journal.is_file():
            raise InputError(f"{path} holds no {JOURNAL_NAME} to rebuild the index from")
        else:
            for _ in read_journal(journal):
                pass
        if afresh or not journal.exists():
            probe(embedder)
        path.mkdir(parents=True, exist_ok=True)
        self._lock = lock_store(path)
        try:
            if afresh:
                self._make_again(embedder)
            self.journal = Journal(journal, embedder.name)
            if self.journal.embedder != embedder.name:
                raise mismatch(path, self.journal.embedder, embedder.name)
            self.index = self._open_index(embedder.name)
            self._reconcile(embedder)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the files and give the lock back; closing twice does nothing."""
        if hasattr(self, "index"):
            self.index.close()
        if hasattr(self, "journal"):
            self.journal.close()
        self._lock.release()

    def check_size(self) -> None:
        """Stop a runaway index before it fills the disk.

        Raises:
            StoreError: The index takes far more room than its references can need.
        """
        if self._is_oversized():
            raise StoreError(
                f"the index in {self._path / INDEX_NAME} has grown out of proportion: close the "
                f"store and open it again, which rebuilds the index; no reference is lost"
            )

    def _is_oversized(self) -> bool:
        size = sum(file.stat().st_size for file in (self._path / INDEX_NAME).rglob("*.bin"))
        return size > BYTES_SET_ASIDE + MOST_BYTES_A_ROW * len(self.journal.ids)

    def _make_again(self, embedder: Embedder) -> None:
        """Make the index beside the old one, then put it in its place.

        Wherever this is killed, one of the two embedders opens the store: an index that does not
        fit the journal is made again from it.
        """
        index, draft, journal = (self._path / n for n in (INDEX_NAME, DRAFT_NAME, JOURNAL_NAME))
        _check_is_chroma(index)
        _remove_index(draft)
        try:
            made = open_index(draft, embedder.name)
            try:
                _fill(made, read_journal(journal), set(), embedder)
            finally:
                made.close()
        except BaseException:
            _remove_index(draft)
            raise
        _remove_index(index)
        draft.rename(index)
        rewrite_journal(journal, embedder.name)

    def _open_index(self, embedder: str) -> ChromaIndex:
        path = self._path / INDEX_NAME
        if self.journal.ids and self._is_oversized():
            _remove_index(path)
        try:
            return open_index(path, embedder)
        except StoreError:
            # Unreadable, or left by a rebuild that was killed half way. The journal has it all.
            if not self.journal.ids:
                raise
        _remove_index(path)
        return open_index(path, embedder)

    def _reconcile(self, embedder: Embedder) -> None:
        """Give the index what only the journal has, and the journal what only the index has."""
        if run(self.index.count()) == len(self.journal.ids):
            return
        indexed = run(self.index.known())
        _fill(self.index, read_journal(self._path / JOURNAL_NAME), indexed, embedder)
        # A server may have added to the folder meanwhile.
        unrecorded = sorted(indexed - self.journal.ids.keys())
        for start in range(0, len(unrecorded), BATCH_SIZE):
            found = run(self.index.fetch(unrecorded[start : start + BATCH_SIZE]))
            self.journal.append(list(found.values()))


def _fill(
    index: ChromaIndex, recorded: Iterable[Reference], indexed: set[str], embedder: Embedder
) -> None:
    """Add what is recorded and not indexed yet; `indexed` grows by it."""
    lost = (item for item in recorded if item.id not in indexed)
    while batch := list({item.id: item for item in islice(lost, BATCH_SIZE)}.values()):
        run(index.insert(batch, embedder.embed([searchable(item) for item in batch])))
        indexed.update(item.id for item in batch)


def _check_is_chroma(path: Path) -> None:
    """Refuse to touch a folder that is not Chroma's; none and an empty one may be."""
    if path.exists() and not (path / "chroma.sqlite3").exists() and any(path.iterdir()):
        raise StoreError(f"{path} holds something else than an index: move it away first")


def _remove_index(path: Path) -> None:
    _check_is_chroma(path)
    if path.exists():
        shutil.rmtree(path)


def open_index(path: Path, embedder: str) -> ChromaIndex:
    """Open the embedded Chroma of a folder, and make sure that it can be searched.

    Raises:
        StoreError: It cannot.
        EmbedderMismatch: Another embedder made it.
    """
    with extra("chroma"):
        import chromadb
        from chromadb.api.shared_system_client import SharedSystemClient
        from chromadb.config import Settings

    try:
        client: Any = chromadb.PersistentClient(path, Settings(**SILENT))
    except Exception as error:  # Chroma lets errors of sqlite and of its own Rust part through
        # It also keeps the half-made system, and would give it to the next client of this path.
        SharedSystemClient._identifier_to_system.pop(str(path), None)
        raise StoreError(f"Chroma cannot open {path}: {error}") from error
    index = ChromaIndex(client, path, embedder)
    try:
        run(index.probe())
    except StoreError:
        index.close()
        raise
    return index


LOCK_NAME = "store.lock"


def lock_store(path: Path) -> FileLock:
    """Take the lock of a store's folder, without waiting.

    The system gives the lock back when the process ends, however it ends.

    Args:
        path: The store's folder; must exist.

    Returns:
        The held lock; call its `release`.

    Raises:
        StoreLocked: Another process holds it, or another store object of this process.
        StoreError: The lock's file cannot be written.
    """
    with extra("chroma"):
        from filelock import FileLock, Timeout

    # Not per thread: a store may be closed in another thread than it was opened in.
    lock = FileLock(path / LOCK_NAME, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise StoreLocked(
            f"{path} is open elsewhere (another process, or another ChromaStore of this one): "
            f"close that one, or share the store through a server: "
            f"chroma run --path {path / 'index'}  and  ChromaStore.connect(url)"
        ) from None
    except OSError as error:  # `Timeout` is one too
        raise StoreError(f"{path} cannot be locked: {error}") from error
    return lock
