"""A store beside the libraries that it stands on: tantivy alone and Chroma alone.

Passages of 80 words, Zipfian. What is added is on the disk when the clock stops: a store keeps it
in SQLite, with its source and its scope, and gives it to the index besides. Each is opened in a
fresh process and asked: the first answer and queries after it. tantivy gives back numbers of
passages, a store the passages themselves. What is imported is in none of the seconds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.rows import Row, in_a_process
from skr_core import HashingEmbedder, Reference
from skr_store import Store

VOCABULARY = 200_000
WORDS_A_PASSAGE = 80
BATCH = 1_000
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SIZES_OF_VECTORS = (1_000, 10_000)
DIMENSIONS = 384
QUESTION = "word7 word130 word999 word17 word40321"
QUERIES = 200


def rows(quick: bool) -> Iterator[Row]:
    """By the number of passages."""
    for size in (300,) if quick else SIZES:
        yield from words(size)
    for size in (300,) if quick else SIZES_OF_VECTORS:
        yield from vectors(size)


def words(size: int) -> Iterator[Row]:
    """Of a store that is searched by words."""
    with tempfile.TemporaryDirectory() as place:
        ours, theirs = Path(place, "store"), Path(place, "tantivy")
        added = size / seconds(lambda: fill(ours, passages(size)))
        plain = size / seconds(lambda: fill_tantivy(theirs, passages(size)))
        yield Row("added by words", added, "a second", "tantivy", plain, size, "passages")
        first, query = in_a_process("benchmarks.store:open_store", str(ours))
        their_first, their_query = in_a_process("benchmarks.store:open_tantivy", str(theirs))
        for name, one, other in (
            ("opening and first answer", first, their_first),
            ("a query by words", query, their_query),
        ):
            yield Row(name, one, "ms", "tantivy", other, size, "passages")
        disk = [size_of(each) for each in (ours, theirs)]
        yield Row("on the disk, by words", disk[0], "MB", "tantivy", disk[1], size, "passages")


def vectors(size: int) -> Iterator[Row]:
    """Of a store that is searched by vectors, which are made beforehand."""
    texts = list(passages(size))
    with tempfile.TemporaryDirectory() as place:
        ours, theirs = Path(place, "store"), Path(place, "chroma")
        made = Given(texts)
        added = size / seconds(lambda: fill(ours, texts, made))
        plain = size / seconds(lambda: fill_chroma(theirs, texts, made.embed(texts)))
        yield Row("added with vectors", added, "a second", "Chroma", plain, size, "passages")
        disk = [size_of(each) for each in (ours, theirs)]
        yield Row("on the disk, with vectors", disk[0], "MB", "Chroma", disk[1], size, "passages")


class Given(HashingEmbedder):
    """Random vectors that are there already, so that no embedding is in the seconds."""

    name = "given"

    def __init__(self, texts: Sequence[str]) -> None:
        drawn = np.random.default_rng(3).normal(size=(len(texts) + 1, DIMENSIONS))
        unit = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
        self.places = {text: place for place, text in enumerate(texts, 1)}
        self.vectors = unit

    def embed(self, texts: Sequence[str]) -> Any:
        """Look the vectors up."""
        return self.vectors[[self.places.get(text, 0) for text in texts]]


def fill(folder: Path, texts: Iterator[str] | Sequence[str], embedder: Any = None) -> None:
    """Put passages into a store."""
    remaining = iter(texts)
    with Store.open(folder, embedder=embedder) as made:
        while batch := [Reference.of(text) for text in islice(remaining, BATCH)]:
            made.add(batch)


def fill_tantivy(folder: Path, texts: Iterator[str]) -> None:
    """Put passages into an index of tantivy's."""
    import tantivy

    folder.mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("row", indexed=True, fast=True)
    builder.add_text_field("text", tokenizer_name="default", index_option="freq")
    writer = tantivy.Index(builder.build(), str(folder)).writer(64 * 1024 * 1024, 1)
    for row, text in enumerate(texts):
        document = tantivy.Document()
        document.add_unsigned("row", row)
        document.add_text("text", text)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


def fill_chroma(folder: Path, texts: Sequence[str], made: Any) -> None:
    """Put passages into a collection of Chroma's, of the configuration that a store has."""
    import chromadb

    from skr_store.chroma import CONFIGURATION, SILENT

    client = chromadb.PersistentClient(folder, chromadb.config.Settings(**SILENT))
    collection = client.create_collection(
        "texts", embedding_function=None, configuration=CONFIGURATION
    )
    for start in range(0, len(texts), BATCH):
        some = texts[start : start + BATCH]
        collection.add(
            ids=[str(start + n) for n in range(len(some))],
            embeddings=made[start : start + BATCH],
            documents=some,
        )


def passages(number: int) -> Iterator[str]:
    """Passages of words as frequent as in a language, always the same."""
    draw = np.random.default_rng(7)
    for start in range(0, number, BATCH):
        count = min(BATCH, number - start)
        drawn = draw.zipf(1.3, (count, WORDS_A_PASSAGE)) % VOCABULARY
        for row in drawn.tolist():
            yield " ".join(f"word{number}" for number in row)


def open_store(folder: str) -> tuple[float, float]:
    """Milliseconds to the first answer, and of a query."""
    begin = time.perf_counter()
    with Store.open(Path(folder)) as opened:
        assert len(opened.retrieve(QUESTION)) == 10
        return 1_000 * (time.perf_counter() - begin), a_query(opened.retrieve)


def open_tantivy(folder: str) -> tuple[float, float]:
    """The same of tantivy."""
    import tantivy

    begin = time.perf_counter()
    index = tantivy.Index.open(folder)
    searcher = index.searcher()

    def search(query: str) -> Any:
        hits = searcher.search(index.parse_query(query, ["text"]), 10, count=False).hits
        return searcher.fast_field_values("row", [address for _, address in hits])

    assert len(search(QUESTION)) == 10
    return 1_000 * (time.perf_counter() - begin), a_query(search)


def a_query(search: Callable[[str], Any]) -> float:
    spent = []
    for number in range(QUERIES):
        query = f"word{number} word{3 * number} word{100 + number} word{1_000 + 7 * number}"
        spent.append(seconds(lambda query=query: search(query)))
    return 1_000 * median(spent)


def seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def size_of(folder: Path) -> float:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) / 1e6
