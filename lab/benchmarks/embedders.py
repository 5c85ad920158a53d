"""What hashed vectors add to search by words, in gold passages found.

Over the pooled passages of multi-hop questions, the share of supporting titles among the ten best
of BM25 alone, and of BM25 fused with the exact ranking by hashed vectors of several lengths, at the
weight that a store gives them and at an equal one. The difference to BM25 alone has an interval
from 2,000 resamplings of the questions.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer

from benchmarks.rows import needed
from skr_core.models.embedders import HASHING, HashingEmbedder
from skr_core.references.fusion import reciprocal_rank_fusion
from skr_core.types import Reference
from skr_store.bm25 import BM25Index
from skr_store.hybrid_search import FUSION_DEPTH
from skr_store.storable import keyword_text
from skr_store.storable import searchable_text as searchable

SETS = ("hotpotqa", "2wikimultihopqa", "musique")
DIMENSIONS = (64, 128, 256, 1024)
BEST = 10
RESAMPLINGS = 2_000

Rankings = Sequence[Sequence[str]]
"""Ids of passages, best first, for each question."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS, help="some of them")
    options = parser.parse_args()
    print("| set | ranking | recall@10 | all found | difference to BM25 alone |")
    print("|---|---|---:|---:|---|")
    for name in options.sets:
        compare(name, *needed(f"corpus_{name}.jsonl.gz", f"multihop_{name}_contexts.jsonl.gz"))


def compare(name: str, corpus: Path, asked: Path) -> None:
    """The rows of one set."""
    rows = [Reference.of(row["text"], row["title"]) for row in read(corpus)]
    passages = {item.id: item for item in rows}
    questions = read(asked)
    texts = [row["question"] for row in questions]
    words = BM25Index()
    words.append((item.id, keyword_text(item)) for item in passages.values())
    worded = [[identity for identity, _ in words.search(text, FUSION_DEPTH)] for text in texts]

    def shares(rankings: Rankings) -> NDArray[np.float64]:
        found = ({passages[each].title for each in ranking[:BEST]} for ranking in rankings)
        wanted = (set(row["supporting_titles"]) for row in questions)
        return np.array([len(w & f) / len(w) for w, f in zip(wanted, found, strict=True)])

    alone = shares(worded)
    show(name, "BM25", alone, alone)
    for dimensions in DIMENSIONS:
        near = nearest(list(passages.values()), texts, dimensions)
        for weight in (HashingEmbedder.fusion_weight, 1.0):
            pairs = zip(worded, near, strict=True)
            fused = [list(reciprocal_rank_fusion(pair, weights=(1.0, weight))) for pair in pairs]
            ranking = f"BM25 and hashing, {dimensions:,} dimensions, weight {weight:g}"
            show(name, ranking, shares(fused), alone)


def nearest(passages: Sequence[Reference], texts: Sequence[str], dimensions: int) -> Rankings:
    """For each text the ids of the passages nearest to it, without an approximation."""
    vectorizer = HashingVectorizer(**{**HASHING, "n_features": dimensions})
    vectors = vectorizer.transform([searchable(item) for item in passages])
    cosines = (vectorizer.transform(texts) @ vectors.T).toarray()
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :FUSION_DEPTH]
    return [[passages[place].id for place in row] for row in order.tolist()]


def show(name: str, ranking: str, shares: NDArray[np.float64], alone: NDArray[np.float64]) -> None:
    difference = shares - alone
    draw = np.random.default_rng(0)
    means = difference[draw.integers(0, len(shares), (RESAMPLINGS, len(shares)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    print(
        f"| {name} | {ranking} | {shares.mean():.4f} | {(shares == 1).mean():.4f} | "
        f"{difference.mean():+.4f} ({low:+.4f} to {high:+.4f}) |",
        flush=True,
    )


def read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


if __name__ == "__main__":
    main()
