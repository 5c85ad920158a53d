"""Searching a served store beside its folder.

Passages of a hundred random words each are put into a folder that is searched by words, and into
one that is searched by words and by the vectors of `HashingEmbedder`. A fresh process opens the
folder and searches; another asks a server that serves the same folder. The first search of a
server's collection reads the words of all of it; what is imported and opened is in none of the
seconds. The last rows are what a folder takes on the disk, beside its passages as JSON Lines.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.rows import Row, in_a_process
from skr_core.models.embedders import HashingEmbedder
from skr_store import Store
from skr_store.ingestion import ingest
from skr_store.server import serve
from tests.servers import reserved_port

SIZES = {"words": (1_000, 10_000, 30_000, 100_000), "words and vectors": (1_000, 10_000)}
SEARCHES = 50
VOCABULARY = [f"word{number}" for number in range(50_000)]


def rows(quick: bool) -> Iterator[Row]:
    """By how it is searched, and the number of passages."""
    on_disk = []
    for kind, sizes in SIZES.items():
        for size in (300,) if quick else sizes:
            with tempfile.TemporaryDirectory() as place:
                corpus, folder = Path(place, "corpus.jsonl"), Path(place, "store")
                write_corpus(corpus, size)
                embedder = None if kind == "words" else HashingEmbedder()
                with Store.open(folder, embedder=embedder) as store:
                    ingest([corpus], store)
                theirs = in_a_process("benchmarks.served:searched", folder)
                with reserved_port() as port, serve(folder, port=port):
                    ours = in_a_process("benchmarks.served:searched", f"http://127.0.0.1:{port}")
                taken = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
                on_disk.append((kind, size, taken / 1e6, corpus.stat().st_size / 1e6))
            told = [("first search", "s"), ("a search", "ms"), ("memory to search", "MB")]
            for (what, unit), one, other in zip(told, ours, theirs, strict=True):
                yield Row(f"{what}, {kind}", one, unit, "the folder", other, size, "passages")
    for kind, size, taken, plain in on_disk:
        yield Row(f"on the disk, {kind}", taken, "MB", "JSON Lines", plain, size, "passages")


def searched(place: str) -> tuple[float, float, float]:
    """Seconds of the first search, milliseconds of one after it, megabytes for all."""
    before = resident_mb()
    with (Store.connect if "://" in place else Store.open)(place) as store:
        first = seconds(store, 1)
        after = median(seconds(store, number) for number in range(2, SEARCHES))
        return first, 1_000 * after, resident_mb() - before


def seconds(store: Store, number: int) -> float:
    begin = time.perf_counter()
    store.retrieve(f"word{number} word{number + 1} word{number + 2}")
    return time.perf_counter() - begin


def resident_mb() -> float:
    """What this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def write_corpus(path: Path, count: int) -> None:
    """Passages of a hundred random words, always the same."""
    draw = random.Random(3)
    with path.open("w") as file:
        for number in range(count):
            text = " ".join(draw.choices(VOCABULARY, k=100))
            file.write(json.dumps({"title": f"T{number}", "text": text}) + "\n")
