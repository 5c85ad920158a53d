"""Collecting self-knowledge (SKR §3.1): each question answered by every action, and scored.

The answers come from the system that is served, through the port `ActionAnswerer`, so that the
records tell how the user's own system behaves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from skr_core.bounds import Bounds, bounded
from skr_core.errors import ModelError, RetrieverError
from skr_core.files import KeyedLog
from skr_core.flow import Flow, arun, call, gather, run
from skr_core.ports import ActionAnswerer, Router
from skr_core.questions import Question
from skr_core.self_knowledge.importers import record_of
from skr_core.self_knowledge.margins import Margins, measure_margins, rivals_in
from skr_core.self_knowledge.progress import OnCollected, Progress, Tally
from skr_core.self_knowledge.records import (
    Outcome,
    SelfKnowledge,
    Statement,
    check_same_stamp,
    question_key,
    row_of,
)
from skr_core.self_knowledge.scoring import Judge, Metric, TextMetric
from skr_core.self_knowledge.standing import standing_of
from skr_core.types import NO_USAGE, Action, Answer, Stamp, Usage

log = logging.getLogger(__name__)
T = TypeVar("T")

Asked = Router | Callable[[Sequence[SelfKnowledge]], Router]
"""A router that asks the model, or what makes one of the records that it may show to the model."""


def collect(
    questions: Iterable[Question],
    answerer: ActionAnswerer,
    *,
    out: str | Path | None = None,
    metric: Metric | TextMetric | Judge = "accuracy",
    ask: Mapping[str, Asked] | None = None,
    concurrency: int = 8,
    corpus: str = "",
    on_progress: OnCollected | None = None,
) -> list[SelfKnowledge]:
    """Answer each question by every action, and record the outcomes with their scores.

    Run it again with the same file and it goes on where it was: what is on record is not asked
    again, what failed is. A question that occurs twice is asked once; one without a gold answer is
    left out. A question is put as `Question.asked` puts it, options included.

    Args:
        questions: With their gold answers.
        answerer: The system; `skr_graphs.GraphAnswerer` is one.
        out: File the records are appended to.
        metric: How answers are scored.
        ask: Routers that ask the model itself, by the name of their statements: each is asked once
            a question. What they are made of leaves out the question that they are asked.
        concurrency: Questions under way at a time.
        corpus: A name for what is searched, for the stamp.
        on_progress: Told how far it is.

    Returns:
        The records of the questions given, in their order; those that failed are missing.

    Raises:
        InputError: There is no such metric, or the file cannot be appended to.
        DataError: The file holds something else than records.
        StampMismatch: The file holds records made with something else.
    """
    work = _collection(answerer, metric, ask, corpus, on_progress)
    with KeyedLog(out) as file:
        return run(work.flow(questions, file, concurrency))


async def acollect(
    questions: Iterable[Question],
    answerer: ActionAnswerer,
    *,
    out: str | Path | None = None,
    metric: Metric | TextMetric | Judge = "accuracy",
    ask: Mapping[str, Asked] | None = None,
    concurrency: int = 8,
    corpus: str = "",
    on_progress: OnCollected | None = None,
) -> list[SelfKnowledge]:
    """The same as `collect`, with awaited calls."""
    work = _collection(answerer, metric, ask, corpus, on_progress)
    opened = await asyncio.to_thread(KeyedLog, out)
    with opened as file:
        return await arun(work.flow(questions, file, concurrency))


def _collection(
    answerer: ActionAnswerer,
    metric: Metric | TextMetric | Judge,
    ask: Mapping[str, Asked] | None,
    corpus: str,
    on_progress: OnCollected | None,
) -> _Collection:
    scorer = TextMetric(metric) if isinstance(metric, str) else metric
    stamp = answerer.settings.stamp(corpus=corpus, metric=scorer.name)
    return _Collection(answerer, scorer, dict(ask or {}), stamp, on_progress)


@dataclass(frozen=True)
class _Collection:
    answerer: ActionAnswerer
    scorer: TextMetric | Judge
    ask: Mapping[str, Asked]
    stamp: Stamp
    on_progress: OnCollected | None

    def flow(
        self, questions: Iterable[Question], file: KeyedLog, concurrency: int
    ) -> Flow[list[SelfKnowledge]]:
        wanted: dict[str, Question] = {}
        unscored = 0
        for question in questions:
            if any(answer.strip() for answer in question.gold):
                wanted.setdefault(question_key(question.asked), question)
            else:
                unscored += 1
        held = self._held(file)
        records = {key: held[key] for key in wanted if key in held}
        tally = Tally(
            Progress(len(wanted), len(records), len(records), unscored=unscored), self.on_progress
        )
        recorded = yield from gather(
            [
                self._kept(key, self._outcomes(question, tally), file, tally.fail, tally.finish)
                for key, question in wanted.items()
                if key not in records
            ],
            concurrency,
        )
        records |= {key: record for key, record in recorded if record is not None}
        if self.ask:
            stated = yield from gather(
                [
                    self._kept(
                        key,
                        self._statements(wanted[key], record, records, tally),
                        file,
                        tally.miss,
                        tally.tell,
                    )
                    for key, record in records.items()
                    if not self.ask.keys() <= record.statements.keys()
                ],
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
            check_same_stamp(stamps, file.path or "the records")
        return held

    def _kept(
        self,
        key: str,
        making: Flow[SelfKnowledge],
        file: KeyedLog,
        on_failure: Callable[[str], None],
        on_kept: Callable[[], None] = lambda: None,
    ) -> Flow[tuple[str, SelfKnowledge | None]]:
        """Make a record and write it down; what fails is asked again by the next run."""
        try:
            record = yield from making
        except (ModelError, RetrieverError) as error:
            on_failure(f"{key}: {error}")
            return key, None
        yield from call(file.append, file.aappend, [{"key": key, **row_of(record)}])
        on_kept()
        return key, record

    def _outcomes(self, question: Question, tally: Tally) -> Flow[SelfKnowledge]:
        asked = question.asked
        answers = yield from call(self.answerer.answer_each, self.answerer.aanswer_each, asked)
        margins = yield from self._margins(asked, answers, tally)
        outcomes: dict[Action, Outcome] = {}
        scores: dict[str, float] = {}
        judging = NO_USAGE
        for action, answer in answers.items():
            if answer.text not in scores:  # two actions often answer the same
                scores[answer.text], spent = yield from self._score(answer.text, question)
                judging += spent
            made = _outcome(answer, scores[answer.text], answers["direct"].text)
            outcomes[action] = replace(made, margins=margins.get(action))
        # The first round of the loop is paid for once, whatever it stands for.
        tally.spend(sum((answers[each].total_usage for each in ("direct", "loop")), judging))
        tally.spend(answers["single"].usage.get("answer_anyway", NO_USAGE))
        extra = {"id": question.id}
        if question.types:
            extra["type"] = ", ".join(question.types)
        return SelfKnowledge(asked, question.gold, outcomes, self.stamp, extra=extra)

    def _margins(
        self, question: str, answers: Mapping[Action, Answer], tally: Tally
    ) -> Flow[Mapping[Action, Margins | None]]:
        """How likely the model finds the answers, where the system asks for that."""
        settings = self.answerer.settings
        if settings.likelihoods is None:
            return {}
        direct = answers["direct"].text
        rivals = {
            action: rivals_in(question, direct, answer, settings)
            for action, answer in answers.items()
            if answer.references
        }
        found, spent = yield from self._in_time(
            measure_margins(settings.likelihoods, list(rivals.values()))
        )
        tally.spend(spent)
        return dict(zip(rivals, found, strict=True))

    def _statements(
        self,
        question: Question,
        record: SelfKnowledge,
        records: Mapping[str, SelfKnowledge],
        tally: Tally,
    ) -> Flow[SelfKnowledge]:
        said = dict(record.statements)
        for name, router in self.ask.items():
            if name in said:
                continue
            if not isinstance(router, Router):
                others = [each for each in records.values() if each.question != record.question]
                router = router(others)
            decision = yield from self._in_time(
                call(router.decide, router.adecide, record.question)
            )
            tally.spend(decision.usage)
            draft_score = None
            if decision.draft:
                draft_score, spent = yield from self._score(decision.draft, question)
                tally.spend(spent)
            said[name] = Statement(
                decision.retrieve,
                decision.score,
                decision.usage.uncached,  # what it costs who asks for the first time
                decision.draft,
                draft_score,
            )
        return replace(record, statements=said)

    def _score(self, answer: str, question: Question) -> Flow[tuple[float, Usage]]:
        return (yield from self._in_time(self.scorer.score(answer, question)))

    def _in_time(self, asking: Flow[T]) -> Flow[T]:
        """What is asked beside a question has the seconds of one."""
        seconds = self.answerer.settings.budget.deadline_s
        return (yield from bounded(asking, Bounds.within(seconds)))


def _outcome(answer: Answer, score: float, direct: str) -> Outcome:
    retrieved = answer.decision.retrieve
    return Outcome(
        answer=answer.text,
        score=score,
        usage=answer.total_usage.uncached,
        retrievals=float(sum(len(round_.queries) for round_ in answer.rounds)),
        rounds=len(answer.rounds),
        stop_reason=answer.stop_reason,
        logprob=answer.logprob,
        grounded=answer.grounded if retrieved else None,
        standing=standing_of(answer, direct) if retrieved else None,
    )
