"""Whether a judge, or any other metric, says of answers what a person said of them.

Twenty answers that a person has marked tell a judge that can be trusted from one that cannot::

    {"question": "Who keeps it?", "answers": ["the board"], "reply": "Ada.", "right": false}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skr_core.errors import DataError, InputError, extra
from skr_core.files import read_jsonl
from skr_core.flow import Flow, arun, gather, run
from skr_core.questions import Question, read_questions
from skr_core.types import Action, Answer
from skr_learn.scoring import AnyMetric, Scorer, answer_of_text, as_scorer, score_each


@dataclass(frozen=True)
class Marked:
    """An answer that a person has marked.

    Attributes:
        question: The question with its right answers.
        reply: The answer, as a system gave it.
        right: Whether the person found it right.
    """

    question: Question
    reply: str
    right: bool


@dataclass(frozen=True)
class Agreement:
    """How often a metric says of answers what a person said.

    Attributes:
        n: The number of answers.
        share: The share on which both say the same.
        low: The lower end of its 95 % interval (Wilson).
        high: The upper end.
        kappa: Cohen's kappa, which is 0 where chance would agree as often, and 1 where all agree;
            None where the person, or the metric, said one thing of all.
        disagreed: The answers on which they differ.
    """

    n: int
    share: float
    low: float
    high: float
    kappa: float | None
    disagreed: tuple[Marked, ...] = field(repr=False)

    @property
    def sentence(self) -> str:
        """The agreement in words."""
        kappa = "not to be had" if self.kappa is None else f"{self.kappa:.2f}"
        return (
            f"agrees with the person on {self.n - len(self.disagreed)} of {self.n} marked answers, "
            f"{self.share:.0%} ({self.low:.0%} to {self.high:.0%}), Cohen's kappa {kappa}"
        )


def agreement(metric: AnyMetric, marked: Sequence[Marked], *, concurrency: int = 8) -> Agreement:
    """Compare a metric with a person.

    Args:
        metric: The metric, such as a `Judge`. A score of at least 0.5 says that an answer is right.
        marked: The answers with the person's marks, see `read_marked`.
        concurrency: The number of answers that are judged at a time.

    Raises:
        InputError: Nothing is marked, or the metric is none.
        ModelError: The judge failed, or gave no verdict.

    Example:
        >>> who = Question("1", "Who?", ("Ada Lovelace",))
        >>> marked = [Marked(who, "Ada Lovelace.", True), Marked(who, "Bob", False)]
        >>> agreement("contains", [*marked, Marked(who, "Lady Lovelace", True)]).sentence
        "agrees with the person on 2 of 3 marked answers, 67% (21% to 94%), Cohen's kappa 0.40"
    """
    return run(_agreement(as_scorer(metric), marked, concurrency))


async def aagreement(
    metric: AnyMetric, marked: Sequence[Marked], *, concurrency: int = 8
) -> Agreement:
    """Async version of `agreement`."""
    return await arun(_agreement(as_scorer(metric), marked, concurrency))


def _agreement(scorer: Scorer, marked: Sequence[Marked], concurrency: int) -> Flow[Agreement]:
    if not marked:
        raise InputError("no answer is marked: give some twenty, right ones and wrong ones")

    def one(each: Marked) -> Flow[bool]:
        answers: dict[Action, Answer]
        answers = {"direct": answer_of_text(each.question.asked, each.reply)}
        scores, _ = yield from score_each(scorer, answers, each.question)
        return scores["direct"] >= 0.5

    said = yield from gather(map(one, marked), concurrency)
    with extra("learning"):
        from scipy.stats import binomtest
        from sklearn.metrics import cohen_kappa_score
    person = [each.right for each in marked]
    differ = tuple(each for each, one in zip(marked, said, strict=True) if one is not each.right)
    n, agreed = len(marked), len(marked) - len(differ)
    interval = binomtest(agreed, n).proportion_ci(method="wilson")
    both = len({*person}) == len({*said}) == 2
    kappa = float(cohen_kappa_score(person, said)) if both else None
    return Agreement(n, agreed / n, float(interval.low), float(interval.high), kappa, differ)


def read_marked(path: str | Path) -> list[Marked]:
    """Read answers that a person has marked: a question with its answers, ``reply``, ``right``.

    Args:
        path: A file of JSONL, plain or gzip-compressed.

    Raises:
        InputError: There is no such file.
        DataError: A line is broken, or none holds a question.
    """
    path, marked = Path(path), []
    for question, (number, row) in zip(read_questions(path), read_jsonl(path), strict=True):
        reply, right = row.get("reply"), row.get("right")
        if not (isinstance(reply, str) and isinstance(right, bool) and question.is_scorable):
            wanted = "question, answers, the reply that was given, and right (true or false)"
            raise DataError(path, number, f"a marked answer has {wanted}")
        marked.append(Marked(question, reply, right))
    return marked
