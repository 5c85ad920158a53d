"""Collecting self-knowledge (SKR §3.1): each question answered by every action, and scored.

The answers come from the system that is served, through the port `ActionAnswerer`, so that the
records tell how the user's own system behaves.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from skr_core.errors import InputError, ModelError
from skr_core.files import KeyedLog
from skr_core.flow import Flow, arun, call, gather, run
from skr_core.questions import Question
from skr_core.types import NO_USAGE, Stamp, Usage
from skr_learn.collector import (
    Asking,
    Attempt,
    Collector,
    ask_question,
    ask_routers,
    make_collector,
)
from skr_learn.evaluators import is_maker
from skr_learn.formats import record_of
from skr_learn.ray_workers import RayWorkers
from skr_learn.records import (
    Record,
    Records,
    check_same_stamp,
    question_key,
    row_of,
)
from skr_learn.scoring import AnyMetric, proposed_metric

Item = TypeVar("Item")
Kept = TypeVar("Kept")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a collection is.

    Attributes:
        total: Different questions that can be scored.
        recorded: Questions on record, those of earlier runs included.
        reused: Questions that earlier runs had recorded.
        failed: Questions whose model, retriever or judge failed; the next run asks them again.
        missed: Questions on record whose statements failed; the next run asks for them again.
        unscored: Questions left out because they have no gold answer and are not known to be
            unanswerable.
        repeated: Questions left out because the same one was given before.
        usage: Spent by this run, failed questions included as far as their calls came back.
        last_failure: Why the last failed question failed.

    Example:
        >>> Progress(total=10, recorded=4, failed=1).done
        5
    """

    total: int
    recorded: int = 0
    reused: int = 0
    failed: int = 0
    missed: int = 0
    unscored: int = 0
    repeated: int = 0
    usage: Usage = NO_USAGE
    last_failure: str = ""

    @property
    def done(self) -> int:
        """Questions that are finished, one way or the other."""
        return self.recorded + self.failed


OnCollected = Callable[[Progress], None]
"""Called at the start and after each question; one call at a time."""


class Tally:
    """Counts what threads finish, and tells of it one call at a time.

    Args:
        progress: Where the counting begins.
        on_progress: Told at once, and after each question.

    Example:
        >>> tally = Tally(Progress(total=2), None)
        >>> tally.add("failed", failure="overloaded")
        >>> tally.progress.failed
        1
    """

    def __init__(self, progress: Progress, on_progress: OnCollected | None) -> None:
        self.progress = progress
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._tell()

    def add(self, field: str, usage: Usage = NO_USAGE, failure: str = "") -> None:
        """Count what came of a question, and tell of it.

        Args:
            field: The field of `Progress` that counts it; empty where none does.
            usage: The cost.
            failure: The reason why it failed, where it did.
        """
        with self._lock:
            before = self.progress
            grown: dict[str, Any] = {field: getattr(before, field) + 1} if field else {}
            failure = failure or before.last_failure
            self.progress = replace(
                before, usage=before.usage + usage, last_failure=failure, **grown
            )
            self._tell()

    def _tell(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.progress)


def collect(
    questions: Iterable[Question],
    app: object,
    *,
    out: str | Path | None = None,
    metric: AnyMetric | None = None,
    ask: Asking | None = None,
    concurrency: int = 8,
    corpus: str = "",
    on_progress: OnCollected | None = None,
    workers: RayWorkers | None = None,
) -> Records:
    """Answer each question by every action, and record the outcomes with their scores.

    Run it again with the same file and it goes on where it was: what is on record is not asked
    again, what failed is. A question that occurs twice, in whatever case, is asked once; one
    without a right answer is left out. A question is put as `Question.asked` puts it, options
    included, with its own history and config.

    Args:
        questions: The questions with their right answers.
        app: The app that is served: a chain (`create_skr_chain`), a query or chat engine
            (`SKRQueryEngine`), a compiled graph (`create_skr_graph`), an agent with
            `SKRMiddleware`, a `GraphAnswerer`, or any other `ActionAnswerer`; an agent of
            LlamaIndex by `acollect` alone. It is asked with its own options, and without its
            memory. With
            `workers`, a function that makes it, which each worker calls once: no live client leaves
            a process.
        out: The file that the records are appended to.
        metric: How answers are scored, see `skr_learn.scoring.AnyMetric`. By default ``accuracy``,
            or ``f1`` where the right answers are so long that no answer contains them; the log then
            says so. With `workers` a judge is given as a function that makes it.
        ask: Names of routers that ask the model itself, such as ``confidence``, or routers by the
            name of their statements: each is asked once a question, and is shown records of other
            questions alone.
        concurrency: The number of questions under way at a time, over all workers.
        corpus: A name for what is searched, for the stamp.
        on_progress: Told how far it is.
        workers: The workers that ask the questions in place of this process.

    Returns:
        The records of the questions given, in their order; those that failed are missing.

    Raises:
        InputError: The app cannot be asked by each action, there is no such metric, something is no
            `Question`, one question has two sets of right answers, or the file cannot be appended
            to.
        ModelError: Every question failed.
        DataError: The file holds something else than records.
        StampMismatch: The file holds records made with something else.
        EngineError: The workers failed. What is on record stays there.
    """
    questions = list(questions)
    work = _collection(questions, app, metric, ask, corpus, on_progress, workers)
    with KeyedLog(out) as file:
        return run(work.flow(questions, file, concurrency))


async def acollect(
    questions: Iterable[Question],
    app: object,
    *,
    out: str | Path | None = None,
    metric: AnyMetric | None = None,
    ask: Asking | None = None,
    concurrency: int = 8,
    corpus: str = "",
    on_progress: OnCollected | None = None,
) -> Records:
    """Async version of `collect`, without workers."""
    questions = list(questions)
    work = await asyncio.to_thread(_collection, questions, app, metric, ask, corpus, on_progress)
    opened = await asyncio.to_thread(KeyedLog, out)
    with opened as file:
        return await arun(work.flow(questions, file, concurrency))


def _collection(
    questions: Sequence[Question],
    app: object,
    metric: AnyMetric | None,
    ask: Asking | None,
    corpus: str,
    on_progress: OnCollected | None,
    workers: RayWorkers | None = None,
) -> _Collection:
    if workers is not None and not is_maker(app):
        raise InputError(
            "a live system cannot be sent to Ray's workers: give a function that makes it"
        )
    if metric is None:
        metric, reason = proposed_metric(_checked(questions))
        if reason:
            log.warning("%s: give metric=Judge(model), or metric= to choose another", reason)
    make = partial(make_collector, app, metric, ask)
    collector = make()
    stamp = collector.answerer.settings.stamp(corpus=corpus, metric=collector.scorer.name)
    return _Collection(collector, make, stamp, workers, on_progress)


def key_of(question: Question) -> str:
    """What tells a question of a file apart: its text, and its history and config where it has any.

    Raises:
        InputError: The config holds something else than plain values.

    Example:
        >>> who, again = Question("1", "Who?", ("Ada",)), Question("2", "who? ", ("Ada",))
        >>> key_of(who) == key_of(again) == "who?"
        True
        >>> key_of(replace(who, config={"configurable": {"tenant": "a"}})) == key_of(who)
        False
    """
    key = question_key(question.asked)
    if not question.history and not question.config:
        return key
    try:
        beside = json.dumps([question.history, question.config], sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InputError(f"{question.asked!r}: its config is no plain values: {error}") from error
    return f"{key} #{hashlib.blake2b(beside.encode(), digest_size=8).hexdigest()}"


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
    ) -> Flow[Records]:
        wanted, progress = _wanted(questions)
        held = self._held(file)
        records = {key: held[key] for key in wanted if key in held}
        for key, record in records.items():
            _check_gold(wanted[key], record.gold, f"on record in {file.path}")
        progress = replace(progress, recorded=len(records), reused=len(records))
        tally = Tally(progress, self.on_progress)
        recorded = yield from self._each(
            partial(ask_question, self.stamp),
            [each for each in wanted.items() if each[0] not in records],
            partial(self._kept, file, tally, "recorded", "failed"),
            concurrency,
        )
        records |= {key: record for key, record in recorded if record is not None}
        if wanted and not records:
            raise ModelError(f"every question failed; the last: {tally.progress.last_failure}")
        names = self.collector.ask.keys()
        if names:
            stated = yield from self._each(
                partial(ask_routers, list(records.values())),
                [
                    (key, (wanted[key], record))
                    for key, record in records.items()
                    if not names <= record.statements.keys()
                ],
                partial(self._kept, file, tally, "", "missed"),
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
        return Records(records[key] for key in wanted if key in records)

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

    def _held(self, file: KeyedLog) -> dict[str, Record]:
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
        kept: str,
        failed: str,
        item: tuple[str, object],
        asked: Attempt,
    ) -> Flow[tuple[str, Record | None]]:
        """Write a record down; what failed is asked again by the next run."""
        key, record = item[0], asked.record
        if record is None:
            tally.add(failed, asked.spent, f"{key}: {asked.failure}")
            return key, None
        yield from call(file.append, file.aappend, [{"key": key, **row_of(record)}])
        tally.add(kept, asked.spent)
        return key, record


def _wanted(questions: Iterable[Question]) -> tuple[dict[str, Question], Progress]:
    """The different questions that can be scored, by key, and how many were left out."""
    wanted: dict[str, Question] = {}
    scored = unscored = 0
    for question in _checked(questions):
        if not question.is_scorable:
            unscored += 1
            continue
        scored += 1
        first = wanted.setdefault(key_of(question), question)
        _check_gold(question, first.gold, f"question {first.id}")
    if unscored and not wanted:
        log.warning("none of the questions has a right answer: there is nothing to collect")
    repeated = scored - len(wanted)
    return wanted, Progress(len(wanted), unscored=unscored, repeated=repeated)


def _checked(questions: Iterable[Question]) -> Iterator[Question]:
    for question in questions:
        if not isinstance(question, Question):
            raise InputError(
                f"a Question is wanted, not {type(question).__name__}: give "
                "Question(id, text, gold), or what read_questions(path) reads of a file"
            )
        yield question


def _check_gold(question: Question, gold: Iterable[str], place: str) -> None:
    """Refuse a question that has other right answers elsewhere: no record can hold both."""
    if {*map(question_key, question.gold)} != {*map(question_key, gold)}:
        raise InputError(
            f"{question.asked!r} has the right answers {question.gold} (question {question.id}) "
            f"and {tuple(gold)} ({place}): keep one, or tell the two apart by their history or "
            "config; what is on record is scored anew by rescore(records, metric, questions)"
        )
