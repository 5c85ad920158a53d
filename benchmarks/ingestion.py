"""How fast references enter a store, beside a plain Chroma `add` of the same vectors.

Ours embeds, writes the journal to the disk, counts the words and adds; the plain `add` is given the
vectors, the ids and the texts ready made, in a collection of the same configuration. Both are
measured in turn in one run, each in a fresh folder; medians are compared: without an embedder, as a
store is by default, and with the hashing embedder's vectors.

Usage: python benchmarks/ingestion.py corpus.jsonl.gz [--passages 2000] [--repetitions 5]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from itertools import islice
from pathlib import Path
from statistics import median

import chromadb

from skr_core.ingest.loaders import load_file
from skr_core.models.embedders import HashingEmbedder, NoEmbedder
from skr_core.references.storable import searchable
from skr_core.store.chroma_index import BATCH_SIZE, CONFIGURATION, WITHOUT_VECTORS
from skr_core.store.chroma_store import ChromaStore
from skr_core.types import Reference


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, help="JSON Lines, one passage a line")
    parser.add_argument("--passages", type=int, default=2000, help="how many of them to use")
    parser.add_argument("--repetitions", type=int, default=5, help="of each of the two")
    options = parser.parse_args()
    documents = islice(load_file(options.corpus, stop), options.passages)
    found = (Reference.of(item.text, item.title, metadata=item.metadata) for item in documents)
    references = list({item.id: item for item in found}.values())
    for embedder in (NoEmbedder(), HashingEmbedder()):
        print(json.dumps(compare(references, embedder, options.repetitions)), flush=True)


def compare(references, embedder, repetitions):
    configuration = WITHOUT_VECTORS if embedder.name == NoEmbedder.name else CONFIGURATION
    vectors = embedder.embed([searchable(item) for item in references])
    plain: list[float] = []
    ours: list[float] = []
    for turn in range(repetitions):
        # Who goes first changes, so that neither always finds the disk warm or busy.
        for seconds in (plain, ours) if turn % 2 == 0 else (ours, plain):
            with tempfile.TemporaryDirectory() as folder:
                if seconds is plain:
                    seconds.append(time_plain(folder, references, vectors, configuration))
                else:
                    seconds.append(time_ours(folder, references, embedder))
    count = len(references)
    return {
        "passages": count,
        "repetitions": repetitions,
        "embedder": embedder.name,
        "plain_adds_per_s": round(count / median(plain), 1),
        "ours_adds_per_s": round(count / median(ours), 1),
        "ratio": round(median(plain) / median(ours), 3),
    }


def time_plain(folder, references, vectors, configuration) -> float:
    client = chromadb.PersistentClient(folder)
    collection = client.create_collection(
        "plain", embedding_function=None, configuration=configuration
    )
    begin = time.perf_counter()
    for start in range(0, len(references), BATCH_SIZE):
        part = references[start : start + BATCH_SIZE]
        collection.add(
            ids=[item.id for item in part],
            embeddings=vectors[start : start + BATCH_SIZE],
            documents=[item.text for item in part],
            metadatas=[{"title": item.title, **item.metadata} for item in part],
        )
    seconds = time.perf_counter() - begin
    client.close()
    return seconds


def time_ours(folder, references, embedder) -> float:
    with ChromaStore.open(folder, embedder=embedder) as store:
        begin = time.perf_counter()
        store.add(references)
        return time.perf_counter() - begin


def stop(error: Exception) -> None:
    raise error


if __name__ == "__main__":
    main()
