"""Keyword search: BM25 over an index that grows a passage at a time.

Libraries for BM25 precompute scores and must start over when a passage is added; a store that
remembers what each question found would rebuild ten thousand passages for five new ones. Here the
postings hold plain counts, and the weights are computed from the current totals when a query
comes, so that an addition costs its own words only and the ranking is the one that a rebuilt
index gives, however its postings are parted.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from skr_store.counting import count_words, searched_words
from skr_store.postings import GrowingPostings, Postings, merged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Part = Postings | GrowingPostings

# Lucene's variant and its usual constants.
K1 = 1.2
B = 0.75


class BM25Index:
    """A BM25 index (Lucene's variant); safe to use from several threads.

    Args:
        parts: Postings that were kept; others are added in memory.

    Example:
        >>> index = BM25Index()
        >>> index.add([("a", "Paris is the capital of France"), ("b", "Rome is in Italy")])
        >>> [identity for identity, score in index.search("the capital of France", 10)]
        ['a']
    """

    def __init__(self, parts: Sequence[Postings] = ()) -> None:
        self._lock = threading.Lock()
        self._parts = list(parts)
        self._at_once: list[Postings] = []  # in memory alone, as the growing ones
        self._growing = GrowingPostings()
        self._words = sum(int(part.lengths.sum(dtype="uint64")) for part in parts)
        self._seen: set[str] | None = None

    def __len__(self) -> int:
        return sum(map(len, self._all()))

    def ids(self) -> Iterator[str]:
        """The ids of all passages, as they were added."""
        with self._lock:
            ids = [part.ids() for part in self._all()]
        yield from chain.from_iterable(ids)

    def add(self, passages: Iterable[tuple[str, str]]) -> None:
        """Add (id, text) pairs; an id that is already here is passed over."""
        if self._seen is None:
            self._seen = set(self.ids())
        for identity, text in passages:
            counts = Counter(searched_words(text))  # outside the lock: the slow part
            with self._lock:
                if identity not in self._seen:
                    self._seen.add(identity)
                    self._insert(identity, counts)

    def append(self, passages: Iterable[tuple[str, str]]) -> None:
        """Add (id, text) pairs whose ids are known to be new."""
        for identity, text in passages:
            counts = Counter(searched_words(text))
            with self._lock:
                self._insert(identity, counts)
                if self._seen is not None:
                    self._seen.add(identity)

    def extend(self, passages: Iterable[tuple[str, str]]) -> None:
        """Add (id, text) pairs whose ids are known to be new, all at once: quicker for many."""
        part = count_words(passages)
        with self._lock:
            self._at_once = [*self._in_memory(), part]
            self._growing = GrowingPostings()
            self._words += int(part.lengths.sum(dtype="uint64"))
            if self._seen is not None:
                self._seen.update(part.ids())

    def freeze(self) -> Postings:
        """Turn what is in memory alone into a part, and return it."""
        with self._lock:
            part = merged(self._in_memory() or [self._growing.freeze()])
            self._parts.append(part)
            self._at_once, self._growing = [], GrowingPostings()
        return part

    def replace_last(self, number: int, part: Postings) -> None:
        """Put a part with the same passages in the place of the last ones."""
        with self._lock:
            self._parts[len(self._parts) - number :] = [part]

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Rank passages for a query.

        Returns:
            At most `limit` pairs of id and score, best first, by id among equals, so that the
            order of additions changes nothing. A passage that shares no word with the query is
            left out.
        """
        import numpy as np

        with self._lock:
            self._merge()
            scored = self._scored(searched_words(query))
            best = _best([scores for _, scores in scored], limit)
            candidates = [
                (part.identity(place), float(scores[place]))
                for part, scores in scored
                for place in np.flatnonzero(scores >= best).tolist()
            ]
        return sorted(candidates, key=lambda each: (-each[1], each[0]))[:limit]

    def _all(self) -> list[Part]:
        return [*self._parts, *self._at_once, self._growing]

    def _in_memory(self) -> list[Postings]:
        """What is in memory alone, in parts that do not grow."""
        return [*self._at_once, *([self._growing.freeze()] if len(self._growing) else [])]

    def _merge(self) -> None:
        """Make one part of what was added at once, but of earlier parts of twice its length.

        Before a search and not with each addition, so that a hundred of them are merged once.
        """
        parts = self._at_once
        if len(parts) < 2:
            return
        start = len(parts) - 1
        length = len(parts[start])
        while start and len(parts[start - 1]) < 2 * length:
            start -= 1
            length += len(parts[start])
        if start < len(parts) - 1:
            self._at_once = [*parts[:start], merged(parts[start:])]

    def _insert(self, identity: str, counts: Counter[str]) -> None:
        self._growing.insert(identity, counts)
        self._words += counts.total()

    def _scored(self, query_words: list[str]) -> list[tuple[Part, NDArray[np.float32]]]:
        """The parts with the scores of their passages."""
        import numpy as np

        parts = [part for part in self._all() if len(part)]
        scored = [(part, np.zeros(len(part), np.float32)) for part in parts]
        total = sum(map(len, parts))
        mean = max(self._words / total, 1.0) if total else 1.0
        # Views of growing postings end with this call, before the lock is given back: an array that
        # is viewed cannot grow.
        for word, repeats in Counter(query_words).items():
            found = [part.find(word) for part in parts]
            number = sum(len(each[0]) for each in found if each)
            rarity = math.log(1 + (total - number + 0.5) / (number + 0.5))
            for (part, scores), each in zip(scored, found, strict=True):
                if each:
                    places, counts = each
                    damping = K1 * (1 - B + B * part.lengths[places] / mean)
                    scores[places] += repeats * rarity * counts / (counts + damping)
        return scored


def _best(scores: list[NDArray[np.float32]], limit: int) -> float:
    """The least score that is among the best, above nought."""
    import numpy as np

    some = [each[each > 0] for each in scores]
    found = np.concatenate(some) if some else np.zeros(0, np.float32)
    if not len(found):
        return math.inf
    limit = min(limit, len(found))
    return float(np.partition(found, -limit)[-limit])
