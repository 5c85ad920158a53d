"""Scoring answers: the metric E of SKR equation 4, when they are collected and once more after."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from skr_core.answering import generate
from skr_core.errors import InputError, ModelError
from skr_core.flow import Flow, arun, gather, run
from skr_core.match import contains_gold, exact_match, is_right, token_f1
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.prompts.judging import ask_is_right, judge_name
from skr_core.questions import Question, types_of
from skr_core.replies.judgements import choice_match, implied_choices, parse_right
from skr_core.replies.refusals import without_notice
from skr_core.texts import encodable
from skr_core.types import NO_USAGE, Action, Answer, Decision, StopReason, Usage
from skr_learn.evaluators import Evaluator, OwnMetric, StringEvaluator, is_maker, own_metric

if TYPE_CHECKING:
    from skr_learn.evaluate import Asked, Measure, Values
    from skr_learn.records import Record, Records

Metric = Literal["accuracy", "contains", "exact_match", "f1", "choice"]
METRICS: tuple[Metric, ...] = get_args(Metric)
"""The names of the metrics that call nothing; the first is that of short right answers."""

FEW_WORDS = 5
"""Words of a right answer that answers still repeat as they are: names, dates, quantities."""


class Judge:
    """A metric for answers whose words differ from the gold: a model says right or wrong.

    Args:
        model: The judge, preferably another than the one that is judged. A `CachedModel` is asked
            nothing twice.
        rubric: What makes an answer right, in words of one's own; by default that it says the same
            as a right answer. Whether a person would judge so, `skr_learn.agreement` tells.

    Attributes:
        name: Of the model and the wording, so that scores given in other words are told apart.

    Raises:
        InputError: The rubric is no text, or an empty one.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import ScriptedModel
        >>> judge = Judge(ScriptedModel(["Right."]))
        >>> run(judge.score("It was Ada L.", Question("1", "Who?", ("Ada",))))[0]
        1.0
    """

    def __init__(self, model: AnyModel, *, rubric: str | None = None) -> None:
        if rubric is not None and not (isinstance(rubric, str) and rubric.strip()):
            raise InputError("the rubric is no text: say what makes an answer right")
        self._model, self._rubric = as_language_model(model), rubric or ""
        self.name = judge_name(self._model.name)
        if rubric:
            digest = hashlib.blake2b(encodable(rubric).encode(), digest_size=4).hexdigest()
            self.name += f"+{digest}"

    def score(self, answer: str, question: Question) -> Flow[tuple[float, Usage]]:
        """Ask for one verdict.

        Args:
            answer: What was answered.
            question: With its gold answers.

        Returns:
            1 where the answer is right and 0 where it is not, and what asking cost.

        Raises:
            ModelError: The judge failed, or gave no verdict.
        """
        if question.is_unanswerable:  # there is nothing to compare with
            return float(is_right(question, answer)), NO_USAGE
        prompt = ask_is_right(question.question, question.gold, answer, self._rubric)
        reply = yield from generate(self._model, prompt)
        verdict = parse_right(reply.text)
        if verdict is None:
            raise ModelError(f"the judge said neither right nor wrong: {reply.text[:80]!r}")
        return float(verdict), reply.usage


class TextMetric:
    """A metric that compares texts, by its name.

    Args:
        name: ``accuracy``, the right option where the question has options and a gold answer
            within the answer where it has none, as evaluation measures it; ``contains`` a gold
            answer (W2R §3); ``exact_match`` (SKR §3.1); ``f1`` of words; or ``choice``, which
            compares the option chosen, also where the gold answers alone imply the options: a
            letter, true or false, yes or no.

    Raises:
        InputError: There is no such metric.

    Example:
        >>> from skr_core.flow import run
        >>> asked = Question("1", "Which river?", ("Seine",))
        >>> run(TextMetric("exact_match").score("the Seine.", asked))[0]
        1.0
        >>> run(TextMetric().score("It is the Seine.", asked))[0]
        1.0
    """

    def __init__(self, name: Metric = METRICS[0]) -> None:
        if name not in METRICS:
            raise InputError(
                f"no metric {name!r}: give one of {', '.join(METRICS)}, a Judge, or a function of "
                "an answer and its question"
            )
        self.name: str = name
        self._measure = _MEASURES[name]

    def score(self, answer: str, question: Question) -> Flow[tuple[float, Usage]]:
        """Compare; calls nothing.

        Args:
            answer: What was answered.
            question: With its gold answers.

        Returns:
            The score, 0 to 1, and no usage.
        """
        yield from ()
        measure = is_right if question.is_unanswerable else self._measure
        return float(measure(question, without_notice(answer))), NO_USAGE


def _choice(question: Question, answer: str) -> bool:
    """Whether the right option is chosen; compared as text where nothing implies options."""
    if question.choices or implied_choices(question.gold):
        return choice_match(answer, question.gold, question.choices)
    return contains_gold(answer, question.gold)


_MEASURES: dict[Metric, Callable[[Question, str], bool | float]] = {
    "accuracy": is_right,
    "contains": lambda question, answer: contains_gold(answer, question.gold),
    "exact_match": lambda question, answer: exact_match(answer, question.gold),
    "f1": lambda question, answer: token_f1(answer, question.gold),
    "choice": _choice,
}

Scorer = TextMetric | Judge | OwnMetric
"""What scores an answer: by its text alone, or an `OwnMetric` by the whole."""

AnyMetric = Metric | Scorer | Callable[..., Any] | Evaluator | StringEvaluator
"""How answers are scored: a metric's name, a `Judge`, a function of an answer and its question that
returns a score from 0 to 1, an evaluator of LlamaIndex, LangChain or openevals, or a function
without arguments that makes one of them."""


def as_scorer(metric: AnyMetric) -> Scorer:
    """Make what scores of whatever is given as a metric.

    Raises:
        InputError: It is none of `AnyMetric`.

    Example:
        >>> as_scorer("f1").name, as_scorer(lambda: TextMetric("f1")).name
        ('f1', 'f1')
    """
    if isinstance(metric, str):
        return TextMetric(metric)
    if isinstance(metric, TextMetric | Judge | OwnMetric):
        return metric
    if is_maker(metric):
        return as_scorer(metric())
    return own_metric(metric)


def proposed_metric(questions: Iterable[Question]) -> tuple[Metric, str]:
    """The metric that right answers of this length can be compared by, and why it is no other.

    The words of the shortest right answer of each question without options are counted. Up to
    `FEW_WORDS` in the median an answer is right that contains it. A longer one is hardly ever
    repeated as it is: every answer would be wrong, and the share of shared words tells more.

    Args:
        questions: The questions.

    Returns:
        ``accuracy`` and no words, or ``f1`` and the reason in words.

    Example:
        >>> proposed_metric([Question("1", "Who?", ("Ada Lovelace",))])
        ('accuracy', '')
        >>> why = "They are let out when the tide turns, as the board had ordered"
        >>> proposed_metric([Question("1", "Why?", (why,))])[0]
        'f1'
    """
    lengths = [
        min(words)
        for each in questions
        if not (each.choices or implied_choices(each.gold))
        and (words := [len(gold.split()) for gold in each.gold if gold.strip()])
    ]
    middle = median(lengths) if lengths else 0
    if middle <= FEW_WORDS:
        return METRICS[0], ""
    return "f1", (
        f"the right answers have {middle:g} words in the median, which no answer repeats as they "
        f"are: answers are scored by the F1 of their words, and a judge would tell better"
    )


def measured_by(scorer: Scorer, name: str, *, concurrency: int = 8) -> Measure:
    """Make a measure of `skr_learn.evaluate` of a metric.

    Args:
        scorer: The metric.
        name: The name of the measure. Where the metric fails, its value is None.
        concurrency: The number of answers that are scored at a time.
    """

    def one(each: Asked) -> Flow[Values]:
        if each.answer is None:
            return {name: None}
        answers: dict[Action, Answer] = {each.answer.decision.action: each.answer}
        try:
            scores, _ = yield from score_each(scorer, answers, each.question)
        except ModelError:
            return {name: None}
        return {name: next(iter(scores.values()))}

    return lambda asked: gather(map(one, asked), concurrency)


def score_each(
    scorer: Scorer, answers: Mapping[Action, Answer], question: Question
) -> Flow[tuple[dict[Action, float], Usage]]:
    """Score the answer of each action; what two actions answered alike is scored once.

    Returns:
        The scores, and what scoring cost.
    """
    known: dict[object, float] = {}
    scores: dict[Action, float] = {}
    spent = NO_USAGE
    for action, answer in answers.items():
        if isinstance(scorer, OwnMetric):
            alike: object = answer.text, len(answer.rounds), [each.id for each in answer.references]
            alike = repr(alike)
            scoring = scorer.score(answer, question)
        else:
            alike, scoring = answer.text, scorer.score(answer.text, question)
        if alike not in known:
            known[alike], usage = yield from scoring
            spent += usage
        scores[action] = known[alike]
    return scores, spent


def rescore(
    records: Sequence[Record],
    metric: AnyMetric,
    questions: Iterable[Question] | None = None,
    *,
    concurrency: int = 8,
) -> Records:
    """Score records by another metric, or against other right answers, without asking again.

    A function is given an `Answer` made of what is on record: `question`, `text`, `decision` (to
    retrieve or not), `stop_reason`, `usage`, `logprob` and `grounded`. Its `references`,
    `citations` and `rounds` are empty.

    Args:
        records: The records.
        metric: The metric.
        questions: The questions, where their options or other right answers matter; those of the
            records by default.
        concurrency: The number of questions that are scored at a time.

    Returns:
        The records with their new scores, and the metric in their stamps.

    Raises:
        InputError: A question has no right answer, or the metric is none.
        ModelError: The judge, or whatever else scores, failed.

    Example:
        >>> from skr_learn import Record
        >>> record = Record.of("Who?", ["Ada"], direct=("Ada L.", 1), single=("Ada", 1))
        >>> [each.score for each in rescore([record], "exact_match")[0].outcomes.values()]
        [0.0, 1.0]
    """
    return run(_rescored(records, as_scorer(metric), questions, concurrency))


async def arescore(
    records: Sequence[Record],
    metric: AnyMetric,
    questions: Iterable[Question] | None = None,
    *,
    concurrency: int = 8,
) -> Records:
    """Async version of `rescore`."""
    return await arun(_rescored(records, as_scorer(metric), questions, concurrency))


def _rescored(
    records: Sequence[Record],
    scorer: Scorer,
    questions: Iterable[Question] | None,
    concurrency: int,
) -> Flow[Records]:
    from skr_learn.records import Records, question_key  # which the command's options do without

    known = {question_key(each.asked): each for each in questions or ()}

    def one(record: Record) -> Flow[Record]:
        types = types_of(str(record.extra.get("type", "")).split(", "))
        own = Question(str(record.extra.get("id", "")), record.question, record.gold, types=types)
        question = known.get(question_key(record.question), own)
        if not question.is_scorable:
            raise InputError(f"{record.question!r} has no right answer: give it in questions=")
        answers = {action: _answer(record, action) for action in record.outcomes}
        scores, _ = yield from score_each(scorer, answers, question)
        statements = {}
        for name, said in record.statements.items():
            if said.draft:
                draft: dict[Action, Answer]
                draft = {"direct": answer_of_text(record.question, said.draft)}
                found, _ = yield from score_each(scorer, draft, question)
                said = replace(said, draft_score=found["direct"])
            statements[name] = said
        return replace(
            record,
            gold=question.gold,
            outcomes={
                action: replace(outcome, score=scores[action])
                for action, outcome in record.outcomes.items()
            },
            statements=statements,
            stamp=replace(record.stamp, metric=scorer.name),
        )

    return Records((yield from gather(map(one, records), concurrency)))


def answer_of_text(question: str, text: str) -> Answer:
    """An answer of which nothing is known but its text."""
    return Answer(question, text, (), (), Decision(False), (), "known", {})


def _answer(record: Record, action: Action) -> Answer:
    outcome = record.outcomes[action]
    return replace(
        answer_of_text(record.question, outcome.answer),
        decision=Decision(action != "direct"),
        stop_reason=cast(StopReason, outcome.stop_reason),
        usage={} if outcome.usage is None else {"recorded": outcome.usage},
        logprob=outcome.logprob,
        grounded=bool(outcome.grounded),
    )
