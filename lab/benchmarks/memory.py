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
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.rows import ROOT, Row, in_a_process, needed, peak_mb

CORPUS = "corpus_hotpotqa.jsonl.gz"
QUESTIONS = "multihop_hotpotqa_contexts.jsonl.gz"
RECORDS = 100_000
WIDTH, K = 384, 10


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

    from skr_core.types import Stamp
    from skr_learn.routers import KNNRouter
    from skr_learn.routers.base import Learnt

    matrix = np.random.default_rng(11).standard_normal((size, WIDTH), dtype=np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    np.save(Path(folder, "vectors.npy"), matrix)
    numbers = np.arange(size)
    benefit = np.where(numbers % 2, 1.0, -1.0)
    learnt = Learnt(tuple(map(str, numbers)), benefit, "single", Stamp(), frozenset())
    router = KNNRouter(learnt, matrix, rule="benefit", k=K, threshold=0.0, embedder=First(folder))
    router.save(Path(folder, "router"))


def with_router(folder: str) -> list[float]:
    """Megabytes of deciding by a saved router."""
    from skr_learn.routers import KNNRouter

    KNNRouter.load(Path(folder, "router"), embedder=First(folder)).decide("0")
    return [peak_mb()]


def with_numpy(folder: str) -> list[float]:
    """Megabytes of the same by a product."""
    import numpy as np

    matrix = np.load(Path(folder, "vectors.npy"))
    np.argpartition(matrix[:1] @ matrix.T, len(matrix) - K)
    return [peak_mb()]


class First:
    """An embedder by which every question is the first on record."""

    name = "first"

    def __init__(self, folder: str) -> None:
        self._path = Path(folder, "vectors.npy")

    def embed(self, texts: Sequence[str]) -> Any:
        """Read its vector, so that the others stay in the file."""
        import numpy as np

        return np.repeat(np.load(self._path, mmap_mode="r")[:1], len(texts), axis=0)

    async def aembed(self, texts: Sequence[str]) -> Any:
        """Async version of `embed`."""
        return self.embed(texts)


def evaluated(questions: str, corpus: str, limit: str) -> list[float]:
    """Megabytes of `skr evaluate`."""
    import resource

    command = [sys.executable, "-m", "skr_app", "evaluate", questions, "--corpus", corpus]
    command += ["--model", "extractive", "--limit", limit]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return [resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024]  # there is no other


def searched(questions: str, corpus: str, limit: str) -> list[float]:
    """Megabytes of one search a question, by bm25s."""
    import gzip

    import bm25s

    from skr_core.texts import words

    with gzip.open(corpus, "rt") as file:
        texts = [json.loads(line)["text"] for line in file]
    index = bm25s.BM25(method="lucene")
    index.index([words(text) for text in texts], show_progress=False)
    with gzip.open(questions, "rt") as file:
        for line in islice(file, int(limit)):
            asked = [words(json.loads(line)["question"])]
            index.retrieve(asked, k=10, show_progress=False)
    return [peak_mb()]
