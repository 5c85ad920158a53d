"""Collector: one question answered by every action, scored, and put to routers that ask the model.

With workers it is what each of them makes once; what it makes of a question travels back as values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from skr_core.bounds import Bounds, bounded
from skr_core.candidates import Margins
from skr_core.errors import ModelError, RetrieverError
from skr_core.flow import Flow, call
from skr_core.ports import Router
from skr_core.questions import Question
from skr_core.rivals import measure_margins, rivals_in, standing_of
from skr_core.settings import ActionAnswerer
from skr_core.types import NO_USAGE, Action, Answer, Stamp, Usage
from skr_learn.routers.registry import asking_routers
from skr_learn.self_knowledge.records import Outcome, SelfKnowledge, Statement
from skr_learn.self_knowledge.scoring import Judge, Metric, TextMetric

T = TypeVar("T")

Asked = Router | Callable[[Sequence[SelfKnowledge]], Router]
"""A router that asks the model, or what makes one of the records that it may show to the model."""

Scorer = Metric | TextMetric | Judge | Callable[[], Judge]
"""How answers are scored: by a name, by a judge, or by what makes one."""

Asking = Mapping[str, Asked] | Sequence[str]
"""Routers by the name of their statements, or names of routers that ask the system's model."""


def make_collector(
    answerer: ActionAnswerer | Callable[[], ActionAnswerer], metric: Scorer, ask: Asking | None
) -> Collector:
    """Make what asks and scores: here, and in each worker where there are some."""
    answerer = answerer if isinstance(answerer, ActionAnswerer) else answerer()
    scorer = TextMetric(metric) if isinstance(metric, str) else metric
    scorer = scorer if isinstance(scorer, TextMetric | Judge) else scorer()
    if not isinstance(ask, Mapping):
        ask = asking_routers(ask or (), answerer.settings.model)
    return Collector(answerer, scorer, dict(ask))


@dataclass(frozen=True)
class Attempt:
    """What became of a question.

    Attributes:
        record: None where it failed.
        spent: What it cost, as far as its calls came back.
        failure: Why it failed.
    """

    record: SelfKnowledge | None
    spent: Usage
    failure: str = ""


@dataclass
class Spent:
    """Adds up what the calls of a question cost."""

    usage: Usage = NO_USAGE

    def add(self, usage: Usage) -> None:
        """Add what one of them cost."""
        self.usage += usage


def ask_question(stamp: Stamp, collector: Collector, item: tuple[str, Question]) -> Flow[Attempt]:
    """Answer a question by every action.

    Args:
        stamp: Of the record.
        collector: Of the place where this is done.
        item: The question's key, and the question.
    """
    spent = Spent()
    try:
        record = yield from collector.outcomes(item[1], stamp, spent)
    except (ModelError, RetrieverError) as error:
        return Attempt(None, spent.usage, str(error))
    return Attempt(record, spent.usage)


def ask_routers(
    records: Sequence[SelfKnowledge],
    collector: Collector,
    item: tuple[str, tuple[Question, SelfKnowledge]],
) -> Flow[Attempt]:
    """Ask routers about a question on record.

    Args:
        records: What routers are made of that show the model what it knew before.
        collector: Of the place where this is done.
        item: The question's key, the question and its record.
    """
    question, record = item[1]
    spent = Spent()
    try:
        record = yield from collector.statements(question, record, records, spent)
    except (ModelError, RetrieverError) as error:
        return Attempt(None, spent.usage, str(error))
    return Attempt(record, spent.usage)


@dataclass(frozen=True)
class Collector:
    """Asks, and scores: all that a worker holds."""

    answerer: ActionAnswerer
    scorer: TextMetric | Judge
    ask: Mapping[str, Asked]

    def outcomes(self, question: Question, stamp: Stamp, spent: Spent) -> Flow[SelfKnowledge]:
        """Answer a question by every action, and score the answers."""
        asked = question.asked
        answers = yield from call(self.answerer.answer_each, self.answerer.aanswer_each, asked)
        margins = yield from self._margins(asked, answers, spent)
        outcomes: dict[Action, Outcome] = {}
        scores: dict[str, float] = {}
        judging = NO_USAGE
        for action, answer in answers.items():
            if answer.text not in scores:  # two actions often answer the same
                scores[answer.text], judged = yield from self._score(answer.text, question)
                judging += judged
            made = _outcome(answer, scores[answer.text], answers["direct"].text)
            outcomes[action] = replace(made, margins=margins.get(action))
        # The first round of the loop is paid for once, whatever it stands for.
        spent.add(sum((answers[each].total_usage for each in ("direct", "loop")), judging))
        spent.add(answers["single"].usage.get("answer_anyway", NO_USAGE))
        extra = {"id": question.id}
        if question.types:
            extra["type"] = ", ".join(question.types)
        return SelfKnowledge(asked, question.gold, outcomes, stamp, extra=extra)

    def statements(
        self,
        question: Question,
        record: SelfKnowledge,
        records: Sequence[SelfKnowledge],
        spent: Spent,
    ) -> Flow[SelfKnowledge]:
        """Ask the routers that the record lacks statements of."""
        said = dict(record.statements)
        for name, router in self.ask.items():
            if name in said:
                continue
            if not isinstance(router, Router):
                others = [each for each in records if each.question != record.question]
                router = router(others)
            decision = yield from self._in_time(
                call(router.decide, router.adecide, record.question)
            )
            spent.add(decision.usage)
            draft_score = None
            if decision.draft:
                draft_score, judged = yield from self._score(decision.draft, question)
                spent.add(judged)
            said[name] = Statement(
                decision.retrieve,
                decision.score,
                decision.usage.uncached,  # what it costs who asks for the first time
                decision.draft,
                draft_score,
            )
        return replace(record, statements=said)

    def _margins(
        self, question: str, answers: Mapping[Action, Answer], spent: Spent
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
        found, cost = yield from self._in_time(
            measure_margins(settings.likelihoods, list(rivals.values()))
        )
        spent.add(cost)
        return dict(zip(rivals, found, strict=True))

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
