"""From answers to numbers: every measure of every answer, and what could not be judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skr_core.budget import Price, cost
from skr_core.flow import Flow
from skr_core.ports import Entailment, EntailmentModel
from skr_core.questions import Question
from skr_core.types import Answer
from skr_learn.evaluation.asking import Answers, Asked
from skr_learn.evaluation.scores import MEASURES, Scores
from skr_learn.metrics.claims import (
    Pair,
    consistency_pairs,
    key_fact_pairs,
    key_fact_scores,
    self_consistency,
    verdicts_of,
)
from skr_learn.metrics.statistics import Interval, bootstrap

KEY_FACTS = ("key_fact_recall", "key_fact_precision", "key_fact_f1")
SELF_CONSISTENCY = "self_consistency"
PRICE = "usd"
Verdicts = Mapping[Pair, Entailment | None]
_TITLES = {"title_recall", "all_titles", "citation_precision", "citation_recall"}


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer with the values of its measures.

    Attributes:
        question: What was asked.
        answer: None where the system failed.
        values: By measure. None is a failure, of the system or of the judge; a measure that the
            question's gold says nothing about is not among them.
    """

    question: Question
    answer: Answer | None
    values: Mapping[str, float | None]


def judge_all(
    answers: Answers, *, entailment: EntailmentModel | None = None, price: Price | None = None
) -> Flow[list[Judged]]:
    """Judge every answer of a system; entailment is asked once, for all pairs together.

    Args:
        answers: What one system answered.
        entailment: Judges key-facts and self-consistency, which are left out without it.
        price: The price of the model; without it there is no cost.

    Example:
        >>> from skr_core.flow import run
        >>> who = Question("1", "Who?", ("Ada",))
        >>> [judged] = run(judge_all(Answers("closed book", (Asked(who, None, "failed"),), 0.0)))
        >>> judged.values["answer_accuracy"] is None
        True
    """
    verdicts: Verdicts | None = None
    if entailment is not None:
        pairs = list(dict.fromkeys(pair for asked in answers.asked for pair in _pairs(asked)))
        judged = yield from verdicts_of(entailment, pairs)
        verdicts = dict(zip(pairs, judged, strict=True))
    return [_judged(asked, verdicts, price) for asked in answers.asked]


def mean(judged: Sequence[Judged], measure: str) -> Interval:
    """Mean over the questions that could be judged, with the number of those that could not.

    Example:
        >>> who = Question("1", "Who?", ("Ada",))
        >>> values = [{"usd": 2.0}, {"usd": None}]
        >>> interval = mean([Judged(who, None, each) for each in values], "usd")
        >>> interval.mean, interval.n, interval.n_failed
        (2.0, 1, 1)
    """
    values = [each.values[measure] for each in judged if measure in each.values]
    known = [value for value in values if value is not None]
    return bootstrap(known, n_failed=len(values) - len(known))


def difference(judged: Sequence[Judged], other: Sequence[Judged], measure: str) -> Interval:
    """Mean difference on the same questions, paired; a pair with a failure counts as failed.

    Args:
        judged: The answers of one system.
        other: Those of another to the same questions, in the same order.
        measure: The name of a measure.

    Raises:
        ValueError: There are not as many answers of the one as of the other.

    Example:
        >>> who = Question("1", "Who?", ("Ada",))
        >>> dear, cheap = [[Judged(who, None, {"usd": usd})] for usd in (3.0, 1.0)]
        >>> difference(dear, cheap, "usd").mean
        2.0
    """
    pairs = [
        (mine.values[measure], theirs.values[measure])
        for mine, theirs in zip(judged, other, strict=True)
        if measure in mine.values and measure in theirs.values
    ]
    known = [mine - theirs for mine, theirs in pairs if mine is not None and theirs is not None]
    return bootstrap(known, n_failed=len(pairs) - len(known))


def measures_of(judged: Sequence[Judged]) -> list[str]:
    """Every measure that some answer has: the usual ones in their order, then the others."""
    order = (*MEASURES, *KEY_FACTS, SELF_CONSISTENCY, PRICE)
    present = dict.fromkeys(measure for each in judged for measure in each.values)
    usual = [measure for measure in order if measure in present]
    return [*usual, *(measure for measure in present if measure not in order)]


def _pairs(asked: Asked) -> list[Pair]:
    if asked.answer is None:
        return []
    facts = key_fact_pairs(asked.answer.text, asked.question.key_facts)
    return [*facts, *consistency_pairs(asked.answer)]


def _judged(asked: Asked, verdicts: Verdicts | None, price: Price | None) -> Judged:
    values = _scored(asked)
    answer = asked.answer
    if price is not None:
        values[PRICE] = None if answer is None else cost(answer.total_usage.uncached, price)
    if verdicts is not None:
        values |= _entailed(asked, verdicts)
    return Judged(asked.question, answer, values)


def _scored(asked: Asked) -> dict[str, float | None]:
    question, answer = asked.question, asked.answer
    scores = None if answer is None else Scores.of(question, answer)
    values: dict[str, float | None] = {}
    for measure in MEASURES:
        if measure in _TITLES and not question.supporting_titles:
            continue
        if measure == "fact_recall" and not question.supporting_facts:
            continue
        value = None if scores is None else getattr(scores, measure)
        if scores is None or value is not None:
            values[measure] = None if value is None else float(value)
    return values


def _entailed(asked: Asked, verdicts: Verdicts) -> dict[str, float | None]:
    question, answer = asked.question, asked.answer
    values: dict[str, float | None] = {}
    if question.key_facts:
        facts = None
        if answer is not None:
            pairs = key_fact_pairs(answer.text, question.key_facts)
            facts = key_fact_scores([verdicts[pair] for pair in pairs], question.key_facts)
        found = (None,) * 3 if facts is None else (facts.recall, facts.precision, facts.f1)
        values |= dict(zip(KEY_FACTS, found, strict=True))
    if answer is None:
        values[SELF_CONSISTENCY] = None
    elif answer.references:
        cited = consistency_pairs(answer)
        values[SELF_CONSISTENCY] = self_consistency([verdicts[pair] for pair in cited])
    return values
