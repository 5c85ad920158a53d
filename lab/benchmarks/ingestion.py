"""Ingestion beside a plain Chroma `add`.

Passages of HotpotQA's corpus enter a folder, and are on the disk when the clock stops. Ours keeps a
journal and counts the words; by vectors it embeds by hashing besides. The plain `add` is given
vectors, ids and texts ready made, in a collection of the same configuration.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from statistics import median
from typing import Any

import chromadb

from benchmarks.rows import Row, needed
from skr_core.models.embedders import HashingEmbedder, NoEmbedder
from skr_core.types import Reference
from skr_store.chroma_index import BATCH_SIZE, CONFIGURATION, WITHOUT_VECTORS
from skr_store.chroma_store import ChromaStore
from skr_store.loaders import load_file
from skr_store.storable import searchable_text as searchable

CORPUS = "corpus_hotpotqa.jsonl.gz"
SIZES = (800, 1_600, 3_200, 6_400)


def rows(quick: bool) -> Iterator[Row]:
    """By the number of passages, without an embedder, as a store is by default, and with one."""
    sizes = (300, 600) if quick else SIZES
    read = list(references(max(sizes)))
    kinds = (
        ("words", NoEmbedder(), WITHOUT_VECTORS),
        ("vectors", HashingEmbedder(), CONFIGURATION),
    )
    for name, embedder, configuration in kinds:
        vectors = embedder.embed([searchable(item) for item in read])
        for size in sizes:
            some, given = read[:size], vectors[:size]
            ways = {
                "ours": partial(ours, some, embedder),
                "plain": partial(plain, some, given, configuration),
            }
            seconds = taken(ways, turns=1 if quick else 5)
            what = f"adding passages, searched by {name}"
            peer = "Chroma's `add`"
            yield Row(what, seconds["ours"], "s", peer, seconds["plain"], size, "passages")


def references(count: int) -> Iterator[Reference]:
    """The first of the corpus, each once."""
    [corpus] = needed(CORPUS)
    found = (
        Reference.of(item.text, item.title, metadata=item.metadata)
        for item in load_file(corpus, stop)
    )
    return islice({item.id: item for item in islice(found, 2 * count)}.values(), count)


def stop(error: Exception) -> None:
    """A corpus with a broken line is none."""
    raise error


def taken(ways: dict[str, Callable[[str], float]], turns: int) -> dict[str, float]:
    """Median seconds of each way, in a fresh folder each time."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns + 1):
        for name in list(ways) if turn % 2 else list(reversed(ways)):
            with tempfile.TemporaryDirectory() as folder:
                one = ways[name](folder)
            seconds[name] += [one] if turn else []
    return {name: median(each) for name, each in seconds.items()}


def ours(some: Sequence[Reference], embedder: Any, folder: str) -> float:
    """Seconds of an addition to an open store."""
    with ChromaStore.open(folder, embedder=embedder) as store:
        begin = time.perf_counter()
        store.add(some)
        return time.perf_counter() - begin


def plain(some: Sequence[Reference], vectors: Any, configuration: Any, folder: str) -> float:
    """Seconds of the same in a collection of Chroma's."""
    client = chromadb.PersistentClient(folder)
    collection = client.create_collection(
        "plain", embedding_function=None, configuration=configuration
    )
    begin = time.perf_counter()
    for start in range(0, len(some), BATCH_SIZE):
        part = some[start : start + BATCH_SIZE]
        collection.add(
            ids=[item.id for item in part],
            embeddings=vectors[start : start + BATCH_SIZE],
            documents=[item.text for item in part],
            metadatas=[{"title": item.title, **item.metadata} for item in part],
        )
    seconds = time.perf_counter() - begin
    client.close()
    return seconds
