"""monitor: what a calibrated router serves beside what was expected when it was calibrated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from pathlib import Path

import numpy as np

from skr_core.errors import InputError
from skr_core.routers.saving import SavedRouter
from skr_learn.expected import Expected
from skr_learn.outputs import answer_of_output
from skr_learn.summary import aligned

FEWEST = 30
"""Answers below which nothing is told from chance."""
LEVEL = 0.002
"""How likely one figure is ever to raise a false alarm, however often one looks."""

_OF_QUESTIONS = ("novelty", "novel")
_UNLIKE = "the questions are unlike the records: collect records of such questions"
_DRIFTED = "the answers have drifted: collect records anew"


@dataclass(frozen=True)
class Change:
    """A figure of what is served beside what was expected of it.

    Attributes:
        name: The name of the figure.
        expected: What was expected.
        seen: What is seen.
        n: The number of answers that tell of it.
        low: The lower end of the interval of seen minus expected, at a level that holds for looking
            again and again.
        high: The upper end.
    """

    name: str
    expected: float
    seen: float
    n: int
    low: float
    high: float

    @property
    def alarm(self) -> bool:
        """Whether it surely differs; that questions are more familiar is none."""
        less = self.high < 0 and self.name not in _OF_QUESTIONS
        return self.n >= FEWEST and (self.low > 0 or less)

    @property
    def says(self) -> str:
        """What follows of it where it is an alarm."""
        return _UNLIKE if self.name in _OF_QUESTIONS else _DRIFTED

    @property
    def sentence(self) -> str:
        """What it says."""
        if self.n < FEWEST:
            return f"{self.name}: {self.n} answers are too few to tell; it takes {FEWEST}."
        told = self.says if self.alarm else "nothing to see"
        return f"{self.name}: {self.seen:.3f} where {self.expected:.3f} was expected; {told}."


@dataclass(frozen=True)
class Monitored:
    """What is served beside what was expected; `str` of it is a table.

    Attributes:
        n: The number of answers.
        changes: The figures, those of the questions first.
    """

    n: int
    changes: tuple[Change, ...]

    @property
    def alarm(self) -> bool:
        """Whether any of the figures surely differs."""
        return any(each.alarm for each in self.changes)

    @property
    def verdict(self) -> str:
        """One sentence: what follows of all figures."""
        alarms = [each for each in self.changes if each.alarm]
        if not alarms:
            if self.n < FEWEST:
                return f"Too few answers to tell: {self.n} so far, and it takes {FEWEST}."
            return f"Nothing to see in {self.n} answers."
        # Where the questions are others, so is all that follows from them.
        says, names = alarms[0].says, ", ".join(each.name for each in alarms)
        return f"{says[0].upper()}{says[1:]} ({names}; {self.n} answers)."

    @property
    def sentences(self) -> list[str]:
        """The verdict, then what each figure says."""
        return [self.verdict, *(each.sentence for each in self.changes)]

    def __str__(self) -> str:
        rows = [("", "expected", "seen", "n", "difference", "")]
        rows += [
            (
                each.name,
                f"{each.expected:.3f}",
                f"{each.seen:.3f}",
                f"{each.n}",
                f"{each.low:+.3f} to {each.high:+.3f}",
                "alarm" if each.alarm else "",
            )
            for each in self.changes
        ]
        return "\n".join([self.verdict, "", *aligned(rows)])


def monitor(
    answers: Iterable[object], router: object, right: Sequence[bool | None] = ()
) -> Monitored:
    """Compare what a calibrated router serves with what was expected when it was calibrated.

    An alarm is raised where a figure surely differs, at a level that holds however often one looks.

    Args:
        answers: The answers, as the system served them: `skr_core.Answer`, or outputs that
            `skr_learn.outputs.answer_of_output` reads.
        router: The calibrated policy, or its file.
        right: What somebody says of each answer, in the same order; None where nobody does. By
            default nobody does.

    Raises:
        InputError: The router has no figures of its calibration, something is no answer, or there
            are not as many of `right` as answers.

    Example:
        >>> from skr_learn import Record, calibrate
        >>> records = [
        ...     Record.of(f"What is {n} plus {n}?", direct=("4", n % 2), single=(f"{n}", 1))
        ...     for n in range(60)
        ... ]
        >>> router = calibrate(records, routers=["ladder"], anyway=True).router
        >>> served = {"question": "Who?", "answer": "Ada", "decision": {"retrieve": False}}
        >>> monitor([served], router).verdict
        'Too few answers to tell: 1 so far, and it takes 30.'
    """
    expected = _expected_of(router)
    served = [answer_of_output(each) for each in answers]
    judged = list(right) or [None] * len(served)
    if len(judged) != len(served):
        raise InputError(f"there are {len(served)} answers, and {len(judged)} are said to be right")
    n, decisions = expected.n, [each.decision for each in served]
    found = [
        _mean("novelty", [each.novelty for each in decisions], *expected.novelty, n),
        _share("novel", [each.novel for each in decisions], expected.novel, n),
    ]
    for action, share in expected.shares.items():
        found.append(_share(action, [each.action == action for each in decisions], share, n))
    if expected.chance is not None:
        found.append(_mean("chance", [each.chance for each in served], *expected.chance, n))
        found.append(_right([each.chance for each in served], judged, n))
    return Monitored(len(served), tuple(each for each in found if each is not None))


def errors_of(n: int) -> float:
    """Return how many standard errors a mean of n is surely within, at every n at once.

    It is Robbins' normal mixture: a fixed number would be passed by chance sooner or later.

    Example:
        >>> [round(errors_of(n), 1) for n in (30, 300, 3000)]
        [5.1, 4.0, 4.1]
    """
    return sqrt((n + FEWEST) / n * log((n + FEWEST) / FEWEST / LEVEL**2))


def _expected_of(router: object) -> Expected:
    found = getattr(router, "expected", None)
    if isinstance(router, str | Path):
        saved = SavedRouter.read(router)
        with saved.unpacking():
            told = saved.parameters.get("expected")
            found = None if told is None else Expected.of_plain(told)
    if not isinstance(found, Expected):
        raise InputError(
            "this router has no figures of its calibration: make it anew with skr calibrate; one "
            "that does the same for every question, or that asks the model, never has them"
        )
    return found


def _mean(
    name: str, values: Iterable[float | None], expected: float, spread: float, records: int
) -> Change | None:
    """Compare means; of the two spreads the larger counts."""
    known = np.array([each for each in values if each is not None], dtype=np.float64)
    if not (n := len(known)):
        return None
    seen, spread = float(known.mean()), max(spread, float(known.std()))
    margin, change = errors_of(n) * spread * sqrt(1 / n + 1 / records), seen - expected
    return Change(name, expected, seen, n, change - margin, change + margin)


def _share(
    name: str, values: Iterable[bool | None], expected: float, records: int
) -> Change | None:
    """Compare shares by their Wilson intervals (Newcombe 1998), which hold for rare things too."""
    known = [each for each in values if each is not None]
    if not (n := len(known)):
        return None
    seen, errors = sum(known) / n, errors_of(n)
    low, high = _wilson(seen, n, errors)
    before_low, before_high = _wilson(expected, records, errors)
    change, below = seen - expected, sqrt((seen - low) ** 2 + (before_high - expected) ** 2)
    above = sqrt((high - seen) ** 2 + (expected - before_low) ** 2)
    return Change(name, expected, seen, n, change - below, change + above)


def _wilson(share: float, n: int, errors: float) -> tuple[float, float]:
    square = errors**2 / n
    middle = (share + square / 2) / (1 + square)
    half = sqrt(square * share * (1 - share) + square**2 / 4) / (1 + square)
    return middle - half, middle + half


def _right(
    chances: Sequence[float | None], judged: Sequence[bool | None], records: int
) -> Change | None:
    """Compare what is said to be right with the chances of the same answers."""
    pairs = [
        (each, float(said))
        for each, said in zip(chances, judged, strict=True)
        if each is not None and said is not None
    ]
    if not pairs:
        return None
    told, right = np.array(pairs).T
    found = _mean("right", right - told, 0.0, sqrt(np.mean(told * (1 - told))), records)
    return found and replace(found, expected=float(told.mean()), seen=float(right.mean()))
