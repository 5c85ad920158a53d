"""Asking a system many questions and judging what it says."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from skr_core.evaluation.running.scores import MEASURES as MEASURES
from skr_core.evaluation.running.scores import Scores as Scores
from skr_core.flow import Flow, call, gather
from skr_core.metrics.statistics import Interval, bootstrap
from skr_core.ports import QuestionAnswerer
from skr_core.questions import Question

OnProgress = Callable[[int, int], None]
"""Called with the number of questions done and of all."""


@dataclass(frozen=True, slots=True)
class Report:
    """A system's scores, question by question, and the seconds that all took together."""

    scores: tuple[Scores, ...]
    seconds: float

    def mean(self, measure: str) -> Interval:
        """Mean of a measure over the questions it is known for, with its bootstrap interval."""
        return bootstrap([value for value in self._values(measure) if value is not None])

    def gain_over(self, other: Report, measure: str) -> Interval:
        """Mean difference to another system on the same questions, paired."""
        pairs = zip(self._values(measure), other._values(measure), strict=True)
        return bootstrap(
            [mine - theirs for mine, theirs in pairs if mine is not None and theirs is not None]
        )

    @property
    def stop_reasons(self) -> Mapping[str, int]:
        """How many questions ended for each reason."""
        reasons = [each.stop_reason for each in self.scores]
        return {reason: reasons.count(reason) for reason in sorted(set(reasons))}

    def _values(self, measure: str) -> list[float | None]:
        values = [getattr(each, measure) for each in self.scores]
        return [None if value is None else float(value) for value in values]


def evaluate(
    system: QuestionAnswerer,
    questions: Sequence[Question],
    *,
    concurrency: int = 8,
    on_progress: OnProgress | None = None,
) -> Flow[Report]:
    """Ask every question and judge the answers; the first error is raised.

    For runs that go on where they stopped, and count what failed, see
    `skr_core.evaluation.running.asking`.

    Args:
        system: What is judged.
        questions: What it is asked.
        concurrency: Questions under way at a time.
        on_progress: Told after each question.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.types import Answer, Decision
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
        answer = yield from call(system.answer, system.aanswer, question.asked)
        if on_progress is not None:
            on_progress(next(done), len(questions))
        return Scores.of(question, answer)

    started = time.perf_counter()
    scores = yield from gather([judge(question) for question in questions], limit=concurrency)
    return Report(tuple(scores), time.perf_counter() - started)
