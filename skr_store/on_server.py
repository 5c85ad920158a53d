"""A collection on a Chroma server, with the embedder that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skr_core.models.embedders import default_embedder, probe
from skr_store.chroma_index import ChromaIndex, maker_of
from skr_store.connection import close_client, connect_server

if TYPE_CHECKING:
    from skr_core.ports import Embedder


def open_on_server(
    url: str, collection: str, embedder: Embedder | None
) -> tuple[ChromaIndex, Embedder]:
    """Open a collection, or make it.

    Args:
        url: Of the server.
        collection: Its name.
        embedder: Of the collection; where none is given `default_embedder` says which.

    Raises:
        InputError: `url` is not an address.
        StoreError: No Chroma answers there.
        EmbedderMismatch: The collection was made by another embedder.
    """
    client, open_awaitably = connect_server(url, collection)
    try:
        embedder = embedder or default_embedder(maker_of(client, url, collection))
        probe(embedder)  # a new collection is marked with its name for good
    except BaseException:
        close_client(client)
        raise
    return ChromaIndex(client, url, embedder.name, collection, open_awaitably), embedder
