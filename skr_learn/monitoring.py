"""monitor: what a calibrated router serves beside what was expected when it was calibrated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import InputError
from skr_core.routers.saving import SavedRouter
from skr_core.types import ACTIONS
from skr_learn.expected import Expected
from skr_learn.outputs import answer_in

Floats = NDArray[np.float64]

FEWEST = 30
"""Answers below which nothing is told from chance."""
LEVEL = 0.002
"""How likely one figure is ever to raise a false alarm, however often one looks."""

_SAYS = {
    "questions": "the questions are unlike the records: collect records of such questions",
    "answers": "the answers have drifted: collect records anew",
}


@dataclass(frozen=True)
class Change:
    """A figure of what is served beside what was expected of it.

    Attributes:
        name: The name of the figure.
        of: Whether it tells of the questions or of the answers.
        expected: What was expected.
        seen: What is seen.
        n: The number of answers that tell of it.
        low: The lower end of the interval of seen minus expected, at a level that holds for looking
            again and again.
        high: The upper end.
    """

    name: str
    of: Literal["questions", "answers"]
    expected: float
    seen: float
    n: int
    low: float
    high: float

    @property
    def alarm(self) -> bool:
        """Whether it surely differs; that questions are more familiar is none."""
        less = self.high < 0 and self.of == "answers"
        return self.n >= FEWEST and (self.low > 0 or less)

    @property
    def sentence(self) -> str:
        """What it says."""
        if self.n < FEWEST:
            return f"{self.name}: {self.n} answers are too few to tell, of {FEWEST} at least."
        told = _SAYS[self.of] if self.alarm else "nothing to see"
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
            few = f", of {FEWEST} at least" if self.n < FEWEST else ""
            return f"Nothing to see in {self.n} answers{few}."
        # Where the questions are others, so is all that follows from them.
        says = _SAYS[alarms[0].of]
        names = ", ".join(each.name for each in alarms)
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
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([self.verdict, "", *lines])


def monitor(
    answers: Iterable[object], router: object, right: Sequence[bool | None] = ()
) -> Monitored:
    """Compare what a calibrated router serves with what was expected when it was calibrated.

    An alarm is raised where a figure surely differs, at a level that holds however often one looks.

    Args:
        answers: The answers, as the system served them: `skr_core.Answer`, or outputs that
            `skr_learn.outputs.answer_in` reads.
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
        'Nothing to see in 1 answers, of 30 at least.'
    """
    expected = _expected_of(router)
    served = [answer_in(each) for each in answers]
    judged = list(right) or [None] * len(served)
    if len(judged) != len(served):
        raise InputError(f"there are {len(served)} answers, and {len(judged)} are said to be right")
    decisions = [each.decision for each in served]
    found = [
        _shift("novelty", "questions", [each.novelty for each in decisions], expected.novelty,
               expected.n),
        _share("novel", "questions", [each.novel for each in decisions if each.novel is not None],
               expected.novel, expected.n),
    ]  # fmt: skip
    for action in ACTIONS:
        if action in expected.shares:
            taken = [each.action == action for each in decisions]
            found.append(_share(action, "answers", taken, expected.shares[action], expected.n))
    if expected.chance is not None:
        chances = [each.chance for each in served]
        found.append(_shift("chance", "answers", chances, expected.chance, expected.n))
        pairs = [
            (float(said), each.chance)
            for said, each in zip(judged, served, strict=True)
            if said is not None and each.chance is not None
        ]
        found.append(_right(pairs, expected.n))
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


def _shift(
    name: str,
    of: Literal["questions", "answers"],
    values: Iterable[float | None],
    expected: tuple[float, float],
    records: int,
) -> Change | None:
    """Compare means; of the two spreads the larger counts."""
    seen = np.array([each for each in values if each is not None], dtype=np.float64)
    n = len(seen)
    if not n:
        return None
    spread = max(expected[1], float(seen.std()))
    margin = errors_of(n) * spread * sqrt(1 / n + 1 / records)
    change = float(seen.mean()) - expected[0]
    return Change(name, of, expected[0], float(seen.mean()), n, change - margin, change + margin)


def _share(
    name: str,
    of: Literal["questions", "answers"],
    values: Sequence[bool],
    expected: float,
    records: int,
) -> Change | None:
    """Compare shares by their Wilson intervals (Newcombe 1998), which hold for rare things too."""
    n = len(values)
    if not n:
        return None
    seen, errors = sum(values) / n, errors_of(n)
    low, high = _wilson(seen, n, errors)
    before_low, before_high = _wilson(expected, records, errors)
    change = seen - expected
    return Change(
        name,
        of,
        expected,
        seen,
        n,
        change - sqrt((seen - low) ** 2 + (before_high - expected) ** 2),
        change + sqrt((high - seen) ** 2 + (expected - before_low) ** 2),
    )


def _wilson(share: float, n: int, errors: float) -> tuple[float, float]:
    square = errors**2 / n
    middle = (share + square / 2) / (1 + square)
    half = sqrt(square * share * (1 - share) + square**2 / 4) / (1 + square)
    return middle - half, middle + half


def _right(pairs: Sequence[tuple[float, float]], records: int) -> Change | None:
    """Compare what is said to be right with the chances of the same answers."""
    if not pairs:
        return None
    right, chances = np.array(pairs).T
    told = float(chances.mean())
    spread = sqrt(max(float(np.var(right - chances)), float(np.mean(chances * (1 - chances)))))
    found = _shift("right", "answers", (right - chances).tolist(), (0.0, spread), records)
    assert found is not None
    return Change(found.name, found.of, told, float(right.mean()), found.n, found.low, found.high)
