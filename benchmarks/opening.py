"""How long a store takes from being opened to its first answer, beside bm25s' mapped index.

Passages of Zipfian words are put into a store and into an index that bm25s saves. Each is then
opened in fresh processes in turn, and asked one question; medians are compared. bm25s gives back
numbers of passages, a store the passages themselves, after it has looked whether its files are
whole. What is imported is not counted.

Usage: python -m benchmarks.opening [--passages 10000 100000] [--repetitions 3]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median

import bm25s
import numpy as np

from skr_core.store.bm25 import K1, B, searched_words
from skr_core.store.chroma_store import ChromaStore
from skr_core.types import Reference

VOCABULARY = 200_000
WORDS_A_PASSAGE = 80
BATCH = 1_000
QUESTION = "word7 word130 word999 word17 word40321"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passages", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--repetitions", type=int, default=3, help="of each of the two")
    parser.add_argument("--only", nargs=2, help="open one of them, as it is in a fresh process")
    options = parser.parse_args()
    if options.only:
        print(opened(*options.only))
        return
    for number in options.passages:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(compare(Path(folder), number, options.repetitions)), flush=True)


def compare(folder: Path, number: int, repetitions: int) -> dict[str, float]:
    begin = time.perf_counter()
    with ChromaStore.open(folder / "store") as store:
        texts = passages(number)
        while batch := [Reference.of(text) for text in islice(texts, BATCH)]:
            store.add(batch)
    made = time.perf_counter() - begin
    index = bm25s.BM25(method="lucene", k1=K1, b=B)
    index.index([searched_words(text) for text in passages(number)], show_progress=False)
    index.save(folder / "bm25s")
    del index
    seconds: dict[str, list[float]] = {"store": [], "bm25s": []}
    for _ in range(repetitions):
        for name, times in seconds.items():
            command = [sys.executable, "-m", "benchmarks.opening", "--only", name, str(folder)]
            times.append(float(subprocess.check_output(command)))
    ours, theirs = (median(times) for times in seconds.values())
    return {
        "passages": number,
        "adds_per_s": round(number / made, 1),
        "store_s": round(ours, 3),
        "bm25s_s": round(theirs, 3),
        "ratio": round(ours / theirs, 2),
    }


def passages(number: int) -> Iterator[str]:
    draw = np.random.default_rng(7)
    shares = 1 / np.arange(1, VOCABULARY + 1)
    bounds = np.cumsum(shares / shares.sum())
    for _ in range(0, number, BATCH):
        drawn = np.searchsorted(bounds, draw.random((BATCH, WORDS_A_PASSAGE)))
        for row in drawn.tolist():
            yield " ".join(f"word{each}" for each in row)


def opened(name: str, folder: str) -> float:
    import chromadb  # noqa: F401

    begin = time.perf_counter()
    if name == "store":
        with ChromaStore.open(Path(folder, "store")) as store:
            assert len(store.retrieve(QUESTION)) == 10
            return time.perf_counter() - begin
    index = bm25s.BM25.load(Path(folder, "bm25s"), mmap=True)
    places, _ = index.retrieve([searched_words(QUESTION)], k=10, show_progress=False)
    assert places.shape == (1, 10)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
