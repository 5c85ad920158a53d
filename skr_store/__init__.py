"""From files to passages, and from a query to passages."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_store.database import Source as Source
    from skr_store.ingestion import IngestReport as IngestReport
    from skr_store.ingestion import ingest as ingest
    from skr_store.store import Store as Store
    from skr_store.store import StoreView as StoreView

_MODULES = {
    "IngestReport": "skr_store.ingestion",
    "Source": "skr_store.database",
    "Store": "skr_store.store",
    "StoreView": "skr_store.store",
    "ingest": "skr_store.ingestion",
}

__all__ = ["IngestReport", "Source", "Store", "StoreView", "ingest"]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
