"""Calibrating beside fitting one classifier.

`calibrate` chooses among all routers, cross-fitted, and says what its choice is worth: between two
actions, and among three. The peer is the least that choosing by cross-fitting takes: scikit-learn's
logistic regression on hashed vectors of the questions, over the same number of folds. The records
are those of six question sets answered by Llama-3.1-8B, made-up ones where they are not there; more
than there are repeat them with two words changed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

from benchmarks.deciding import recorded
from benchmarks.rows import Row
from skr_core.models.embedders import HashingEmbedder
from skr_core.types import Action
from skr_learn import Record, calibrate

SIZES = (300, 1_000, 3_000, 10_000)
PEER = "scikit-learn's logistic regression"
FOLDS = 5
TWO: tuple[Action, ...] = ("direct", "single")
THREE: tuple[Action, ...] = ("direct", "single", "loop")
WORDS = "red blue green old new big small first last north south east west upper lower".split()


def rows(quick: bool) -> Iterator[Row]:
    """By the number of records."""
    read = recorded()
    for actions in (TWO, THREE):
        ours(read[:300], actions)  # what is imported once
    classifier(read[:300])
    for what, actions in (("two", TWO), ("three", THREE)):
        for size in (300,) if quick else SIZES:
            some = list(islice(changed(read), size))
            seconds, beside = ours(some, actions), classifier(some)
            yield Row(f"calibrating {what} actions", seconds, "s", PEER, beside, size, "records")


def changed(read: Sequence[Record]) -> Iterator[Record]:
    """The records, and then others like them."""
    yield from read
    for number, (one, other) in enumerate(product(WORDS, WORDS)):
        for record in read:
            asked = record.question.split()
            asked.insert(number % len(asked), one)
            yield replace(record, question=" ".join([*asked, other]))


def ours(records: Sequence[Record], actions: Sequence[Action]) -> float:
    """Seconds of a calibration."""
    begin = time.perf_counter()
    calibrate(records, actions=actions)
    return time.perf_counter() - begin


def classifier(records: Sequence[Record]) -> float:
    """Seconds of fitting one model in folds, and of embedding for it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    right = [bool(record.outcomes["direct"].score) for record in records]
    begin = time.perf_counter()
    vectors = HashingEmbedder().embed([record.question for record in records])
    cross_val_predict(LogisticRegression(max_iter=200), vectors, right, cv=FOLDS)
    return time.perf_counter() - begin
