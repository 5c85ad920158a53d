"""Keyword search: BM25 over an index that grows a passage at a time.

Libraries for BM25 precompute scores and must start over when a passage is added; a store that
remembers what each question found would rebuild ten thousand passages for five new ones. Here the
postings hold plain counts, and the weights are computed from the current totals when a query
comes, so that an addition costs its own words only and the ranking is the one that a rebuilt
index gives.
"""

from __future__ import annotations

import math
import re
import threading
from array import array
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from skr_core.texts import words as all_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Lucene's variant and its usual constants.
K1 = 1.2
B = 0.75
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for if in into is it no not of on or such that the their "
        "then there these they this to was will with",
    )
)


def searched_words(text: str) -> list[str]:
    """Split a text into the words that keyword search sees.

    Example:
        >>> searched_words("The Eiffel Tower, 巴黎")
        ['eiffel', 'tower', '巴', '黎']
    """
    return [word for word in all_words(text) if word not in STOP_WORDS]


class BM25Index:
    """An in-memory BM25 index (Lucene's variant); safe to use from several threads.

    Example:
        >>> index = BM25Index()
        >>> index.add([("a", "Paris is the capital of France"), ("b", "Rome is in Italy")])
        >>> [identity for identity, score in index.search("the capital of France", 10)]
        ['a']
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: list[str] = []
        self._seen: set[str] = set()
        self._lengths = array("I")
        self._postings: dict[str, tuple[array[int], array[int]]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, passages: Iterable[tuple[str, str]]) -> None:
        """Add (id, text) pairs; an id that is already here is passed over."""
        for identity, text in passages:
            counts = Counter(searched_words(text))  # outside the lock: the slow part
            with self._lock:
                if identity not in self._seen:
                    self._insert(identity, counts)

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Rank passages for a query.

        Returns:
            At most `limit` pairs of id and score, best first, by id among equals, so that the
            order of additions changes nothing. A passage that shares no word with the query is
            left out.
        """
        import numpy as np

        with self._lock:
            scores = self._scores(searched_words(query))
            ids = self._ids
        limit = min(limit, int(np.count_nonzero(scores)))
        if limit == 0:
            return []
        least = np.partition(scores, -limit)[-limit]
        candidates = [(ids[i], float(scores[i])) for i in np.flatnonzero(scores >= least).tolist()]
        return sorted(candidates, key=lambda each: (-each[1], each[0]))[:limit]

    def _insert(self, identity: str, counts: Counter[str]) -> None:
        place = len(self._ids)
        self._ids.append(identity)
        self._seen.add(identity)
        self._lengths.append(counts.total())
        for word, count in counts.items():
            posting = self._postings.get(word)
            if posting is None:
                posting = self._postings[word] = (array("I"), array("I"))
            posting[0].append(place)
            posting[1].append(count)

    def _scores(self, query_words: list[str]) -> NDArray[np.float32]:
        import numpy as np

        total = len(self._ids)
        scores = np.zeros(total, np.float32)
        if not total:
            return scores
        # The views end with this call, before the lock is given back: an array that is viewed
        # cannot grow.
        lengths = np.frombuffer(self._lengths, np.uint32)
        damping = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0))
        for word, repeats in Counter(query_words).items():
            if (posting := self._postings.get(word)) is None:
                continue
            places = np.frombuffer(posting[0], np.uint32)
            counts = np.frombuffer(posting[1], np.uint32)
            rarity = math.log(1 + (total - len(places) + 0.5) / (len(places) + 0.5))
            scores[places] += repeats * rarity * counts / (counts + damping[places])
        return scores
