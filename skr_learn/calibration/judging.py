"""What the decisions of routers and arbiters were worth on recorded answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_learn.calibration.guidance import Guidance
from skr_learn.calibration.intervals import interval
from skr_learn.learning.outcomes import ActionTable
from skr_learn.learning.rows import Floats
from skr_learn.metrics import (
    Interval,
    area_contributions,
    corruption_rate,
    guidance,
    saved_at_parity,
)

RIGHT = 0.5
"""The score from which an answer counts as right."""
_NAMES = {"direct": "direct", "single": "single", "loop": "multistep"}


@dataclass(frozen=True)
class Replayed:
    """What one router or arbiter decided.

    Attributes:
        scores: The expected benefit of one round of retrieval, shape (runs, n).
        served: Indices of the actions whose answers were served, shape (runs, n).
        paid: Indices of the dearest actions that were taken, shape (runs, n). A router serves what
            it takes; an arbiter may take the loop and serve the direct answer.
        drafts: Whether the direct answer is asked for first.
        weighs: Whether several answers are weighed against one another.
    """

    scores: Floats
    served: NDArray[np.int64]
    paid: NDArray[np.int64]
    drafts: bool = False
    weighs: bool = False

    @classmethod
    def empty(cls, runs: int, n: int, *, drafts: bool = False, weighs: bool = False) -> Replayed:
        """Room for what will be decided."""
        served, paid = np.zeros((2, runs, n), dtype=np.int64)
        return cls(np.zeros((runs, n)), served, paid, drafts, weighs)

    def __getitem__(self, chosen: Any) -> Replayed:
        return replace(
            self,
            scores=self.scores[:, chosen],
            served=self.served[:, chosen],
            paid=self.paid[:, chosen],
        )


@dataclass(frozen=True)
class RouterResult:
    """One router or arbiter on one group of recorded questions.

    Attributes:
        accuracy: Of the answers that were served.
        retrieval_rate: Share of the questions that were retrieved for.
        random_line: Accuracy of drawing among the constant policies at as many retrievals.
        gain: Accuracy minus the random line; of an arbiter too, whose direct answer beside the
            retrieving one costs a call and no retrieval.
        gain_over_always: Accuracy minus that of one round of retrieval for every question.
        regret: The best constant policy minus accuracy.
        area_gain: Mean over all rates of accuracy minus the random line, of one round or none; 0
            of an arbiter, which retrieves for all questions alike.
        saved_at_parity: See `skr_learn.metrics.saved_at_parity`.
        retrievals: A question.
        model_calls: A question, the router's own included.
        shares: How often the answer of each action was served.
        accuracies: The accuracy with its interval.
        corruption: Share of the questions that are right without retrieval and wrong as served.
        corruption_of_always: The same of one round of retrieval for every question.
        guidance: Whether questions are sent the right way.
        weighs: Whether several answers were weighed against one another.
    """

    accuracy: float
    retrieval_rate: float
    random_line: float
    gain: Interval
    gain_over_always: Interval
    regret: Interval
    area_gain: Interval
    saved_at_parity: float
    retrievals: float
    model_calls: float
    shares: Mapping[str, float]
    accuracies: Interval
    corruption: float
    corruption_of_always: float
    guidance: Guidance
    weighs: bool = False

    def row(self) -> dict[str, Any]:
        """The result as plain values.

        With cost and shares where there are more than two actions, or where answers are weighed;
        there with the gain over always retrieving and with what is corrupted too.
        """
        found: dict[str, Any] = {
            "accuracy": self.accuracy,
            "accuracy_ci": [self.accuracies.low, self.accuracies.high],
            "retrieval_rate": self.retrieval_rate,
            "random_line": self.random_line,
            "gain": self.gain.mean,
            "gain_ci": [self.gain.low, self.gain.high],
            "regret": self.regret.mean,
            "regret_ci": [self.regret.low, self.regret.high],
            "area_gain": self.area_gain.mean,
            "area_gain_ci": [self.area_gain.low, self.area_gain.high],
            "saved_at_parity": self.saved_at_parity,
            **self.guidance.row(),
        }
        if len(self.shares) > 2 or self.weighs:
            found |= {
                "retrievals": self.retrievals,
                "model_calls": self.model_calls,
                "shares": dict(self.shares),
            }
        if self.weighs:
            ahead = self.gain_over_always
            found |= {
                "gain_over_always": ahead.mean,
                "gain_over_always_ci": [ahead.low, ahead.high],
                "corruption": self.corruption,
                "corruption_of_always": self.corruption_of_always,
            }
        return found


@dataclass(frozen=True)
class GroupResult:
    """All routers and arbiters on one group of recorded questions.

    Attributes:
        n: Questions.
        never: Accuracy of the direct answers.
        always: Accuracy with one round of retrieval.
        multistep: Accuracy of the loop; None where it is not among the actions.
        oracle: Accuracy of the best answer to each question.
        routers: Results by name.
    """

    n: int
    never: float
    always: float
    multistep: float | None
    oracle: float
    routers: Mapping[str, RouterResult]

    def row(self) -> dict[str, Any]:
        """The result as plain values."""
        found = {"n": self.n, "never": self.never, "always": self.always, "oracle": self.oracle}
        several = {} if self.multistep is None else {"multistep": self.multistep}
        routers = {name: result.row() for name, result in self.routers.items()}
        return {**found, **several, "routers": routers}


def judge_group(table: ActionTable, routers: Mapping[str, Replayed]) -> GroupResult:
    """Judge routers on one group of questions.

    Args:
        table: What the actions were worth and cost on these questions.
        routers: What each router decided on them.

    Example:
        >>> table = ActionTable(("direct", "single"), np.eye(2), np.tile([0.0, 1.0], (2, 1)))
        >>> single = np.ones((1, 2), dtype=np.int64)
        >>> always = Replayed(np.zeros((1, 2)), served=single, paid=single)
        >>> judge_group(table, {"always": always}).routers["always"].regret.mean
        0.0
    """
    scores = table.scores
    return GroupResult(
        n=len(table),
        never=float(scores[:, 0].mean()),
        always=float(scores[:, 1].mean()),
        multistep=float(scores[:, 2].mean()) if scores.shape[1] > 2 else None,
        oracle=float(scores.max(axis=1).mean()),
        routers={name: _judged(each, table) for name, each in routers.items()},
    )


def _judged(router: Replayed, table: ActionTable) -> RouterResult:
    """One router's result, the mean over runs."""
    scores, costs, rows = table.scores, table.costs, np.arange(len(table))
    direct, single = scores[:, 0], scores[:, 1]
    retrieved = router.paid > 0
    achieved = scores[rows, router.served].mean(axis=0)
    retrievals = float(costs[rows, router.paid].mean())
    means = scores.mean(axis=0)
    # Of equally good constant policies the dearest: the one that a router has to beat.
    better = scores[:, len(means) - 1 - int(np.argmax(means[::-1]))]
    line = _random_line(retrievals, scores, costs.mean(axis=0))
    calls = costs + 1.0 if router.drafts else np.maximum(costs, 1.0)
    if scores.shape[1] == 2 and not router.weighs:
        runs = [guidance(each, single - direct) for each in retrieved]
        gain = interval(np.mean(runs, axis=0))
    else:
        gain = interval(achieved - line)
    return RouterResult(
        accuracy=float(achieved.mean()),
        retrieval_rate=float(retrieved.mean()),
        random_line=float(line.mean()),
        gain=gain,
        gain_over_always=interval(achieved - single),
        regret=interval(better - achieved),
        area_gain=interval(
            np.mean([area_contributions(each, direct, single) for each in router.scores], axis=0)
        ),
        saved_at_parity=float(
            np.mean([saved_at_parity(each, direct, single) for each in router.scores])
        ),
        retrievals=retrievals,
        model_calls=float(calls[rows, router.paid].mean()),
        shares={
            _NAMES[action]: float((router.served == column).mean())
            for column, action in enumerate(table.actions)
        },
        accuracies=interval(achieved),
        corruption=_corruption(scores, router.served),
        corruption_of_always=_corruption(scores, np.ones_like(router.served)),
        guidance=Guidance.of(scores, router.served > 0),
        weighs=router.weighs,
    )


def _corruption(scores: Floats, served: NDArray[np.int64]) -> float:
    """The mean over runs of W2R's corruption rate (§5), of indices of shape (runs, n)."""
    right, rows = scores >= RIGHT, np.arange(len(scores))
    known = right[:, 0].tolist()
    return float(np.mean([corruption_rate(known, right[rows, each].tolist()) for each in served]))


def _random_line(retrievals: float, scores: Floats, costs: Floats) -> Floats:
    """Scores of drawing as well as can be among constant policies at as many retrievals, (n,)."""
    every, ends = np.arange(len(costs)), np.array([0, len(costs) - 1])
    lines = [
        scores[:, drawn]
        @ [np.interp(retrievals, costs[drawn], unit) for unit in np.eye(len(drawn))]
        for drawn in (every, ends)
    ]
    return max(lines, key=np.mean)
