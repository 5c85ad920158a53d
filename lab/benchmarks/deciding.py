"""Deciding by what is saved beside one prediction of scikit-learn.

Policies and routers have learnt from recorded answers of six question sets, made-up ones where
there are none, are saved and loaded, and are asked 1,000 questions, one after the other, without an
embedder but hashing. The peer has learnt from the same questions, and is asked the same: TF-IDF and
ridge regression in scikit-learn, a pipeline. The 99th percentile is shown beside the median, both
of processor time: what else the machine does is not counted.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.rows import LeftOut, Row, needed
from skr_core import Generation, load_router
from skr_learn import Record, Records, calibrate

RECORDS = "adarague_llama31_8b_dev.jsonl.gz"
LEARNT, ASKED = 2_000, 1_000
PEER = "scikit-learn's TF-IDF and ridge"
WORDS = (
    "lighthouse designer river capital birthplace harbour engineer novel tower bridge painter "
    "island treaty mountain composer railway museum senator comet orchard lantern archive"
).split()


def recorded() -> list[Record]:
    """Recorded answers of three actions, made-up ones where there are none."""
    try:
        [path] = needed(RECORDS)
    except LeftOut:
        return made_up(3_000)
    read = list(Records.read(path, mixed_stamps=True))
    Random(0).shuffle(read)
    return read


def made_up(count: int) -> list[Record]:
    """Records whose words tell a little of which answer is right."""
    draw, found = Random(0), []
    for _ in range(count):
        some = draw.sample(WORDS, 4)
        knows = draw.random() < (0.8 if "river" in some or "capital" in some else 0.3)
        direct, single, loop = (
            (" ".join(draw.sample(WORDS, 2)), float(draw.random() < chance))
            for chance in (knows, 0.6, 0.7)
        )
        question = f"Who knows the {' of the '.join(some)}?"
        found.append(Record.of(question, direct=direct, single=single, loop=loop))
    return found


def rows(quick: bool) -> Iterator[Row]:
    """Median and 99th percentile at each place."""
    records = recorded()
    learnt, asked = (300, 100) if quick else (LEARNT, ASKED)
    questions = records[learnt : learnt + asked]
    ways = {**ours(records[:learnt]), PEER: peer(records[:learnt])}
    for work in ways.values():
        percentiles(work, questions[:10])
    found = {name: percentiles(work, questions) for name, work in ways.items()}
    for name in list(ways)[:-1]:
        for place, told in enumerate(("the median", "the 99th percentile")):
            yield Row(f"{name}, {told}", found[name][place], "ms", PEER, found[PEER][place])


def ours(records: Sequence[Record]) -> dict[str, Callable[[Record], Any]]:
    """A decision at each place, and of two routers before retrieval."""
    question, ladder, knn, classifier = (
        loaded(records, name) for name in ("question", "ladder", "paper", "classifier")
    )

    def said(record: Record, count: int) -> dict[Any, Any]:
        actions = ladder.actions[:count]
        return {action: record.outcomes[action].candidate for action in actions}

    return {
        "by the question": lambda each: question.decide(each.question),
        "by the direct answer": lambda each: ladder.decide_on(
            each.question, Generation(each.direct.answer)
        ),
        "by two answers": lambda each: ladder.decide_after(each.question, said(each, 2)),
        "among three answers": lambda each: ladder.judge(each.question, said(each, 3)),
        "`KNNRouter`": lambda each: knn.decide(each.question),
        "`ClassifierRouter`": lambda each: classifier.decide(each.question),
    }


def loaded(records: Sequence[Record], name: str) -> Any:
    """What calibration makes of records, as it is served: from its file."""
    made = calibrate(records, routers=[name], cost="retrievals", anyway=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        made.save(path)
        return load_router(path)


def peer(records: Sequence[Record]) -> Callable[[Record], Any]:
    """The least that an estimate from words takes."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    fitted = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), min_df=2), Ridge()).fit(
        [each.question for each in records], [each.direct.score for each in records]
    )
    return lambda each: fitted.predict([each.question])


def percentiles(work: Callable[[Record], Any], asked: Sequence[Record]) -> tuple[float, float]:
    """Milliseconds: the median and the 99th percentile."""
    seconds = []
    for record in asked:
        started = time.thread_time()
        work(record)
        seconds.append(1_000 * (time.thread_time() - started))
    return float(np.median(seconds)), float(np.percentile(seconds, 99))
