"""Embedders: one that needs no download, sentence-transformers models, other libraries', none."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from skr_core._compat import cached_property, renew_connections_in_children
from skr_core.errors import InputError, ModelError, extra, translated
from skr_core.texts import WORD, encodable

if TYPE_CHECKING:
    from skr_core.ports import Embedder, Vectors

DIMENSIONS = 1024
# Everything that changes a vector is listed here; a change needs a new version in the name.
HASHING = {
    "n_features": DIMENSIONS,
    "lowercase": True,
    "token_pattern": WORD,
    "ngram_range": (1, 2),
    "stop_words": "english",
    "alternate_sign": True,  # collisions cancel out on average instead of adding up
    "norm": "l2",
}
HASHING_NAME = f"hashing-{DIMENSIONS}-v1"
SENTENCE_TRANSFORMERS = "sentence-transformers:"
BATCH_SIZE = 32


class HashingEmbedder:
    """Hashed words and word pairs: no model, no download, the same vectors everywhere.

    It finds shared words, not shared meaning, so a store lets keyword search lead (see
    `fusion_weight`), and makes no vectors where none are asked for. Use
    `SentenceTransformerEmbedder` or a hosted model for meaning.

    Attributes:
        name: Records the parameters, ``hashing-1024-v1``.
        fusion_weight: Weight of this embedder's ranking beside BM25's, whose weight is 1. Both see
            the same words, and BM25 weighs them better; at 1 the fusion loses 6 points of
            recall@10 on HotpotQA, here it settles ties and fills up.

    Example:
        >>> HashingEmbedder().embed(["Paris is in France.", "Rome is in Italy."]).shape
        (2, 1024)
    """

    name = HASHING_NAME
    fusion_weight = 0.02

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts.

        Returns:
            Shape (n, 1024), float32, rows of length 1.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        vectors: Vectors = self._vectorizer.transform([encodable(text) for text in texts]).toarray()
        # A text without any word has no direction of its own; all of them share one.
        vectors[~vectors.any(axis=1), 0] = 1.0
        return vectors

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """Async version of `embed`, in a thread, because it is work for the processor."""
        return await asyncio.to_thread(self.embed, texts)

    @cached_property
    def _vectorizer(self) -> Any:
        import numpy as np

        with extra("learning"):
            from sklearn.feature_extraction.text import HashingVectorizer

        return HashingVectorizer(dtype=np.float32, **HASHING)


class SentenceTransformerEmbedder:
    """A sentence-transformers model, loaded at the first call.

    Args:
        model_name_or_path: A name on the hub, which is downloaded, or a folder.

    Attributes:
        name: Identifies the vectors: the last part of the name or folder.
        source: The name or folder itself, from which the embedder can be made again.

    Raises:
        InputError: The name is blank; or, at the first call, the model cannot be loaded.
        MissingDependency: sentence-transformers is not installed; raised at the first call.

    Example:
        >>> SentenceTransformerEmbedder("sentence-transformers/all-MiniLM-L6-v2").name
        'sentence-transformers:all-MiniLM-L6-v2'
    """

    def __init__(self, model_name_or_path: str) -> None:
        if not model_name_or_path.strip():
            raise InputError("the embedder has no name: give a model's name or folder")
        self.source = model_name_or_path
        # The last part alone: the same model in another folder makes the same vectors.
        self.name = f"{SENTENCE_TRANSFORMERS}{model_name_or_path.rstrip('/').rsplit('/', 1)[-1]}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, 32 at a time.

        Returns:
            Shape (n, d), float32, rows of length 1; d is the model's.
        """
        vectors: Vectors = self._model.encode(
            [encodable(text) for text in texts],
            batch_size=BATCH_SIZE,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return vectors.astype("float32", copy=False)

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """Async version of `embed`, in a thread, because a local model computes."""
        return await asyncio.to_thread(self.embed, texts)

    @cached_property
    def _model(self) -> Any:
        with extra("local"):
            from sentence_transformers import SentenceTransformer
        one_thread_in_children()
        try:
            return SentenceTransformer(self.source)
        except Exception as error:  # of the hub, of torch, of the folder: whatever is wrong
            reason = (str(error).strip() or type(error).__name__).split("\n", 1)[0]
            raise InputError(
                f"cannot load embedder {self.source!r}: {reason} (give the name or "
                f"the folder of a sentence-transformers model)"
            ) from error


class AdaptedEmbedder:
    """Another library's embedder behind the port; its vectors are brought to length 1.

    Args:
        name: The name that identifies the vectors, such as ``openai:text-embedding-3-small``.
        embed: The call that embeds texts.
        aembed: Its async version.

    Raises:
        ModelError: While embedding: it failed, or returned no vector for each text.

    Example:
        >>> async def twos(texts):
        ...     return [[0.0, 2.0] for text in texts]
        >>> embedder = AdaptedEmbedder("two", lambda texts: [[0.0, 2.0] for text in texts], twos)
        >>> embedder.embed(["Paris"]).tolist()
        [[0.0, 1.0]]
    """

    def __init__(
        self,
        name: str,
        embed: Callable[[list[str]], Sequence[Sequence[float]]],
        aembed: Callable[[list[str]], Awaitable[Sequence[Sequence[float]]]],
    ) -> None:
        self.name, self._embed, self._aembed = name, embed, aembed
        renew_connections_in_children(self)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vector of each text, shape (n, d), rows of length 1."""
        with translated(ModelError, self.name):
            return _unit_rows(self._embed([encodable(text) for text in texts]), len(texts))

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """Async version of `embed`."""
        with translated(ModelError, self.name):
            return _unit_rows(await self._aembed([encodable(text) for text in texts]), len(texts))


def _unit_rows(vectors: Sequence[Sequence[float]], n: int) -> Vectors:
    import numpy as np

    rows = np.asarray(vectors, dtype=np.float32).reshape(n, -1)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vectors = rows / np.maximum(lengths, np.finfo(np.float32).tiny)
    return unit


class NoEmbedder:
    """Stands where texts are found by their words alone: all of them have the same vector.

    Chroma keeps no text without a vector; this one takes 4 bytes.

    Attributes:
        name: ``none``.

    Example:
        >>> NoEmbedder().embed(["Paris", "Rome"]).tolist()
        [[1.0], [1.0]]
    """

    name = "none"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vector of each text, shape (n, 1)."""
        import numpy as np

        return np.ones((len(texts), 1), np.float32)

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """Async version of `embed`."""
        return self.embed(texts)


def default_embedder(maker: str | None) -> Embedder:
    """Return the embedder of a store for which none was given.

    Args:
        maker: The embedder's name in a store that is there already.

    Example:
        >>> default_embedder(None).name, default_embedder("hashing-1024-v1").name
        ('none', 'hashing-1024-v1')
    """
    return HashingEmbedder() if maker == HASHING_NAME else NoEmbedder()


def make_embedder(name: str) -> Embedder:
    """Make the embedder of a name.

    Args:
        name: ``hashing``, or the name or folder of a sentence-transformers model.

    Raises:
        InputError: The name is blank.

    Example:
        >>> make_embedder("hashing").name
        'hashing-1024-v1'
    """
    if name in ("hashing", HASHING_NAME):
        return HashingEmbedder()
    return SentenceTransformerEmbedder(name)


def probe(embedder: Embedder) -> None:
    """Embed one text, so that an embedder that does not work fails before a store is changed."""
    embedder.embed(["probe"])


@cache
def one_thread_in_children() -> None:
    """Have torch, which is loaded, compute with one thread in every forked child.

    With more it would wait there for threads that did not come along (torch 2.13, GNU's OpenMP).
    """
    import torch

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))
