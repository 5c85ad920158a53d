"""Summary: what is saved, in a verdict with counts first, then in figures.

`print`, the command and the page show the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skr_core.replies.refusals import is_refusal
from skr_core.types import Action
from skr_learn.aims import PARITY, Baseline, Served
from skr_learn.costs import ActionTable
from skr_learn.metrics import TOLD, Interval, Reliability, bootstrap, normal_interval

Floats = NDArray[np.float64]

State = Literal["pays", "does not pay", "too few", "broken"]
"""What a summary finds: whether to use what is saved, and if not, why."""

FEWEST = 100
"""Questions below which a difference of a tenth cannot be told from chance."""
LEAST_SAVED = 0.05
"""Share of the cost that is worth the trouble where accuracy is not surely higher."""
MANY_TIMES = 2.0
"""Cost beside that of always retrieving that is told as a multiple."""
LONG = 400
"""Words of an answer that no metric of right or wrong can read."""
MOST_LONG = 0.2
"""Share of such answers above which the measurement is broken."""

_UNITS = {
    "retrievals": ("fewer retrievals", "more retrievals"),
    "calls": ("fewer calls of the model", "more calls of the model"),
    "tokens": ("fewer tokens", "more tokens"),
    "usd": ("less money", "more money"),
    "cost": ("less cost", "more cost"),
}
_CONSTANTS: dict[Action, str] = {
    "direct": "answer every question directly",
    "single": "retrieve once for every question",
    "loop": "run the loop for every question",
}
_SERVED: dict[Action, str] = {
    "direct": "never retrieving",
    "single": "always retrieving once",
    "loop": "always running the loop",
}


@dataclass(frozen=True)
class Figures:
    """What a router or a constant policy is worth.

    Attributes:
        accuracy: The mean score of what is served.
        cost: The mean cost a question.
        calls: The mean number of calls of the model a question.
        retrieved: The share of the questions that are retrieved for.
    """

    accuracy: Interval
    cost: Interval
    calls: Interval
    retrieved: Interval

    @classmethod
    def of(cls, served: Served) -> Figures:
        """Read the figures of what was served."""
        return cls(
            normal_interval(served.scores),
            _mean(served.costs),
            _mean(served.calls),
            normal_interval(served.retrieved.astype(np.float64)),
        )


@dataclass(frozen=True)
class Summary:
    """What calibration found about what it saves.

    Attributes:
        state: What it finds.
        router: The name of what is saved.
        n: The number of records.
        unit: What cost is counted in; tokens in thousands.
        streams: Whether its answers stream.
        promised: What is promised of new questions, each judged without itself.
        constants: The same of each action taken for every question.
        baseline: The action of the best constant policy.
        gain: The accuracy minus that of the baseline, question by question.
        shares: How often each action is the dearest that is taken.
        notes: What else has to be known, one sentence each.
        samples: Questions with answers and scores, where the measurement is broken.
        groups: By a group's value, the gain there, and the action that is taken instead where one
            is.
        constant: The action that is taken for every question, where that serves the aim best.
        reliability: How true the chances are that it tells of its answers, each judged without
            itself; None where it tells none.
    """

    state: State
    router: str
    n: int
    unit: str
    streams: bool
    promised: Figures
    constants: Mapping[Action, Figures]
    baseline: Action
    gain: Interval
    shares: Mapping[Action, float]
    notes: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()
    groups: Mapping[str, tuple[Interval, Action | None]] = field(default_factory=dict)
    constant: Action | None = None
    reliability: Reliability | None = None

    @classmethod
    def of(
        cls,
        router: str,
        served: Served,
        table: ActionTable,
        *,
        streams: bool,
        pays: bool = True,
        problem: str = "",
        notes: Sequence[str] = (),
        constant: Action | None = None,
        **more: Any,
    ) -> Summary:
        """Summarise what is saved.

        Args:
            router: Its name.
            served: What it served of n records, each judged without itself.
            table: What the actions were worth and cost.
            streams: Whether its answers stream.
            pays: Whether it serves the aim better than any action taken for every question.
            problem: Why nothing can be said of these records; empty where something can.
            notes: What else has to be known, one sentence each.
            constant: The action that is taken for every question, where that is what is saved.
            **more: The remaining attributes.
        """
        baseline = Baseline.of(table)
        shares = {
            action: float((served.taken == place).mean())
            for place, action in enumerate(table.actions)
        }
        constants = {
            action: Figures.of(Served.of(table, np.full(len(table), place)))
            for place, action in enumerate(table.actions)
        }
        gain = _mean(served.scores - baseline.scores)
        state: State = "pays" if pays and constant is None else "does not pay"
        promised = Figures.of(served)
        cost = constants[table.actions[baseline.action]].cost.mean
        saves = cost > 0 and promised.cost.mean <= (1 - LEAST_SAVED) * cost
        few = len(table) < FEWEST and gain.low < -10 * PARITY
        if state == "pays" and (few or (gain.low <= 0 and not saves)):
            state = "too few"
        return cls(
            "broken" if problem else state,
            router,
            len(table),
            table.unit,
            streams,
            promised,
            constants,
            table.actions[baseline.action],
            gain,
            shares,
            (*([problem] if problem else []), *notes),
            constant=constant,
            reliability=served.reliability,
            **more,
        )

    @property
    def verdict(self) -> str:
        """One sentence with counts: what is served beside the best constant policy."""
        if self.state == "broken":
            return f"Nothing can be advised on these {self.n} records: {self.notes[0]}"
        does_not_pay = f"Routing does not pay on these {self.n} records: "
        if self.constant is not None:
            better = ""
            if self.constant != self.baseline:
                before = self._right(self.constants[self.baseline])
                better = f" ({before} with {_SERVED[self.baseline]}, at more than is aimed at)"
            return (
                f"{does_not_pay}{_CONSTANTS[self.constant]}; that gets "
                f"{self._right(self.promised)} of {self.n} right{better}."
            )
        begins = {"too few": "Too few questions to tell, but ", "does not pay": does_not_pay}
        begin = begins.get(self.state, "")
        served, before = self._right(self.promised), self._right(self.constants[self.baseline])
        low, high = round(self.n * self.gain.low), round(self.n * self.gain.high)
        return (
            f"{begin}{served} of {self.n} right instead of {before} with "
            f"{_SERVED[self.baseline]} (likely {low:+d} to {high:+d}), {self._spending()}; "
            f"{self.promised.calls.mean:.1f} calls a question; "
            f"{'answers still stream' if self.streams else 'answers do not stream'}."
        )

    @property
    def saved(self) -> float:
        """The share of the baseline's cost that is saved; below 0 it costs more."""
        cost = self.constants[self.baseline].cost.mean
        return 1 - self.promised.cost.mean / cost if cost else 0.0

    @property
    def sentences(self) -> list[str]:
        """The verdict, then what else has to be known."""
        told = [self.verdict, *(note for note in self.notes if note not in self.verdict)]
        if self.reliability is not None and self.state != "broken":
            told.append(self.reliability.sentence)
        return told

    def __str__(self) -> str:
        rows = [("", "accuracy", "95 % interval", "cost", "calls", "retrieved")]
        named = {
            self.router: self.promised,
            **{f"always {a}": f for a, f in self.constants.items()},
        }
        for name, each in named.items():
            rows.append(
                (
                    name,
                    f"{each.accuracy.mean:.3f}",
                    f"{each.accuracy.low:.3f} to {each.accuracy.high:.3f}",
                    f"{each.cost.mean:.3g}",
                    f"{each.calls.mean:.2f}",
                    f"{each.retrieved.mean:.0%}",
                )
            )
        unit = "thousand tokens" if self.unit == "tokens" else self.unit
        lines = [*aligned(rows), f"(cost in {unit})"]
        if self.reliability is not None and self.state != "broken":
            lines += ["", *aligned(_surest_rows(self.reliability))]
        return "\n".join([*self.sentences, *self.samples, "", *lines])

    def _right(self, figures: Figures) -> int:
        return round(self.n * figures.accuracy.mean)

    def _spending(self) -> str:
        fewer, more = _UNITS[self.unit]
        cost = self.constants[self.baseline].cost.mean
        if not cost:
            return f"for {self.promised.cost.mean:.3g} {self.unit} a question in place of none"
        times = self.promised.cost.mean / cost
        if times >= MANY_TIMES:
            much = f"{times:.0f}" if times >= 10 else f"{times:.1f}"
            return f"and costs {much} times as much, for {100 * self.gain.mean:+.1f} points"
        saved = self.saved
        if abs(saved) < PARITY:
            return "at the same cost"
        return f"for {abs(saved):.0%} {fewer if saved > 0 else more}"


def what_is_broken(table: ActionTable, answers: list[list[str]]) -> str:
    """Return why records cannot be learnt from; empty where they can.

    Args:
        table: What the actions were worth.
        answers: The texts of each record's answers.
    """
    if not table.scores.any():
        return (
            "no answer is right on any of them; either the metric cannot read these answers, or "
            "the gold answers are wrong: look at the samples"
        )
    if not any(text.strip() for row in answers for text in row):
        return "every answer is empty: the model gave none"
    if all(not text.strip() or is_refusal(text) for row in answers for text in row):
        return "every answer is a refusal: the model was asked in words that it will not answer"
    long = [len(text.split()) > LONG for row in answers for text in row]
    if np.mean(long) > MOST_LONG:
        return (
            f"{np.mean(long):.0%} of the answers are longer than {LONG} words, which the metric "
            "cannot read: ask for short answers, or score them by a judge"
        )
    if (table.scores == table.scores[0, 0]).all():
        return (
            f"every answer of every action has the score {table.scores[0, 0]:g}, so that there is "
            "nothing to choose: look at the samples"
        )
    return ""


def _surest_rows(told: Reliability) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("answers", "accuracy", "95 % interval", "chance from")]
    for each in map(told.surest_of, (*TOLD, 1.0)):
        right = each.accuracy
        rows.append(
            (
                f"surest {each.share:.0%}" if each.share < 1 else "all",
                f"{right.mean:.3f}",
                f"{right.low:.3f} to {right.high:.3f}",
                f"{each.chance:.2f}",
            )
        )
    return rows


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table, whose columns are as wide as they have to be."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _mean(values: Floats) -> Interval:
    return bootstrap(values.tolist()) if len(values) <= 10_000 else _normal(values)


def _normal(values: Floats) -> Interval:
    mean, margin = float(values.mean()), 1.96 * float(values.std()) / float(np.sqrt(len(values)))
    return Interval(mean, mean - margin, mean + margin, len(values))
