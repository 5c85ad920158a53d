"""Collecting self-knowledge (SKR §3.1): each question answered without and with references.

The answers come from the flows that the graph serves, so that the records tell how the user's own
system behaves.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from skr_core import answering
from skr_core.budget import MAX_REFERENCES
from skr_core.errors import ModelError, RetrieverError
from skr_core.flow import Flow, arun, call, gather, run
from skr_core.plain import to_plain
from skr_core.ports import LanguageModel, Retriever
from skr_core.prompts.templates import PROMPT_VERSION
from skr_core.questions import Question
from skr_core.replies.answer import is_refusal
from skr_core.self_knowledge.log import Ledger, question_key
from skr_core.self_knowledge.progress import OnProgress, Progress, Tally
from skr_core.self_knowledge.records import SelfKnowledge, Stamp
from skr_core.self_knowledge.scoring import Judge, Metric, TextMetric
from skr_core.types import Demonstration, Generation, Reference

log = logging.getLogger(__name__)


def collect(
    questions: Iterable[Question],
    *,
    model: LanguageModel,
    retriever: Retriever,
    out: str | Path | None = None,
    metric: Metric | Judge = "contains",
    demonstrations: Sequence[Demonstration] = (),
    concurrency: int = 8,
    corpus: str = "",
    on_progress: OnProgress | None = None,
) -> list[SelfKnowledge]:
    """Answer each question directly and with references, and record both scores.

    Run it again with the same file and it goes on where it was: what is on record is not asked
    again, what failed is. A question that occurs twice is asked once; one without a gold answer is
    left out. Where the retriever finds nothing there is nothing to add to the direct answer.

    Args:
        questions: With their gold answers.
        model: The one to be known.
        retriever: Finds the references.
        out: File the records are appended to.
        metric: How answers are scored.
        demonstrations: Worked examples for both prompts.
        concurrency: Questions under way at a time.
        corpus: A name for what is searched, for the stamp.
        on_progress: Told how far it is.

    Returns:
        The records of the questions given, in their order; those that failed are missing.

    Raises:
        InputError: There is no such metric, or the file cannot be appended to.
        DataError: The file holds something else than records.
        StampMismatch: The file holds records made with something else.

    Example:
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> model = ScriptedModel(
        ...     {"answer_directly": ["Bob."], "answer_with_references": ["Ada Lovelace [1]."]}
        ... )
        >>> retriever = MappingRetriever({"Who?": ["It was Ada Lovelace."]})
        >>> collect([Question("1", "Who?", ("Ada",))], model=model, retriever=retriever)[0].effect
        'helps'
    """
    work = _collection(model, retriever, metric, demonstrations, corpus, on_progress)
    with _open(out, work.stamp) as ledger:
        return run(work.flow(questions, ledger, concurrency))


async def acollect(
    questions: Iterable[Question],
    *,
    model: LanguageModel,
    retriever: Retriever,
    out: str | Path | None = None,
    metric: Metric | Judge = "contains",
    demonstrations: Sequence[Demonstration] = (),
    concurrency: int = 8,
    corpus: str = "",
    on_progress: OnProgress | None = None,
) -> list[SelfKnowledge]:
    """The same as `collect`, with awaited calls.

    Example:
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> asyncio.run(acollect([], model=ScriptedModel(), retriever=MappingRetriever({})))
        []
    """
    work = _collection(model, retriever, metric, demonstrations, corpus, on_progress)
    opened = await asyncio.to_thread(_open, out, work.stamp)
    with opened as ledger:
        return await arun(work.flow(questions, ledger, concurrency))


@dataclass(frozen=True)
class _Collection:
    model: LanguageModel
    retriever: Retriever
    scorer: TextMetric | Judge
    demonstrations: Sequence[Demonstration]
    stamp: Stamp
    on_progress: OnProgress | None

    def flow(
        self, questions: Iterable[Question], ledger: Ledger | None, concurrency: int
    ) -> Flow[list[SelfKnowledge]]:
        wanted: dict[str, Question] = {}
        unscored = 0
        for question in questions:
            if any(answer.strip() for answer in question.gold):
                wanted.setdefault(question_key(question.question), question)
            else:
                unscored += 1
        held = ledger.records if ledger is not None else {}
        records = {key: held[key] for key in wanted if key in held}
        tally = Tally(
            Progress(len(wanted), len(records), len(records), unscored=unscored), self.on_progress
        )
        new = yield from gather(
            [
                self._record(question, ledger, tally)
                for key, question in wanted.items()
                if key not in records
            ],
            concurrency,
        )
        records |= {question_key(record.question): record for record in new if record is not None}
        if tally.progress.failed:
            log.warning(
                "%d of %d questions failed and are asked again by the next run; the last: %s",
                tally.progress.failed,
                len(wanted),
                tally.progress.last_failure,
            )
        return [records[key] for key in wanted if key in records]

    def _record(
        self, question: Question, ledger: Ledger | None, tally: Tally
    ) -> Flow[SelfKnowledge | None]:
        try:
            record = yield from self._answers(question, tally)
        except (ModelError, RetrieverError) as error:
            tally.fail(f"{question.question}: {error}")
            return None
        if ledger is not None:
            yield from call(ledger.append, ledger.aappend, record)
        tally.finish()
        return record

    def _answers(self, question: Question, tally: Tally) -> Flow[SelfKnowledge]:
        asked = question.question
        direct = yield from answering.answer_directly(self.model, asked, self.demonstrations)
        tally.spend(direct.usage)
        found = yield from self._references(asked)
        # What the graph hands to the model at most.
        references = found[:MAX_REFERENCES]
        augmented = Generation(direct.text)
        if references:
            augmented = yield from answering.answer_with_references(
                self.model, asked, references, self.demonstrations
            )
            tally.spend(augmented.usage)
        direct_score, judged = yield from self.scorer.score(direct.text, asked, question.gold)
        augmented_score = direct_score
        tally.spend(judged)
        if references:
            augmented_score, again = yield from self.scorer.score(
                augmented.text, asked, question.gold
            )
            tally.spend(again)
            judged += again
        spent = {
            "answer_directly": direct.usage,
            "answer_with_references": augmented.usage,
            "judge": judged,
        }
        extra: dict[str, Any] = {
            "id": question.id,
            "usage": {task: to_plain(usage) for task, usage in spent.items() if usage.calls},
            "direct_refused": is_refusal(direct.text),
            "augmented_refused": is_refusal(augmented.text),
            "references": [reference.id for reference in references],
        }
        if direct.logprobs:
            extra["direct_logprob"] = math.fsum(direct.logprobs) / len(direct.logprobs)
        return SelfKnowledge(
            question=asked,
            gold=question.gold,
            direct_answer=direct.text,
            augmented_answer=augmented.text,
            direct_score=direct_score,
            augmented_score=augmented_score,
            stamp=self.stamp,
            extra=extra,
        )

    def _references(self, query: str) -> Flow[Sequence[Reference]]:
        try:
            return (yield from call(self.retriever.retrieve, self.retriever.aretrieve, query))
        except Exception as error:  # whatever a user's retriever raises, the collection goes on
            raise RetrieverError(str(error)) from error


def _collection(
    model: LanguageModel,
    retriever: Retriever,
    metric: Metric | Judge,
    demonstrations: Sequence[Demonstration],
    corpus: str,
    on_progress: OnProgress | None,
) -> _Collection:
    scorer = metric if isinstance(metric, Judge) else TextMetric(metric)
    stamp = Stamp(model.name, retriever.name, corpus, _prompt_version(demonstrations), scorer.name)
    return _Collection(model, retriever, scorer, tuple(demonstrations), stamp, on_progress)


def _open(out: str | Path | None, stamp: Stamp) -> AbstractContextManager[Ledger | None]:
    return nullcontext() if out is None else Ledger(Path(out), stamp)


def _prompt_version(demonstrations: Sequence[Demonstration]) -> str:
    if not demonstrations:
        return PROMPT_VERSION
    shown = repr([to_plain(each) for each in demonstrations]).encode(errors="replace")
    return f"{PROMPT_VERSION}-{blake2b(shown, digest_size=4).hexdigest()}"
