"""NgramEmbedder: hashed words and letters as sparse vectors, for comparing questions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from skr_core.texts import encodable

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_matrix

# Everything that changes a vector stands here; a change needs a new version in the name.
BITS = 17  # of each half: at 131,072 places, a few hundred thousand n-grams hardly collide
SHARED = {"n_features": 2**BITS, "alternate_sign": False, "norm": "l2"}
WORDS = {"ngram_range": (1, 2)}
LETTERS = {"analyzer": "char_wb", "ngram_range": (3, 5)}


class NgramEmbedder:
    """Half words and word pairs, half runs of 3 to 5 letters; no model, no download.

    Unlike the `HashingEmbedder` of stores it keeps "who", "when" and other small words, which say
    more about whether a model knows the answer than about where it stands. Rows are sparse, so
    that a hundred thousand questions fit into memory.

    Attributes:
        name: Records the parameters, ``ngrams-17-v1``.

    Example:
        >>> vectors = NgramEmbedder().embed(["Who wrote Emma?", "Who wrote Persuasion?"])
        >>> vectors.shape
        (2, 262144)
        >>> bool((vectors @ vectors.T)[0, 1] > 0.3)
        True
    """

    name = f"ngrams-{BITS}-v1"

    def embed(self, texts: Sequence[str]) -> csr_matrix[np.float32]:
        """Embed texts.

        Returns:
            Sparse, shape (n, 262144), float32, rows of length 1; a text without a word has none.
        """
        import numpy as np
        from scipy import sparse

        if not texts:
            return sparse.csr_matrix(np.zeros((0, 2 ** (BITS + 1)), dtype=np.float32))
        told = [encodable(text) for text in texts]
        halves = sparse.hstack([half.transform(told) for half in self._vectorizers])
        # Each half has length 1; together they shall have it too.
        return sparse.csr_matrix(halves * np.float32(np.sqrt(0.5)))

    async def aembed(self, texts: Sequence[str]) -> csr_matrix[np.float32]:
        """`embed` in a thread, because it is work for the processor and nothing to wait for."""
        return await asyncio.to_thread(self.embed, texts)

    @cached_property
    def _vectorizers(self) -> tuple[Any, Any]:
        import numpy as np
        from sklearn.feature_extraction.text import HashingVectorizer

        return (
            HashingVectorizer(dtype=np.float32, **SHARED, **WORDS),
            HashingVectorizer(dtype=np.float32, **SHARED, **LETTERS),
        )
