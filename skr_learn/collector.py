"""Collector: one question answered by every action, scored, and put to routers that ask the model.

With workers it is what each of them makes once; what it makes of a question travels back as values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from skr_core.bounds import Bounds, bounded
from skr_core.errors import ModelError, RetrieverError
from skr_core.flow import Flow, call
from skr_core.ports import Router
from skr_core.questions import Question
from skr_core.references.citations import resolve_citations
from skr_core.replies.refusals import is_refusal
from skr_core.rivals import candidate_of_draft, confirmation_in, standing_of
from skr_core.settings import ActionAnswerer, answerer_of
from skr_core.types import NO_USAGE, Action, Answer, Stamp, Usage
from skr_learn.evaluators import is_maker
from skr_learn.records import Draft, Outcome, Record, Statement
from skr_learn.routers.registry import asking_routers
from skr_learn.scoring import AnyMetric, Scorer, answer_of_text, as_scorer, score_each

T = TypeVar("T")

Asked = Router | Callable[[Sequence[Record]], Router]
"""A router that asks the model, or what makes one of the records that it may show to the model."""

Asking = Mapping[str, Asked] | Sequence[str]
"""Routers by the name of their statements, or names of routers that ask the system's model."""


def make_collector(app: object, metric: AnyMetric, ask: Asking | None) -> Collector:
    """Make what asks and scores: here, and in each worker where there are some."""
    answerer = answerer_of(app() if is_maker(app) else app)
    scorer = as_scorer(metric)
    if not isinstance(ask, Mapping):
        ask = asking_routers(ask or (), answerer.settings.model)
    return Collector(answerer, scorer, dict(ask))


@dataclass(frozen=True)
class Attempt:
    """What became of a question.

    Attributes:
        record: The record; None where it failed.
        spent: The cost, as far as its calls came back.
        failure: The reason why it failed.
    """

    record: Record | None
    spent: Usage
    failure: str = ""


def ask_question(stamp: Stamp, collector: Collector, item: tuple[str, Question]) -> Flow[Attempt]:
    """Answer a question by every action.

    Args:
        stamp: The stamp of the record.
        collector: The collector of the place where this is done.
        item: The question's key, and the question.
    """
    spent: list[Usage] = []
    return (yield from _attempt(collector.outcomes(item[1], stamp, spent), spent))


def ask_routers(
    records: Sequence[Record], collector: Collector, item: tuple[str, tuple[Question, Record]]
) -> Flow[Attempt]:
    """Ask routers about a question on record.

    Args:
        records: The records that routers are made of which show the model what it knew before.
        collector: The collector of the place where this is done.
        item: The question's key, the question and its record.
    """
    spent: list[Usage] = []
    return (yield from _attempt(collector.statements(*item[1], records, spent), spent))


def _attempt(work: Flow[Record], spent: list[Usage]) -> Flow[Attempt]:
    try:
        record = yield from work
    except (ModelError, RetrieverError) as error:
        return Attempt(None, sum(spent, NO_USAGE), str(error))
    return Attempt(record, sum(spent, NO_USAGE))


@dataclass(frozen=True)
class Collector:
    """Asks, and scores: all that a worker holds. What calls cost is appended to `spent`."""

    answerer: ActionAnswerer
    scorer: Scorer
    ask: Mapping[str, Asked]

    def outcomes(self, question: Question, stamp: Stamp, spent: list[Usage]) -> Flow[Record]:
        """Answer a question by every action, and score the answers."""
        beside = {"history": question.history, "config": question.config}
        given: dict[str, Any] = {name: each for name, each in beside.items() if each}
        answerer = self.answerer
        answers = yield from call(
            answerer.answer_each, answerer.aanswer_each, question.asked, **given
        )
        scores, judging = yield from self._scores(answers, question)
        outcomes = {action: Outcome.of(each, scores[action]) for action, each in answers.items()}
        for action, answer in answers.items():
            if answer.decision.retrieve:
                standing = standing_of(answer, answers["direct"].text)
                outcomes[action] = replace(outcomes[action], standing=standing)
        if "loop" in answers:
            drafts, more = yield from self._drafts(answers, scores, question)
            outcomes["loop"] = replace(outcomes["loop"], drafts=drafts)
            judging += more
        direct = outcomes["direct"]
        if "single" in answers and direct.candidate.text:
            seen = confirmation_in(
                answers["direct"].question, direct.candidate.text, answers["single"].references
            )
            outcomes["direct"] = replace(direct, confirmation=seen)
        spent.append(judging)
        for action, answer in answers.items():
            # The first round of the loop is paid for once, whatever it stands for.
            shared = action == "single" and "loop" in answers
            usage = answer.usage.get("answer_anyway", NO_USAGE) if shared else answer.total_usage
            spent.append(usage)
        extra = {"id": question.id}
        if question.types:
            extra["type"] = ", ".join(question.types)
        # Of a question with a history the one that stands alone is what was routed and searched.
        asked = answers["direct"].question
        return Record(asked, question.gold, outcomes, stamp, extra=extra)

    def statements(
        self,
        question: Question,
        record: Record,
        records: Sequence[Record],
        spent: list[Usage],
    ) -> Flow[Record]:
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
            spent.append(decision.usage)
            draft_score = None
            if decision.draft:
                drafted: dict[Action, Answer]
                drafted = {"direct": answer_of_text(record.question, decision.draft)}
                scores, judged = yield from self._scores(drafted, question)
                draft_score = scores["direct"]
                spent.append(judged)
            said[name] = Statement(
                decision.retrieve,
                decision.score,
                decision.usage.uncached,  # what it costs who asks for the first time
                decision.draft,
                draft_score,
            )
        return replace(record, statements=said)

    def _drafts(
        self, answers: Mapping[Action, Answer], scores: Mapping[Action, float], question: Question
    ) -> Flow[tuple[tuple[Draft, ...], Usage]]:
        """Score what each round of the loop drafted; a text that was served is scored already."""
        loop, made, spent = answers["loop"], [], NO_USAGE
        served = {answer.text: scores[action] for action, answer in answers.items()}
        shown = [each for action in answers for each in answers[action].references]
        known = {each.id: each for each in shown}
        for each in loop.rounds:
            if is_refusal(each.draft) or not known.keys() >= {*each.given}:
                continue  # what a round in the middle was shown need not be known
            references = tuple(known[key] for key in each.given)
            text = resolve_citations(each.draft, references).text
            if text not in served:
                said: dict[Action, Answer] = {
                    "loop": replace(loop, text=text, references=references)
                }
                found, cost = yield from self._scores(said, question)
                served[text], spent = found["loop"], spent + cost
            candidate = candidate_of_draft(each.draft, references)
            assert candidate.standing is not None
            made.append(
                Draft(each.draft, served[text], bool(candidate.grounded), candidate.standing)
            )
        return tuple(made), spent

    def _scores(
        self, answers: Mapping[Action, Answer], question: Question
    ) -> Flow[tuple[dict[Action, float], Usage]]:
        return (yield from self._in_time(score_each(self.scorer, answers, question)))

    def _in_time(self, asking: Flow[T]) -> Flow[T]:
        """What is asked beside a question has the seconds of one."""
        seconds = self.answerer.settings.budget.deadline_s
        return (yield from bounded(asking, Bounds.within(seconds)))
