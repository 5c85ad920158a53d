"""Adding references to a store: embedded, recorded, and given to the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skr_core.flow import Flow, call
from skr_core.types import Reference
from skr_store.chroma_index import BATCH_SIZE, ChromaIndex
from skr_store.storable import searchable_text as searchable
from skr_store.storable import storable_reference

if TYPE_CHECKING:
    from skr_core.ports import Embedder
    from skr_store.folder import StoreFolder


def add_new(
    references: Sequence[Reference],
    index: ChromaIndex,
    embedder: Embedder,
    folder: StoreFolder | None,
) -> Flow[int]:
    """Add what the index lacks, in the journal of a folder first; blank texts are passed over.

    Returns:
        How many were new.

    Raises:
        InputError: Metadata are not flat values; then nothing is kept.
        StoreError: They could not be kept.
    """
    added = 0
    items = [storable_reference(item) for item in references if item.text.strip()]
    for start in range(0, len(items), BATCH_SIZE):
        batch = {item.id: item for item in items[start : start + BATCH_SIZE]}
        # What the journal of a folder has not, its index has not either.
        recorded = batch if folder is None else batch.keys() & folder.journal.ids.keys()
        known = yield from index.known(list(recorded))
        new = [item for item in batch.values() if item.id not in known]
        if not new:
            continue
        texts = [searchable(item) for item in new]
        vectors = yield from call(embedder.embed, embedder.aembed, texts)
        if folder is None:
            yield from index.insert(new, vectors)
        else:
            with folder.writing():
                folder.record(new)
                yield from index.insert(new, vectors, folder.check_size)
        added += len(new)
    return added
