"""What hashed vectors add to search by words, in gold passages found.

Over a corpus and its questions, the share of supporting titles among the ten best of BM25 alone,
and of BM25 fused with the exact ranking by hashed vectors of several lengths, at the weight that a
store gives them and at an equal one. The difference to BM25 alone has an interval from 2,000
resamplings of the questions.

Usage: python -m benchmarks.embedders corpus.jsonl.gz questions.jsonl.gz
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from skr_core.models.embedders import HASHING, HashingEmbedder
from skr_core.references.fusion import reciprocal_rank_fusion
from skr_core.references.storable import keyworded, searchable
from skr_core.store.bm25 import BM25Index
from skr_core.store.hybrid_search import FUSION_DEPTH
from skr_core.types import Reference

DIMENSIONS = (64, 128, 256, 1024)
BEST = 10
RESAMPLINGS = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, help="JSON Lines with title and text")
    parser.add_argument("questions", type=Path, help="JSON Lines with question, supporting_titles")
    options = parser.parse_args()
    rows = [Reference.of(row["text"], row["title"]) for row in read(options.corpus)]
    passages = {item.id: item for item in rows}
    questions = read(options.questions)
    words = BM25Index()
    words.append((item.id, keyworded(item)) for item in passages.values())
    worded = [
        [identity for identity, _ in words.search(row["question"], FUSION_DEPTH)]
        for row in questions
    ]

    def shares(rankings):
        found = ({passages[each].title for each in ranking[:BEST]} for ranking in rankings)
        wanted = (set(row["supporting_titles"]) for row in questions)
        return np.array([len(w & f) / len(w) for w, f in zip(wanted, found, strict=True)])

    alone = shares(worded)
    report("BM25", alone, alone)
    for dimensions in DIMENSIONS:
        near = nearest(list(passages.values()), [row["question"] for row in questions], dimensions)
        for weight in (HashingEmbedder.fusion_weight, 1.0):
            pairs = zip(worded, near, strict=True)
            fused = [reciprocal_rank_fusion(pair, weights=(1.0, weight)) for pair in pairs]
            name = f"BM25 and hashing, {dimensions} dimensions, weight {weight}"
            report(name, shares([list(each) for each in fused]), alone)


def nearest(passages, questions, dimensions):
    """For each question the ids of the passages nearest to it, without an approximation."""
    vectorizer = HashingVectorizer(**{**HASHING, "n_features": dimensions})
    vectors = vectorizer.transform([searchable(item) for item in passages])
    cosines = (vectorizer.transform(questions) @ vectors.T).toarray()
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :FUSION_DEPTH]
    return [[passages[place].id for place in row] for row in order.tolist()]


def report(name, shares, alone):
    difference = shares - alone
    draw = np.random.default_rng(0)
    means = difference[draw.integers(0, len(shares), (RESAMPLINGS, len(shares)))].mean(axis=1)
    row = {
        "ranking": name,
        "recall@10": round(shares.mean(), 4),
        "all_found@10": round((shares == 1).mean(), 4),
        "difference": round(difference.mean(), 4),
        "interval": np.quantile(means, [0.025, 0.975]).round(4).tolist(),
    }
    print(json.dumps(row), flush=True)


def read(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


if __name__ == "__main__":
    main()
