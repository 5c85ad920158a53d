"""Asking systems the same questions, and judging their answers: what ``skr evaluate`` is made of.

Asking keeps a log, so that an interrupted run goes on; a question that fails is counted and not
kept, so that the next run asks it again. Judging takes no further model: `judge_all` gives every
answer the values of `MEASURES`, and those of a `Measure` of one's own beside them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_core.budget import Price, cost
from skr_core.errors import InputError, ModelError, RetrieverError
from skr_core.files import KeyedLog
from skr_core.flow import Flow, call, gather
from skr_core.match import exact_match, is_right, token_f1
from skr_core.plain import from_plain, to_plain
from skr_core.ports import OnProgress, QuestionAnswerer
from skr_core.questions import Question
from skr_core.replies.refusals import is_refusal, without_notice
from skr_core.types import Action, Answer
from skr_learn import metrics
from skr_learn.estimator import folds
from skr_learn.records import Record, in_fixed_order, question_groups, question_key
from skr_learn.routers.base import hash_of_question

Ask = Callable[[Question], Flow[Answer]]
"""Answers one question; it may use all that the question brings, such as its contexts."""


@dataclass(frozen=True)
class System:
    """Something that answers questions, under a name.

    Attributes:
        name: The name in tables and in the log.
        ask: Answers one question.
        key: The name in the log where that differs, as of two names for one thing.
    """

    name: str
    ask: Ask = field(repr=False)
    key: str = ""

    @classmethod
    def of(
        cls, name: str, answerer: QuestionAnswerer, *, key: str = "", action: Action | None = None
    ) -> System:
        """A system that sees the question alone.

        Args:
            name: The name in tables and in the log.
            answerer: Answers the questions.
            key: The name in the log where that differs.
            action: The action for every question; None leaves it to the answerer's router.
        """
        return cls(
            name, lambda each: call(answerer.answer, answerer.aanswer, each.asked, action), key
        )


def unseen(questions: Sequence[Question], learnt: Collection[str]) -> list[Question]:
    """Leave out the questions that a router has learnt from.

    Args:
        questions: The questions.
        learnt: Short hashes of the questions that it has learnt from, as a router's `questions`.

    Raises:
        InputError: None is left.

    Example:
        >>> who, when = Question("1", "Who?", ("Ada",)), Question("2", "When?", ("1815",))
        >>> [each.id for each in unseen([who, when], [hash_of_question("who?")])]
        ['2']
    """
    learnt = frozenset(learnt)
    kept = [each for each in questions if hash_of_question(each.asked) not in learnt]
    if questions and not kept:
        raise InputError(
            f"the router has learnt from all {len(questions)} questions: evaluate it on others, or "
            "cross-fit it on its records"
        )
    return kept


@dataclass(frozen=True)
class Fold:
    """A part of the records, and the others, on which what judges it is fitted.

    Attributes:
        others: The records to fit on.
        asked: The keys of the questions of this part, see `skr_learn.records.question_key`.
    """

    others: Sequence[Record]
    asked: frozenset[str]

    def judges(self, question: Question) -> bool:
        """Whether a question is one of this part."""
        return question_key(question.asked) in self.asked


def folds_of(records: Sequence[Record]) -> list[Fold]:
    """Part records so that each question can be judged by what has not seen it.

    Example:
        >>> some = [Record.of(each, direct=("", 0), single=("", 1)) for each in ("a?", "b?")]
        >>> [(len(fold.others), *fold.asked) for fold in folds_of(some)]
        [(1, 'a?'), (1, 'b?')]
    """
    ordered = in_fixed_order(records)
    return [
        Fold(
            [ordered[place] for place in fit],
            frozenset(question_key(ordered[place].question) for place in judge),
        )
        for fit, judge in folds(question_groups(ordered))
    ]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question put to one system: an answer, or the failure in words."""

    question: Question
    answer: Answer | None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of one system, in the order of the questions.

    Attributes:
        system: The name of the system.
        asked: One for each question.
        seconds: The time that all sessions took together.
    """

    system: str
    asked: tuple[Asked, ...]
    seconds: float

    @property
    def n_failed(self) -> int:
        """Questions without an answer."""
        return sum(each.answer is None for each in self.asked)

    @property
    def last_failure(self) -> str:
        """The last failure in words; empty where nothing failed."""
        return next((each.failure for each in reversed(self.asked) if each.failure), "")


def ask_all(
    system: System,
    questions: Sequence[Question],
    log: KeyedLog,
    *,
    concurrency: int = 8,
    on_progress: OnProgress | None = None,
) -> Flow[Answers]:
    """Ask a system every question that the log does not hold yet; one that occurs twice, once.

    Args:
        system: The system that is asked.
        questions: The questions, in the order of the answers.
        log: Holds what was answered before, and gets what is answered now.
        concurrency: Questions under way at a time.
        on_progress: Called after each question.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.settings import Settings
        >>> from skr_core.testing import ScriptedModel
        >>> from skr_graphs import GraphAnswerer
        >>> answerer = GraphAnswerer(Settings.of(ScriptedModel(["Paris."])))
        >>> system = System.of("never", answerer, action="direct")
        >>> run(ask_all(system, [Question("1", "Capital?", ("Paris",))], KeyedLog(None))).n_failed
        0
    """
    done, started = count(1), time.perf_counter()
    session = f"{time.time():.3f}"
    name = system.key or system.name
    wanted = {log_key(name, question): question for question in questions}

    def one(key: str, question: Question) -> Flow[Asked]:
        if key in log.rows:
            asked = Asked(question, from_plain(Answer, log.rows[key]["answer"]))
        else:
            asked = yield from _ask(system, question)
            if asked.answer is not None:
                line = {
                    "key": key,
                    "system": name,
                    "id": question.id,
                    "session": session,
                    "elapsed": time.perf_counter() - started,
                    "answer": to_plain(asked.answer),
                }
                yield from call(log.append, log.aappend, [line])
        if on_progress is not None:
            on_progress(next(done), len(wanted))
        return asked

    flows = (one(key, question) for key, question in wanted.items())
    asked = dict(zip(wanted, (yield from gather(flows, concurrency)), strict=True))
    ordered = [replace(asked[log_key(name, each)], question=each) for each in questions]
    return Answers(system.name, tuple(ordered), _seconds(log, name))


def _ask(system: System, question: Question) -> Flow[Asked]:
    try:
        answer = yield from system.ask(question)
    except (ModelError, RetrieverError) as error:
        return Asked(question, None, " ".join(str(error).split()))
    return Asked(question, answer)


def log_key(system: str, question: Question) -> str:
    """The key of one question to one system in a log: the question with all that it brings."""
    # `repr` writes a lone surrogate as an escape.
    said = repr((question.id, question.asked, question.contexts, question.supporting_titles))
    digest = hashlib.blake2b(said.encode(), digest_size=12).hexdigest()
    return f"{system}/{digest}"


def _seconds(log: KeyedLog, name: str) -> float:
    """The last answer of each session tells how long it worked for the system."""
    sessions: dict[str, float] = {}
    for row in log.rows.values():
        if row["system"] == name:
            session = str(row["session"])
            sessions[session] = max(float(row["elapsed"]), sessions.get(session, 0.0))
    return sum(sessions.values())


@dataclass(frozen=True, slots=True)
class Scores:
    """One answer by all measures that need no further model.

    Attributes:
        question: The question that was asked.
        title_recall: Share of the supporting titles among the references, 0 to 1.
        all_titles: Whether every supporting title is among the references.
        answer_accuracy: Whether the answer chooses the right option, where there are options;
            else whether it contains a gold answer. A refusal is right where the question is known
            to be unanswerable.
        citation_precision: Share of the citations that are supporting, by titles, 0 to 1; those
            that were taken out count among them.
        citation_recall: Share of the supporting titles that are cited, 0 to 1.
        rounds: Rounds of retrieval.
        calls: Calls of the language model.
        prompt_tokens: Tokens sent to it.
        stop_reason: Why the loop ended.
        exact_match: Whether the answer is a gold answer.
        token_f1: F1 of its words with those of the best gold answer, 0 to 1.
        fact_recall: Share of the supporting sentences among the references; None where no
            sentence is recorded.
        retrieved: Whether anything was searched.
        refused: Whether the answer is a refusal.
        completion_tokens: Tokens received from the model.
        removed_markers: Citations that named no reference and were taken out.
        brier: The squared difference of the answer's chance and `answer_accuracy`; None where it
            has no chance.
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
    exact_match: bool = False
    token_f1: float = 0.0
    fact_recall: float | None = None
    retrieved: bool = True
    refused: bool = False
    completion_tokens: int = 0
    removed_markers: int = 0
    brier: float | None = None

    @classmethod
    def of(cls, question: Question, answer: Answer) -> Scores:
        """Judge an answer against its question's gold.

        Example:
            >>> from skr_core.types import Decision
            >>> answer = Answer("Who?", "It was Ada.", (), (), Decision(False), (), "known", {})
            >>> Scores.of(Question("1", "Who?", ("Ada",)), answer).answer_accuracy
            True
        """
        said = without_notice(answer.text)
        found = [reference.title for reference in answer.references]
        cited = [reference.title for reference in answer.cited_references]
        supporting = question.supporting_titles
        right = is_right(question, said)
        usage = answer.total_usage.uncached  # what the system costs, whoever measured it before
        return cls(
            question,
            title_recall=metrics.title_recall(found, supporting),
            all_titles=metrics.all_titles(found, supporting),
            answer_accuracy=right,
            citation_precision=metrics.citation_precision(
                cited, supporting, answer.removed_markers
            ),
            citation_recall=metrics.citation_recall(cited, supporting),
            rounds=len(answer.rounds),
            calls=usage.calls,
            prompt_tokens=usage.prompt_tokens,
            stop_reason=answer.stop_reason,
            exact_match=exact_match(said, question.gold),
            token_f1=token_f1(said, question.gold),
            fact_recall=_fact_recall(question, answer),
            retrieved=bool(answer.rounds),
            refused=is_refusal(said),
            completion_tokens=usage.completion_tokens,
            removed_markers=answer.removed_markers,
            brier=None if answer.chance is None else (answer.chance - right) ** 2,
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
    "exact_match",
    "token_f1",
    "fact_recall",
    "retrieved",
    "refused",
    "completion_tokens",
    "removed_markers",
    "brier",
)
"""The fields of `Scores` that are averaged over questions."""


Values = Mapping[str, float | None]
"""By measure. None is a failure, of the system or of the judge; a measure that the question's gold
says nothing about is not there."""

Measure = Callable[[Sequence[Asked]], Flow[Sequence[Values]]]
"""Further values of answers, one mapping an answer, in their order. It sees all the answers of a
system at once, so that a judge is asked for them together."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer with the values of its measures.

    Attributes:
        question: The question that was asked.
        answer: None where the system failed.
        values: The values by measure.
    """

    question: Question
    answer: Answer | None
    values: Values


PRICE = "usd"
_OF_WORDS = {"exact_match", "token_f1"}
_OF_TITLES = {"title_recall", "all_titles", "citation_precision", "citation_recall"}


def judge_all(
    answers: Answers, *, price: Price | None = None, measure: Measure | None = None
) -> Flow[list[Judged]]:
    """Judge every answer of a system.

    Args:
        answers: The answers of one system.
        price: The price of the model; without it there is no cost.
        measure: Judges the answers by further measures.

    Example:
        >>> from skr_core.flow import run
        >>> who = Question("1", "Who?", ("Ada",))
        >>> [judged] = run(judge_all(Answers("closed book", (Asked(who, None, "failed"),), 0.0)))
        >>> judged.values["answer_accuracy"] is None
        True
    """
    further: Sequence[Values] = [{}] * len(answers.asked)
    if measure is not None:
        further = yield from measure(answers.asked)
    return [
        Judged(each.question, each.answer, {**_scored(each), **more, **_priced(each, price)})
        for each, more in zip(answers.asked, further, strict=True)
    ]


def mean(judged: Sequence[Judged], measure: str) -> metrics.Interval:
    """Mean over what could be judged, with the number of answers that could not.

    Questions are resampled, not answers: of a question that was asked several times, such as of
    several models, the answers stand or fall together, and it counts once in ``n``.

    Example:
        >>> who = Question("1", "Who?", ("Ada",))
        >>> values = [{"usd": 2.0}, {"usd": None}]
        >>> interval = mean([Judged(who, None, each) for each in values], "usd")
        >>> interval.mean, interval.n, interval.n_failed
        (2.0, 1, 1)
    """
    rows = [(each.question, each.values[measure]) for each in judged if measure in each.values]
    return _by_question(rows)


def difference(judged: Sequence[Judged], other: Sequence[Judged], measure: str) -> metrics.Interval:
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
    rows = []
    for mine, theirs in zip(judged, other, strict=True):
        if measure in mine.values and measure in theirs.values:
            one, two = mine.values[measure], theirs.values[measure]
            rows.append((mine.question, None if one is None or two is None else one - two))
    return _by_question(rows)


def _by_question(rows: Sequence[tuple[Question, float | None]]) -> metrics.Interval:
    known = [(question, value) for question, value in rows if value is not None]
    groups = numbers_of([question for question, _ in known])
    interval = metrics.mean_by_question([value for _, value in known], groups)
    return replace(interval, n_failed=len(rows) - len(known))


def numbers_of(questions: Sequence[Question]) -> NDArray[np.int64]:
    """A number for each question; those of equal ones are equal, shape (n,).

    Questions are equal that were asked in the same words, after the same turns, with the same
    configuration.

    Example:
        >>> numbers_of([Question(each, each, ()) for each in ("Who?", "When?", "who?")]).tolist()
        [0, 1, 0]
    """
    numbers: dict[tuple[object, ...], int] = {}
    keys = [(question_key(each.asked), each.history, repr(each.config)) for each in questions]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def answer_rows(judged: Mapping[str, Sequence[Judged]]) -> list[dict[str, Any]]:
    """The answers by the names that ragas has, with the values of their measures beside them.

    `skr_core.files.write_rows` writes them, and `skr_core.files.frame_of` makes a DataFrame of
    them. ``reference`` has the right answers with "or" between, ``answers`` each.

    Args:
        judged: The judged answers by the names of the systems.

    Example:
        >>> who = Question("1", "Who?", ("Ada", "A."))
        >>> [row] = answer_rows({"loop": [Judged(who, None, {"calls": None})]})
        >>> row["user_input"], row["reference"], row["response"]
        ('Who?', 'Ada or A.', None)
    """
    return [
        {
            "system": system,
            "id": each.question.id,
            "user_input": each.question.asked,
            "response": each.answer and each.answer.text,
            "retrieved_contexts": [one.text for one in getattr(each.answer, "references", ())],
            "reference": " or ".join(each.question.gold),
            "answers": list(each.question.gold),
            "reference_contexts": [one.text for one in each.question.gold_contexts],
            "stop_reason": each.answer and each.answer.stop_reason,
            **each.values,
        }
        for system, answers in judged.items()
        for each in answers
    ]


def reliability_of(judged: Sequence[Judged]) -> metrics.Reliability | None:
    """How true the chances of answers are, of those that have one; None where none has.

    Example:
        >>> reliability_of([Judged(Question("1", "Who?", ("Ada",)), None, {})]) is None
        True
    """
    pairs = [
        (each.answer.chance, each.values["answer_accuracy"])
        for each in judged
        if each.answer is not None and each.answer.chance is not None
    ]
    if not pairs:
        return None
    chances, scores = np.array(pairs, dtype=np.float64).T
    return metrics.Reliability.of(chances, scores)


def measures_of(judged: Sequence[Judged]) -> list[str]:
    """Every measure that some answer has: those of `MEASURES` in their order, then the others."""
    present = dict.fromkeys(measure for each in judged for measure in each.values)
    usual = [measure for measure in MEASURES if measure in present]
    return [*usual, *(measure for measure in present if measure not in MEASURES)]


def _scored(asked: Asked) -> dict[str, float | None]:
    question, answer = asked.question, asked.answer
    scores = None if answer is None else Scores.of(question, answer)
    values: dict[str, float | None] = {}
    for measure in MEASURES:
        if measure in _OF_TITLES and not question.supporting_titles:
            continue
        if measure in _OF_WORDS and question.is_unanswerable:
            continue
        if measure == "fact_recall" and not question.supporting_facts:
            continue
        if measure == "brier" and answer is None:
            continue
        value = None if scores is None else getattr(scores, measure)
        if scores is None or value is not None:
            values[measure] = None if value is None else float(value)
    return values


def _priced(asked: Asked, price: Price | None) -> Values:
    if price is None:
        return {}
    answer = asked.answer
    return {PRICE: None if answer is None else cost(answer.total_usage.uncached, price)}


def _fact_recall(question: Question, answer: Answer) -> float | None:
    wanted = metrics.resolvable(question.supporting_facts, question.contexts)
    if not wanted:
        return None
    return metrics.supporting_fact_recall(
        metrics.facts_within(answer.references, question.contexts), wanted
    )
