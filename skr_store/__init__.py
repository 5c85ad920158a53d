"""From files to passages, and from a query to passages."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_store.chroma_store import ChromaStore as ChromaStore
    from skr_store.ingestion import ingest as ingest

_MODULES = {
    "ChromaStore": "skr_store.chroma_store",
    "ingest": "skr_store.ingestion",
}

__all__ = ["ChromaStore", "ingest"]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
