"""The index within a store's folder: opened where it can be trusted, else taken away."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from skr_core.errors import StoreError
from skr_store.chroma_index import COLLECTION, ChromaIndex
from skr_store.embedded import (
    INDEX_NAME,
    attach_index,
    is_oversized,
    open_index,
    remove_index,
)
from skr_store.health import (
    break_seal,
    can_be_searched,
    is_sealed,
    seal,
    sealed_references,
)

BATCH_AFTER_A_KILL = 100
"""References in a call to an index that was not closed, whose size is looked at after each call:
once, after a kill, a file grew by more than ten megabytes a reference."""

_LOG = logging.getLogger(__name__)


class IndexFolder:
    """Chroma's files in a store's folder, and the seal that says how they were closed.

    Args:
        folder: Of the store.
        place: What messages call it.
    """

    def __init__(self, folder: Path, place: Path) -> None:
        self._folder, self._place, self._path = folder, place, folder / INDEX_NAME
        self._sealed = False

    def open(
        self, embedder: str, references: int, rescue: Callable[[ChromaIndex], object]
    ) -> ChromaIndex:
        """Open the index; one that cannot be trusted is taken away, and the new one is empty yet.

        Args:
            embedder: Of the store.
            references: How many the journal holds.
            rescue: Given an index before it is taken away, because its database is apart from what
                is broken, and may hold what a server was given.

        Raises:
            StoreError: It cannot be opened, and the journal holds nothing.
            EmbedderMismatch: Another embedder made it, and the journal holds nothing.
        """
        problem = self._problem(references)
        if problem is None:
            try:
                index = open_index(self._path, embedder)
                if references and not self._sealed:
                    index.batch_size = min(index.batch_size, BATCH_AFTER_A_KILL)
                return index
            except StoreError as error:
                # Unreadable, or left by a rebuild that was killed half way. The journal has it all.
                if not references:
                    raise
                problem = str(error)
        exists = (self._path / "chroma.sqlite3").exists()
        if exists:
            self._rescue(embedder, references, rescue)
        _LOG.warning(
            "%s: the index is made again from the journal's %d references, because %s",
            self._place,
            references,
            problem,
        )
        break_seal(self._folder)
        self._sealed = False
        if exists:
            remove_index(self._path)
        return open_index(self._path, embedder)

    def sealed_references(self) -> int | None:
        """How many references it was closed with; None where it was not, or has changed since."""
        return sealed_references(self._folder) if self._sealed else None

    def seal(self, references: int) -> None:
        """Say that the index is whole; it must be closed."""
        if self.sealed_references() == references:
            return
        try:
            seal(self._folder, self._path, references)
        except OSError as error:  # the next opening looks closer, and that is all
            _LOG.warning("%s cannot be sealed: %s", self._place, error)

    def break_seal(self) -> None:
        """Say that the index is being written to."""
        if self._sealed:
            break_seal(self._folder)
            self._sealed = False

    def check_size(self, references: int) -> None:
        """Stop a runaway index before it fills the disk.

        Raises:
            StoreError: The index takes far more room than its references can need.
        """
        if is_oversized(self._path, references):
            raise StoreError(
                f"the index in {self._path} has grown out of proportion: close the store and open "
                f"it again, which rebuilds the index; no reference is lost"
            )

    def _problem(self, references: int) -> str | None:
        """Why the index cannot be trusted; None where it can, or has to be made."""
        if not (self._path / "chroma.sqlite3").exists():
            return "it is missing" if references else None
        if is_oversized(self._path, references):
            return "it had grown out of proportion"
        sealed = is_sealed(self._folder, self._path)
        self._sealed = sealed is True
        if sealed is False:
            return "its files changed after it was closed"
        if sealed is None and not can_be_searched(self._path, COLLECTION):
            return "it was not closed and cannot be searched"
        return None

    def _rescue(
        self, embedder: str, references: int, rescue: Callable[[ChromaIndex], object]
    ) -> None:
        try:
            index = attach_index(self._path, embedder)
            try:
                rescue(index)
            finally:
                index.close()
        except StoreError:
            if not references:
                raise
