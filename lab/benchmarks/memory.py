"""Memory beside what is plainly held.

The most memory that a process holds, each in a fresh one. A kNN router of 100,000 records, saved
and loaded, which is asked one question, stands beside numpy with the same vectors in memory;
`skr evaluate` over 100 questions of HotpotQA, by one round and by the loop, beside a script that
reads the same corpus into bm25s and searches for each question once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from benchmarks.rows import ROOT, Row, in_a_process, needed, peak_mb

CORPUS = "corpus_hotpotqa.jsonl.gz"
QUESTIONS = "multihop_hotpotqa_contexts.jsonl.gz"
RECORDS = 100_000


def rows(quick: bool) -> Iterator[Row]:
    """A router, and an evaluation."""
    questions, corpus = needed(QUESTIONS, CORPUS)
    size, asked = (2_000, 10) if quick else (RECORDS, 100)
    with tempfile.TemporaryDirectory() as folder:
        save_router(folder, size)
        [ours] = in_a_process("benchmarks.memory:with_router", folder)
        [theirs] = in_a_process("benchmarks.memory:with_numpy", folder)
    yield Row("a router that decides", ours, "MB", "numpy's product", theirs, size, "records")
    [ours] = in_a_process("benchmarks.memory:evaluated", questions, corpus, asked)
    [theirs] = in_a_process("benchmarks.memory:searched", questions, corpus, asked)
    what = "`skr evaluate`"
    yield Row(what, ours, "MB", "reading and searching with bm25s", theirs, asked, "questions")


def save_router(folder: str, size: int) -> None:
    """Save a router, and its vectors for the peer."""
    import numpy as np

    from benchmarks.nearest import made_up, near_to, router_of

    matrix = made_up(size)
    np.save(Path(folder, "vectors.npy"), matrix)
    router_of(matrix, near_to(matrix, 1), approximate=False).save(Path(folder, "router"))


def with_router(folder: str) -> list[float]:
    """Megabytes of deciding by a saved router."""
    import numpy as np

    from benchmarks.nearest import Given
    from skr_learn.routers import KNNRouter

    first = np.load(Path(folder, "vectors.npy"), mmap_mode="r")[:1]
    router = KNNRouter.load(Path(folder, "router"), embedder=Given(np.array(first)))
    router.decide("0")
    return [peak_mb()]


def with_numpy(folder: str) -> list[float]:
    """Megabytes of the same by a product."""
    import numpy as np

    from benchmarks.nearest import by_product

    matrix = np.load(Path(folder, "vectors.npy"))
    by_product(matrix, matrix[:1])
    return [peak_mb()]


def evaluated(questions: str, corpus: str, limit: str) -> list[float]:
    """Megabytes of `skr evaluate`."""
    import resource

    command = [sys.executable, "-m", "skr_app", "evaluate", questions, "--corpus", corpus]
    subprocess.run([*command, "--limit", limit], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return [resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024]  # there is no other


def searched(questions: str, corpus: str, limit: str) -> list[float]:
    """Megabytes of one search a question, by bm25s."""
    import gzip

    import bm25s

    from skr_store.counting import searched_words

    with gzip.open(corpus, "rt") as file:
        texts = [json.loads(line)["text"] for line in file]
    index = bm25s.BM25(method="lucene")
    index.index([searched_words(text) for text in texts], show_progress=False)
    with gzip.open(questions, "rt") as file:
        for line in islice(file, int(limit)):
            asked = [searched_words(json.loads(line)["question"])]
            index.retrieve(asked, k=10, show_progress=False)
    return [peak_mb()]
