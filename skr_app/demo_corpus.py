"""The demonstration's corpus, which ships with the package, and a question that needs two of it."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_core.ports import OnProgress
    from skr_core.store.chroma_store import ChromaStore

QUESTION = "In which town was the engineer who designed the Marrow Bay lighthouse born?"
REFERENCES_A_QUERY = 4
"""So few that the small corpus does not come back whole."""


def demo_store(on_progress: OnProgress | None = None) -> ChromaStore:
    """Ingest the corpus into a store in memory."""
    from skr_core.ingest.ingestion import ingest
    from skr_core.store.chroma_store import ChromaStore

    store = ChromaStore.ephemeral(k=REFERENCES_A_QUERY)
    with as_file(files("skr_app") / "demo") as folder:
        ingest([folder], store, on_progress=on_progress)
    return store
