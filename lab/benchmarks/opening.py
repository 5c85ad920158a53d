"""Searching by words beside bm25s' mapped index.

Passages of 80 words, Zipfian, are put into a store and into an index that bm25s saves. Each is
opened in a fresh process and asked: the first answer, queries after it, and the most memory that
the process held. bm25s gives back numbers of passages, a store the passages themselves, after it
has looked whether its files are whole. What is imported is in none of the seconds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.rows import Row, in_a_process, peak_mb

VOCABULARY = 200_000
WORDS_A_PASSAGE = 80
BATCH = 1_000
SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUESTION = "word7 word130 word999 word17 word40321"
QUERIES = 50


def rows(quick: bool) -> Iterator[Row]:
    """By the number of passages."""
    for size in (300, 1_000) if quick else SIZES:
        with tempfile.TemporaryDirectory() as folder:
            store(folder, size)
            mapped(folder, size)
            found: dict[str, list[list[float]]] = {"open_store": [], "open_bm25s": []}
            for _ in range(1 if quick else 3):
                for name, each in found.items():
                    each.append(in_a_process(f"benchmarks.opening:{name}", folder))
        ours, theirs = (
            [median(figures) for figures in zip(*each, strict=True)] for each in found.values()
        )
        told = [("first answer after opening", "s"), ("a query", "ms"), ("memory", "MB")]
        for (what, unit), one, other in zip(told, ours, theirs, strict=True):
            yield Row(what, one, unit, "bm25s, mapped", other, size, "passages")


def store(folder: str, number: int) -> None:
    """Put passages into a store."""
    from skr_core.types import Reference
    from skr_store.chroma_store import ChromaStore

    with ChromaStore.open(Path(folder, "store")) as made:
        texts = passages(number)
        while batch := [Reference.of(text) for text in islice(texts, BATCH)]:
            made.add(batch)


def mapped(folder: str, number: int) -> None:
    """Put the same into an index of bm25s'."""
    import bm25s

    from skr_store.bm25 import K1, B
    from skr_store.counting import searched_words

    index = bm25s.BM25(method="lucene", k1=K1, b=B)
    # Each word once in memory: a million passages are 80 million of them.
    words = [[*map(sys.intern, searched_words(text))] for text in passages(number)]
    index.index(words, show_progress=False)
    index.save(Path(folder, "bm25s"))


def passages(number: int) -> Iterator[str]:
    """Of words drawn by Zipf's law, always the same."""
    draw = np.random.default_rng(7)
    shares = 1 / np.arange(1, VOCABULARY + 1)
    bounds = np.cumsum(shares / shares.sum())
    for start in range(0, number, BATCH):
        drawn = np.searchsorted(bounds, draw.random((min(BATCH, number - start), WORDS_A_PASSAGE)))
        for row in drawn.tolist():
            yield " ".join(f"word{each}" for each in row)


def open_store(folder: str) -> tuple[float, float, float]:
    """Seconds to the first answer, milliseconds of a query, megabytes."""
    import chromadb  # noqa: F401

    from skr_store.chroma_store import ChromaStore

    begin = time.perf_counter()
    with ChromaStore.open(Path(folder, "store")) as opened:
        assert len(opened.retrieve(QUESTION)) == 10
        first = time.perf_counter() - begin
        return first, _a_query(opened.retrieve), peak_mb()


def open_bm25s(folder: str) -> tuple[float, float, float]:
    """The same of bm25s."""
    import bm25s

    from skr_store.counting import searched_words

    begin = time.perf_counter()
    index = bm25s.BM25.load(Path(folder, "bm25s"), mmap=True)

    def search(query: str) -> Any:
        return index.retrieve([searched_words(query)], k=10, show_progress=False)[0]

    assert search(QUESTION).shape == (1, 10)
    first = time.perf_counter() - begin
    return first, _a_query(search), peak_mb()


def _a_query(search: Callable[[str], Any]) -> float:
    seconds = []
    for number in range(QUERIES):
        begin = time.perf_counter()
        search(f"word{number} word{3 * number} word{100 + number} word{1_000 + 7 * number}")
        seconds.append(time.perf_counter() - begin)
    return 1_000 * median(seconds)
