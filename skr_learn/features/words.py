"""Words of many texts, counted once for all who learn from some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import extra

FEWEST = 2
"""Texts that hold a word, or nothing is learnt about it."""
MOST_WORDS = 20_000


@dataclass(frozen=True)
class WordCounts:
    """How often each text holds each word.

    Attributes:
        words: The words in alphabetical order, shape (w,).
        counts: A sparse matrix of shape (n, w), by rows.

    Example:
        >>> counted = WordCounts.of([["a", "b"], ["a"], ["a", "c"]])
        >>> words, frequencies, weights = counted.weighed()
        >>> words, weights.shape
        (['a'], (3, 1))
    """

    words: NDArray[np.object_]
    counts: Any

    @classmethod
    def of(cls, tokens: Sequence[Sequence[str]]) -> WordCounts:
        """Count the words of n texts."""
        with extra("learning"):
            from scipy import sparse
        words = sorted({word for text in tokens for word in text})
        places = {word: place for place, word in enumerate(words)}
        columns = [places[word] for text in tokens for word in text]
        starts = np.cumsum([0, *map(len, tokens)])
        counts = sparse.csr_matrix(
            (np.ones(len(columns)), columns, starts), shape=(len(tokens), len(words))
        )
        counts.sum_duplicates()
        return cls(np.array(words, dtype=object), counts)

    def __getitem__(self, rows: NDArray[Any]) -> WordCounts:
        return WordCounts(self.words, self.counts[rows])

    def weighed(self) -> tuple[list[str], NDArray[np.float64], Any]:
        """Weigh the words as scikit-learn's TF-IDF does, with the logarithm of the counts.

        Returns:
            The k words that enough of the texts hold, their inverse document frequencies, shape
            (k,), and a sparse matrix of the weights, shape (n, k).
        """
        with extra("learning"):
            from sklearn.feature_extraction.text import TfidfTransformer
        texts = np.bincount(self.counts.indices, minlength=len(self.words))
        kept = np.flatnonzero(texts >= FEWEST)
        if len(kept) > MOST_WORDS:  # the most frequent; of equally frequent ones the first
            kept = np.sort(kept[np.argsort(-texts[kept], kind="stable")[:MOST_WORDS]])
        if not len(kept):
            return [], np.zeros(0), self.counts[:, kept]
        transformer = TfidfTransformer(sublinear_tf=True)
        weights = transformer.fit_transform(self.counts[:, kept])
        frequencies = np.asarray(transformer.idf_, dtype=np.float64)
        return self.words[kept].tolist(), frequencies, weights
