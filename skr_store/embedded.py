"""Chroma in a folder: opened, filled from what is recorded, made again, and taken away."""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skr_core.errors import StoreError, extra
from skr_core.flow import run
from skr_store._compat import forget_half_made
from skr_store.chroma_index import BATCH_SIZE, ChromaIndex
from skr_store.connection import SILENT
from skr_store.health import break_seal, seal
from skr_store.journal import read_journal, rewrite_journal
from skr_store.storable import searchable_text as searchable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from skr_core.ports import Embedder
    from skr_core.types import Reference


INDEX_NAME = "index"
DRAFT_NAME = "index.draft"
# A healthy row takes 4 bytes a dimension and a few hundred for its links: 17 kB at 4096
# dimensions. Once, after a kill, a file of links grew to 69 GB over a few thousand rows.
MOST_BYTES_A_ROW = 64 * 1024
BYTES_SET_ASIDE = 64 * 1024 * 1024  # Chroma allocates ahead, whatever the number of rows


def fill(
    index: ChromaIndex,
    recorded: Iterable[Reference],
    indexed: set[str],
    embedder: Embedder,
    after_each: Callable[[], None] = lambda: None,
) -> None:
    """Add what is recorded and not indexed yet; `indexed` grows by it."""
    lost = (item for item in recorded if item.id not in indexed)
    while batch := list({item.id: item for item in islice(lost, BATCH_SIZE)}.values()):
        vectors = embedder.embed([searchable(item) for item in batch])
        run(index.insert(batch, vectors, after_each))
        indexed.update(item.id for item in batch)


def make_again(folder: Path, journal: Path, embedder: Embedder) -> None:
    """Make the index of a store beside the old one, then put it in its place.

    Wherever this is killed, one of the two embedders opens the store: an index that does not fit
    the journal is made again from it.
    """
    index, draft = folder / INDEX_NAME, folder / DRAFT_NAME
    check_is_chroma(index)
    remove_index(draft)
    indexed: set[str] = set()
    try:
        made = open_index(draft, embedder.name)
        try:
            fill(made, read_journal(journal), indexed, embedder)
        finally:
            made.close()
    except BaseException:
        remove_index(draft)
        raise
    break_seal(folder)
    remove_index(index)
    draft.rename(index)
    seal(folder, index, len(indexed))
    rewrite_journal(journal, embedder.name)


def is_oversized(index: Path, references: int) -> bool:
    """Whether an index takes far more room than its references can need."""
    size = sum(file.stat().st_size for file in index.rglob("*.bin"))
    return size > BYTES_SET_ASIDE + MOST_BYTES_A_ROW * references


def check_is_chroma(path: Path) -> None:
    """Refuse to touch a folder that is not Chroma's; none and an empty one may be."""
    if path.exists() and not (path / "chroma.sqlite3").exists() and any(path.iterdir()):
        raise StoreError(f"{path} holds something else than an index: move it away first")


def remove_index(path: Path) -> None:
    """Take an index away; one that is missing is taken away already."""
    check_is_chroma(path)
    if path.exists():
        shutil.rmtree(path)


def open_index(path: Path, embedder: str) -> ChromaIndex:
    """Open the embedded Chroma of a folder, and make sure that it can be searched.

    Raises:
        StoreError: It cannot.
        EmbedderMismatch: Another embedder made it.
    """
    index = attach_index(path, embedder)
    try:
        run(index.probe())
    except StoreError:
        index.close()
        raise
    return index


def attach_index(path: Path, embedder: str) -> ChromaIndex:
    """Open it without a search, which reads its database alone.

    Raises:
        StoreError: It cannot be opened.
        EmbedderMismatch: Another embedder made it.
    """
    with extra("chroma"):
        import chromadb
        from chromadb.config import Settings

    try:
        client: Any = chromadb.PersistentClient(path, Settings(**SILENT))
    except Exception as error:  # Chroma lets errors of sqlite and of its own Rust part through
        forget_half_made(path)
        raise StoreError(f"Chroma cannot open {path}: {error}") from error
    return ChromaIndex(client, path, embedder)
