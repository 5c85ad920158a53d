"""A store beside the libraries that it stands on, and beside others that do a part of it.

Passages of 80 words, Zipfian. What is added is on the disk when the clock stops: a store keeps it
in SQLite, with its source and its scope, and gives it to the index besides. Each is opened in a
fresh process and asked: the first answer and queries after it. tantivy and bm25s give back numbers
of passages, the others the passages themselves. What is imported is in none of the seconds, but for
Chroma, which a store imports at the first answer by more than 5,000 vectors: a second or two.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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
SIZES_OF_VECTORS = (1_000, 10_000, 100_000)
DIMENSIONS = 384
QUESTION = "word7 word130 word999 word17 word40321"
QUERIES = 100

Search = Callable[[str], Sequence[Any]]


@dataclass(frozen=True)
class Way:
    """One who keeps passages and finds them.

    Attributes:
        fill: Puts passages into a folder, which is not there yet.
        open: Opens the folder, and returns what finds ten of them.
        most: Passages that it is measured with at most.
    """

    fill: Callable[[Path, Sequence[str]], None]
    open: Callable[[Path], Search]
    most: int = SIZES[-1]


def rows(quick: bool) -> Iterator[Row]:
    """By the number of passages."""
    for size in (300,) if quick else SIZES:
        yield from beside("by words", BY_WORDS, size)
    for size in (300,) if quick else SIZES_OF_VECTORS:
        yield from beside("by vectors", BY_VECTORS, size)


def beside(how: str, ways: dict[str, Way], size: int) -> Iterator[Row]:
    """Adding, opening, asking and the size on the disk, of the first beside the others."""
    texts = list(passages(size))
    found: dict[str, list[float]] = {}
    for name, way in ways.items():
        if size <= way.most:
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place, "kept")
                added = size / seconds(lambda way=way, folder=folder: way.fill(folder, texts))
                answered = in_a_process("benchmarks.store:asked", how, name, str(folder))
                found[name] = [added, *answered, size_of(folder)]
    ours, *others = found
    what = (("added", "a second"), ("first answer", "ms"), ("a query", "ms"), ("the disk", "MB"))
    for place, (told, unit) in enumerate(what):
        for other in others:
            figures = found[ours][place], found[other][place]
            yield Row(f"{told}, {how}", figures[0], unit, other, figures[1], size, "passages")


def asked(how: str, name: str, folder: str) -> tuple[float, float]:
    """Milliseconds to open and answer first, and of a query; in a process of its own."""
    way = (BY_WORDS if how == "by words" else BY_VECTORS)[name]
    with tempfile.TemporaryDirectory() as place:  # once, so that all is imported
        way.fill(Path(place, "few"), list(passages(20)))
        way.open(Path(place, "few"))(QUESTION)
    begin = time.perf_counter()
    search = way.open(Path(folder))
    assert len(search(QUESTION)) == 10
    first, spent = time.perf_counter() - begin, []
    for number in range(QUERIES):
        query = f"word{number} word{3 * number} word{100 + number} word{1_000 + 7 * number}"
        spent.append(seconds(lambda query=query: search(query)))
    return 1_000 * first, 1_000 * median(spent)


class Given(HashingEmbedder):
    """Random vectors that take no time, the same ones for the same texts in the same order."""

    name = "given"

    def __init__(self) -> None:
        self.draw = np.random.default_rng(3)

    def embed(self, texts: Sequence[str]) -> Any:
        """Draw a vector of length one for each text."""
        drawn = self.draw.normal(size=(len(texts), DIMENSIONS)).astype(np.float32)
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """The same for LangChain."""
        found: list[list[float]] = self.embed(texts).tolist()
        return found

    def embed_query(self, text: str) -> list[float]:
        """The same for one text."""
        return self.embed_documents([text])[0]


def fill_store(folder: Path, texts: Sequence[str], embedder: Any = None) -> None:
    """Put passages into a store."""
    remaining = iter(texts)
    with Store.open(folder, embedder=embedder) as made:
        while batch := [Reference.of(text) for text in islice(remaining, BATCH)]:
            made.add(batch)


def open_store(folder: Path, embedder: Any = None) -> Search:
    """Open it."""
    return Store.open(folder, embedder=embedder, search="dense" if embedder else "bm25").retrieve


def fill_tantivy(folder: Path, texts: Sequence[str]) -> None:
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


def open_tantivy(folder: Path) -> Search:
    """Open it."""
    import tantivy

    index = tantivy.Index.open(str(folder))
    searcher = index.searcher()

    def search(query: str) -> list[Any]:
        hits = searcher.search(index.parse_query(query, ["text"]), 10, count=False).hits
        return list(searcher.fast_field_values("row", [address for _, address in hits]))

    return search


def fill_fts5(folder: Path, texts: Sequence[str]) -> None:
    """Put passages into a table of SQLite's for full-text search."""
    folder.mkdir()
    connection = sqlite3.connect(folder / "texts.sqlite3")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (text)")
    for start in range(0, len(texts), BATCH):
        with connection:
            some = [(text,) for text in texts[start : start + BATCH]]
            connection.executemany("INSERT INTO texts VALUES (?)", some)
    connection.close()


def open_fts5(folder: Path) -> Search:
    """Open it."""
    connection = sqlite3.connect(folder / "texts.sqlite3")
    asked = "SELECT text FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10"
    return lambda query: connection.execute(asked, (" OR ".join(query.split()),)).fetchall()


def fill_bm25s(folder: Path, texts: Sequence[str]) -> None:
    """Have bm25s index passages, and save the index."""
    import bm25s

    index = bm25s.BM25(method="lucene")
    index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    index.save(folder)


def open_bm25s(folder: Path) -> Search:
    """Open it, without copying it into memory."""
    import bm25s

    index = bm25s.BM25.load(folder, mmap=True)

    def search(query: str) -> list[Any]:
        tokens = bm25s.tokenize([query], show_progress=False)
        return list(index.retrieve(tokens, k=10, show_progress=False)[0][0])

    return search


def fill_chroma(folder: Path, texts: Sequence[str], made: Any = None) -> None:
    """Put passages into a collection of Chroma's, of the configuration that a store has.

    Args:
        folder: The folder.
        texts: n passages.
        made: Their vectors, shape (n, d); random ones by default.
    """
    from skr_store.chroma import CONFIGURATION, open_folder

    client = open_folder(folder)
    collection = client.create_collection(
        "texts", embedding_function=None, configuration=CONFIGURATION
    )
    embedder = Given()
    for start in range(0, len(texts), BATCH):
        some = texts[start : start + BATCH]
        collection.add(
            ids=[str(start + n) for n in range(len(some))],
            embeddings=embedder.embed(some) if made is None else made[start : start + BATCH],
            documents=some,
        )
    client.close()


def open_chroma(folder: Path) -> Search:
    """Open it."""
    from skr_store.chroma import open_folder

    collection, embedder = open_folder(folder).get_collection("texts"), Given()

    def search(query: str) -> list[Any]:
        found = collection.query(query_embeddings=embedder.embed([query]), n_results=10)
        return list(found["documents"][0])

    return search


def fill_langchain(folder: Path, texts: Sequence[str]) -> None:
    """Put passages into LangChain's store of Chroma, as it comes."""
    kept = opened_langchain(folder)
    for start in range(0, len(texts), BATCH):
        kept.add_texts(texts[start : start + BATCH])


def opened_langchain(folder: Path) -> Any:
    """LangChain's store in a folder."""
    from langchain_chroma import Chroma

    return Chroma("texts", Given(), persist_directory=str(folder))  # type: ignore[arg-type]


def passages(number: int) -> Iterator[str]:
    """Passages of words as frequent as in a language, always the same."""
    draw = np.random.default_rng(7)
    for start in range(0, number, BATCH):
        count = min(BATCH, number - start)
        drawn = draw.zipf(1.3, (count, WORDS_A_PASSAGE)) % VOCABULARY
        for row in drawn.tolist():
            yield " ".join(f"word{number}" for number in row)


def seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def size_of(folder: Path) -> float:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) / 1e6


BY_WORDS = {
    "a store": Way(fill_store, open_store),
    "tantivy": Way(fill_tantivy, open_tantivy),
    "SQLite's FTS5": Way(fill_fts5, open_fts5, 100_000),
    "bm25s": Way(fill_bm25s, open_bm25s, 100_000),
}
BY_VECTORS = {
    "a store": Way(
        lambda folder, texts: fill_store(folder, texts, Given()),
        lambda folder: open_store(folder, Given()),
    ),
    "Chroma": Way(fill_chroma, open_chroma),
    "langchain-chroma": Way(
        fill_langchain, lambda folder: partial(opened_langchain(folder).similarity_search, k=10)
    ),
}
