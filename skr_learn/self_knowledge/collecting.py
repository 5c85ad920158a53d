"""Collecting self-knowledge (SKR §3.1): each question answered by every action, and scored.

The answers come from the system that is served, through the port `ActionAnswerer`, so that the
records tell how the user's own system behaves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from skr_core.errors import InputError
from skr_core.files import KeyedLog
from skr_core.flow import Flow, arun, call, gather, run
from skr_core.questions import Question
from skr_core.settings import ActionAnswerer
from skr_core.types import Stamp
from skr_learn.ray_workers import RayWorkers
from skr_learn.self_knowledge.collector import (
    Asking,
    Attempt,
    Collector,
    Scorer,
    ask_question,
    ask_routers,
    make_collector,
)
from skr_learn.self_knowledge.progress import OnCollected, Progress, Tally
from skr_learn.self_knowledge.records import (
    SelfKnowledge,
    check_same_stamp,
    question_key,
    row_of,
)
from skr_learn.self_knowledge.rows import record_of

Item = TypeVar("Item")
Kept = TypeVar("Kept")

log = logging.getLogger(__name__)


def collect(
    questions: Iterable[Question],
    answerer: ActionAnswerer | Callable[[], ActionAnswerer],
    *,
    out: str | Path | None = None,
    metric: Scorer = "accuracy",
    ask: Asking | None = None,
    concurrency: int = 8,
    corpus: str = "",
    on_progress: OnCollected | None = None,
    workers: RayWorkers | None = None,
) -> list[SelfKnowledge]:
    """Answer each question by every action, and record the outcomes with their scores.

    Run it again with the same file and it goes on where it was: what is on record is not asked
    again, what failed is. A question that occurs twice is asked once; one without a gold answer is
    left out. A question is put as `Question.asked` puts it, options included.

    Args:
        questions: With their gold answers.
        answerer: The system; `skr_graphs.GraphAnswerer` is one. With `workers`, a function that
            makes it, which each worker calls once: no live client leaves a process.
        out: File the records are appended to.
        metric: How answers are scored. With `workers` a judge is given as a function that makes it.
        ask: Names of routers that ask the model itself, such as ``confidence``, or routers by the
            name of their statements: each is asked once a question, and is shown records of other
            questions alone.
        concurrency: Questions under way at a time, over all workers.
        corpus: A name for what is searched, for the stamp.
        on_progress: Told how far it is.
        workers: Ask the questions there in place of in this process.

    Returns:
        The records of the questions given, in their order; those that failed are missing.

    Raises:
        InputError: There is no such metric, something is no `Question`, or the file cannot be
            appended to.
        DataError: The file holds something else than records.
        StampMismatch: The file holds records made with something else.
        EngineError: The workers failed. What is on record stays there.
    """
    work = _collection(answerer, metric, ask, corpus, on_progress, workers)
    with KeyedLog(out) as file:
        return run(work.flow(questions, file, concurrency))


async def acollect(
    questions: Iterable[Question],
    answerer: ActionAnswerer | Callable[[], ActionAnswerer],
    *,
    out: str | Path | None = None,
    metric: Scorer = "accuracy",
    ask: Asking | None = None,
    concurrency: int = 8,
    corpus: str = "",
    on_progress: OnCollected | None = None,
) -> list[SelfKnowledge]:
    """Async version of `collect`, without workers."""
    work = await asyncio.to_thread(_collection, answerer, metric, ask, corpus, on_progress)
    opened = await asyncio.to_thread(KeyedLog, out)
    with opened as file:
        return await arun(work.flow(questions, file, concurrency))


def _collection(
    answerer: ActionAnswerer | Callable[[], ActionAnswerer],
    metric: Scorer,
    ask: Asking | None,
    corpus: str,
    on_progress: OnCollected | None,
    workers: RayWorkers | None = None,
) -> _Collection:
    if workers is not None and isinstance(answerer, ActionAnswerer):
        raise InputError(
            "a live system cannot be sent to Ray's workers: give a function that makes it"
        )
    make = partial(make_collector, answerer, metric, ask)
    collector = make()
    stamp = collector.answerer.settings.stamp(corpus=corpus, metric=collector.scorer.name)
    return _Collection(collector, make, stamp, workers, on_progress)


@dataclass(frozen=True)
class _Collection:
    """Keeps the records, which are made here or by workers."""

    collector: Collector
    make: Callable[[], Collector]
    stamp: Stamp
    workers: RayWorkers | None
    on_progress: OnCollected | None

    def flow(
        self, questions: Iterable[Question], file: KeyedLog, concurrency: int
    ) -> Flow[list[SelfKnowledge]]:
        wanted: dict[str, Question] = {}
        unscored = 0
        for question in questions:
            if not isinstance(question, Question):
                raise InputError(
                    f"a Question is wanted, not {type(question).__name__}: give "
                    "Question(id, text, gold), or what read_questions(path) reads of a file"
                )
            if any(answer.strip() for answer in question.gold):
                wanted.setdefault(question_key(question.asked), question)
            else:
                unscored += 1
        if unscored and not wanted:
            log.warning("none of the questions has a right answer: there is nothing to collect")
        held = self._held(file)
        records = {key: held[key] for key in wanted if key in held}
        tally = Tally(
            Progress(len(wanted), len(records), len(records), unscored=unscored), self.on_progress
        )
        recorded = yield from self._each(
            partial(ask_question, self.stamp),
            [each for each in wanted.items() if each[0] not in records],
            partial(self._kept, file, tally, tally.fail, tally.finish),
            concurrency,
        )
        records |= {key: record for key, record in recorded if record is not None}
        names = self.collector.ask.keys()
        if names:
            stated = yield from self._each(
                partial(ask_routers, list(records.values())),
                [
                    (key, (wanted[key], record))
                    for key, record in records.items()
                    if not names <= record.statements.keys()
                ],
                partial(self._kept, file, tally, tally.miss, tally.tell),
                concurrency,
            )
            records |= {key: record for key, record in stated if record is not None}
        if missing := tally.progress.failed + tally.progress.missed:
            log.warning(
                "%d of %d questions failed and are asked again by the next run; the last: %s",
                missing,
                len(wanted),
                tally.progress.last_failure,
            )
        return [records[key] for key in wanted if key in records]

    def _each(
        self,
        work: Callable[[Collector, Item], Flow[Attempt]],
        items: list[Item],
        keep: Callable[[Item, Attempt], Flow[Kept]],
        limit: int,
    ) -> Flow[list[Kept]]:
        """Work on each item, here or by the workers, and keep each result as it comes."""
        if self.workers is None:

            def one(item: Item) -> Flow[Kept]:
                attempt = yield from work(self.collector, item)
                return (yield from keep(item, attempt))

            return (yield from gather(map(one, items), limit))
        kept = []
        for item, attempt in self.workers.map(self.make, work, items, limit):
            kept.append((yield from keep(item, attempt)))
        return kept

    def _held(self, file: KeyedLog) -> dict[str, SelfKnowledge]:
        """What earlier runs have recorded.

        Raises:
            StampMismatch: They were made with something else.
        """
        held = {}
        for number, (key, row) in enumerate(file.rows.items(), start=1):
            held[key] = record_of(row, file.path or "records", number)
        if held:
            stamps = [self.stamp, *(record.stamp for record in held.values())]
            check_same_stamp(stamps, file.path or "the records", "give another out=")
        return held

    def _kept(
        self,
        file: KeyedLog,
        tally: Tally,
        on_failure: Callable[[str], None],
        on_kept: Callable[[], None],
        item: tuple[str, object],
        asked: Attempt,
    ) -> Flow[tuple[str, SelfKnowledge | None]]:
        """Write a record down; what failed is asked again by the next run."""
        key, record = item[0], asked.record
        tally.spend(asked.spent)
        if record is None:
            on_failure(f"{key}: {asked.failure}")
            return key, None
        yield from call(file.append, file.aappend, [{"key": key, **row_of(record)}])
        on_kept()
        return key, record
