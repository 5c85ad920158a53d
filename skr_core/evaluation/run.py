"""Asking a system many questions and judging what it says."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from skr_core.evaluation.answers import contains_gold
from skr_core.evaluation.questions import Question
from skr_core.evaluation.references import (
    all_titles,
    citation_precision,
    citation_recall,
    title_recall,
)
from skr_core.evaluation.statistics import Interval, bootstrap
from skr_core.flow import Flow, call, gather
from skr_core.ports import QuestionAnswerer
from skr_core.types import Answer

OnProgress = Callable[[int, int], None]
"""Called with the number of questions done and of all."""


@dataclass(frozen=True, slots=True)
class Scores:
    """One question, judged.

    Attributes:
        title_recall: Share of the supporting titles among the references, 0 to 1.
        all_titles: Whether every supporting title is among the references.
        answer_accuracy: Whether the answer contains a gold answer.
        citation_precision: Share of the cited titles that are supporting, 0 to 1.
        citation_recall: Share of the supporting titles that are cited, 0 to 1.
        rounds: Of retrieval.
        calls: Of the language model.
        prompt_tokens: Sent to it.
        stop_reason: Why the loop ended.
    """

    question: Question
    title_recall: float
    all_titles: bool
    answer_accuracy: bool
    citation_precision: float
    citation_recall: float
    rounds: int
    calls: int
    prompt_tokens: int
    stop_reason: str

    @classmethod
    def of(cls, question: Question, answer: Answer) -> Scores:
        """Judge an answer against its question's gold."""
        found = [reference.title for reference in answer.references]
        cited = [reference.title for reference in answer.cited_references]
        supporting = question.supporting_titles
        usage = answer.total_usage
        return cls(
            question,
            title_recall=title_recall(found, supporting),
            all_titles=all_titles(found, supporting),
            answer_accuracy=contains_gold(answer.text, question.gold),
            citation_precision=citation_precision(cited, supporting),
            citation_recall=citation_recall(cited, supporting),
            rounds=len(answer.rounds),
            calls=usage.calls,
            prompt_tokens=usage.prompt_tokens,
            stop_reason=answer.stop_reason,
        )


MEASURES = (
    "title_recall",
    "all_titles",
    "answer_accuracy",
    "citation_precision",
    "citation_recall",
    "rounds",
    "calls",
    "prompt_tokens",
)
"""The fields of `Scores` that are averaged over questions."""


@dataclass(frozen=True, slots=True)
class Report:
    """A system's scores, question by question, and the seconds that all took together."""

    scores: tuple[Scores, ...]
    seconds: float

    def mean(self, measure: str) -> Interval:
        """Mean of a measure over the questions, with its bootstrap interval."""
        return bootstrap(self._values(measure))

    def gain_over(self, other: Report, measure: str) -> Interval:
        """Mean difference to another system on the same questions, paired."""
        pairs = zip(self._values(measure), other._values(measure), strict=True)
        return bootstrap([mine - theirs for mine, theirs in pairs])

    @property
    def stop_reasons(self) -> Mapping[str, int]:
        """How many questions ended for each reason."""
        reasons = [each.stop_reason for each in self.scores]
        return {reason: reasons.count(reason) for reason in sorted(set(reasons))}

    def _values(self, measure: str) -> list[float]:
        return [float(getattr(each, measure)) for each in self.scores]


def evaluate(
    system: QuestionAnswerer,
    questions: Sequence[Question],
    *,
    concurrency: int = 8,
    on_progress: OnProgress | None = None,
) -> Flow[Report]:
    """Ask every question and judge the answers.

    Args:
        system: What is judged.
        questions: What it is asked.
        concurrency: Questions under way at a time.
        on_progress: Told after each question.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.types import Decision
        >>> class Parrot:
        ...     def answer(self, question):
        ...         return Answer(question, question, (), (), Decision(False), (), "known", {})
        ...     async def aanswer(self, question):
        ...         return self.answer(question)
        >>> report = run(evaluate(Parrot(), [Question("1", "Paris?", ("Paris",))]))
        >>> report.mean("answer_accuracy").mean
        1.0
    """
    done = count(1)  # one step, so that threads do not lose any

    def judge(question: Question) -> Flow[Scores]:
        answer = yield from call(system.answer, system.aanswer, question.question)
        if on_progress is not None:
            on_progress(next(done), len(questions))
        return Scores.of(question, answer)

    started = time.perf_counter()
    scores = yield from gather([judge(question) for question in questions], limit=concurrency)
    return Report(tuple(scores), time.perf_counter() - started)
