"""Calibrating beside fitting one classifier.

`calibrate` chooses among all routers, cross-fitted, with the curve and its intervals: between two
actions without an arbiter, and among three with an arbiter and a ladder. The peer is the least that
choosing by cross-fitting takes: scikit-learn's logistic regression on the same vectors of the
questions, over the same number of folds. The records are those of six question sets answered by
Llama-3.1-8B; more than there are repeat them with two words changed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product

from benchmarks.rows import Row, needed
from skr_core.models.embedders import HashingEmbedder
from skr_learn.calibration import calibrate
from skr_learn.self_knowledge import SelfKnowledge, read_self_knowledge

RECORDS = "adarague_llama31_8b_dev.jsonl.gz"
SIZES = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
WHOLE_SIZES = (300, 1_000, 3_000)
PEER = "scikit-learn's logistic regression"
FOLDS = 5
WORDS = "red blue green old new big small first last north south east west upper lower".split()


def rows(quick: bool) -> Iterator[Row]:
    """By the number of records."""
    [path] = needed(RECORDS)
    read = read_self_knowledge(path, mixed_stamps=True)
    for work in (ours, whole, classifier):
        work(read[:300])  # what is imported and compiled once
    for size in (300,) if quick else SIZES:
        some = list(islice(changed(read), size))
        seconds, beside = ours(some), classifier(some)
        yield Row("calibrating two actions", seconds, "s", PEER, beside, size, "records")
    for size in (300,) if quick else WHOLE_SIZES:
        some = list(islice(changed(read), size))
        what = "calibrating three actions, with arbiter and ladder"
        yield Row(what, whole(some), "s", PEER, classifier(some), size, "records")


def changed(read: list[SelfKnowledge]) -> Iterator[SelfKnowledge]:
    """The records, and then others like them."""
    yield from read
    for number, (one, other) in enumerate(product(WORDS, WORDS)):
        for record in read:
            asked = record.question.split()
            asked.insert(number % len(asked), one)
            yield replace(record, question=" ".join([*asked, other]))


def ours(records: list[SelfKnowledge]) -> float:
    """Seconds of a calibration."""
    begin = time.perf_counter()
    calibrate(records, actions=["direct", "single"], arbiter=False)
    return time.perf_counter() - begin


def whole(records: list[SelfKnowledge]) -> float:
    """The same of all that is looked for by default, where direct, single and loop are recorded."""
    begin = time.perf_counter()
    calibrate(records)
    return time.perf_counter() - begin


def classifier(records: list[SelfKnowledge]) -> float:
    """Seconds of fitting one model in folds, and of embedding for it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    right = [bool(record.outcomes["direct"].score) for record in records]
    begin = time.perf_counter()
    vectors = HashingEmbedder().embed_sparse([record.question for record in records])
    cross_val_predict(LogisticRegression(max_iter=200), vectors, right, cv=FOLDS)
    return time.perf_counter() - begin
