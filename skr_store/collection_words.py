"""The words of a Chroma collection to which others may add, read from it before each search."""

from __future__ import annotations

import threading
from itertools import chain, islice

from skr_core.flow import Flow, run
from skr_store.bm25 import BM25Index
from skr_store.chroma_index import BATCH_SIZE, ChromaIndex, in_thread

AT_ONCE = 20_000
"""Passages whose words are counted together."""


class CollectionWords:
    """A keyword index in memory, of what a collection holds.

    Args:
        index: The collection.
    """

    def __init__(self, index: ChromaIndex) -> None:
        self._index, self._words = index, BM25Index()
        self._reading = threading.Lock()

    def search(self, query: str, limit: int) -> Flow[list[tuple[str, float]]]:
        """As `BM25Index.search`, over all that the collection holds by now."""
        total = yield from self._index.count()
        if total != len(self._words):
            # The whole in one thread, which awaits nothing while it holds the lock: neither a
            # cancelled task nor a pool of threads that all wait can keep the lock for ever.
            yield from in_thread(self._catch_up)
        return (yield from in_thread(self._words.search, query, limit))

    def _catch_up(self) -> None:
        with self._reading:
            if run(self._index.count()) == len(self._words):
                return
            there, read = run(self._index.known()), set(self._words.ids())
            if read - there:  # somebody has deleted from the collection
                self._words, read = BM25Index(), set()
            missing = iter(there - read)
            while some := list(islice(missing, AT_ONCE)):
                found = chain.from_iterable(
                    run(self._index.worded(some[start : start + BATCH_SIZE]))
                    for start in range(0, len(some), BATCH_SIZE)
                )
                add = self._words.extend if len(some) > BATCH_SIZE else self._words.append
                add(found)
