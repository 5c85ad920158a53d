"""LangChain's embeddings behind the port."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from skr_core.errors import InputError
from skr_core.models.embedders import AdaptedEmbedder
from skr_core.ports import Embedder


def as_embedder(embedder: Embeddings | Embedder, *, name: str | None = None) -> Embedder:
    """Make an `Embedder` of LangChain's embeddings.

    Args:
        embedder: The embeddings, or an `Embedder`, which is passed through.
        name: The name that identifies its vectors; by default its model's id, or its class's name.

    Raises:
        InputError: It is none of these.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> as_embedder(DeterministicFakeEmbedding(size=4)).name
        'DeterministicFakeEmbedding'
    """
    if isinstance(embedder, Embeddings):
        named = name or getattr(embedder, "model", None) or getattr(embedder, "model_name", None)
        named = named if isinstance(named, str) else type(embedder).__name__
        return AdaptedEmbedder(named, embedder.embed_documents, embedder.aembed_documents)
    given: object = embedder
    if isinstance(given, Embedder):
        return given
    raise InputError(f"embeddings of LangChain are wanted, not {type(given).__name__}")
