"""LlamaIndex's embedding models behind the port."""

from __future__ import annotations

from llama_index.core.base.embeddings.base import BaseEmbedding

from skr_core.errors import InputError
from skr_core.models.embedders import AdaptedEmbedder
from skr_core.ports import Embedder


def as_embedder(embedder: BaseEmbedding | Embedder, *, name: str | None = None) -> Embedder:
    """Make an `Embedder` of an embedding model of LlamaIndex.

    Args:
        embedder: The model, or an `Embedder`, which is passed through.
        name: The name that identifies its vectors; by default the model's id, or its class's name.

    Raises:
        InputError: It is none of these.

    Example:
        >>> from llama_index.core.embeddings import MockEmbedding
        >>> as_embedder(MockEmbedding(embed_dim=4)).name
        'MockEmbedding'
    """
    if isinstance(embedder, BaseEmbedding):
        named = name or embedder.model_name
        named = type(embedder).__name__ if named == "unknown" else named
        return AdaptedEmbedder(
            named, embedder.get_text_embedding_batch, embedder.aget_text_embedding_batch
        )
    given: object = embedder
    if isinstance(given, Embedder):
        return given
    raise InputError(f"an embedding model of LlamaIndex is wanted, not {type(given).__name__}")
