"""Three actions: answer directly, retrieve once, or retrieve in several steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skr_core.calibration.curve import interval
from skr_core.calibration.folds import FOLDS
from skr_core.calibration.replay import OnProgress, grouped, judged, parted
from skr_core.errors import InputError
from skr_core.learning.observed import number_of
from skr_core.learning.rows import Floats, TextEmbedder
from skr_core.learning.signals import Training
from skr_core.metrics.statistics import Interval
from skr_core.models.ngrams import NgramEmbedder
from skr_core.routers.combined import fit_ridge, held_out
from skr_core.self_knowledge.records import SelfKnowledge

DIRECT, SINGLE, MULTI = range(3)
ROUTERS = ("always", "never", "multistep", "combined", "combined-question", "recommended")
"""Names known here; ``recommended`` is ``combined``."""
DEAREST = 1.0
"""A price per retrieval at which nobody retrieves: a benefit is at most 1."""
HALVINGS = 30
"""Of the interval that holds the price: to a billionth."""
KEPT = 0.99
"""Of the budget: new questions cost up to a hundredth more than held-out predictions say."""


@dataclass(frozen=True)
class Outcomes:
    """What each action was worth and cost, on record.

    Attributes:
        scores: Of the answers, shape (n, 3): direct, single, multi-step.
        steps: Retrievals of each multi-step answer, shape (n,).
        assumed_steps: What the steps were taken to be where the records do not say; None if known.
    """

    scores: Floats
    steps: Floats
    assumed_steps: float | None

    @classmethod
    def of(cls, records: Sequence[SelfKnowledge], assumed_steps: float) -> Outcomes:
        """Read ``extra.correct_multistep`` and ``extra.multistep_steps``.

        Raises:
            InputError: A record has no multi-step answer.
        """
        multi = [number_of(record.extra.get("correct_multistep")) for record in records]
        if any(value is None for value in multi):
            raise InputError("three actions need extra.correct_multistep in every record")
        steps = [number_of(record.extra.get("multistep_steps")) for record in records]
        known = all(value is not None for value in steps)
        rows = [
            (record.direct_score, record.augmented_score, value)
            for record, value in zip(records, multi, strict=True)
        ]
        return cls(
            np.array(rows, dtype=np.float64),
            np.array([assumed_steps if value is None else value for value in steps]),
            None if known else assumed_steps,
        )

    def costs(self) -> Floats:
        """Retrievals of each action, shape (n, 3)."""
        n = len(self.steps)
        return np.column_stack([np.zeros(n), np.ones(n), self.steps])


def replay_actions(
    train: Sequence[SelfKnowledge],
    test: Sequence[SelfKnowledge] | None = None,
    *,
    routers: Sequence[str] = ("combined",),
    by: str | None = None,
    embedder: TextEmbedder | None = None,
    seeds: int = 1,
    budget: float = 1.85,
    assumed_steps: float = 3.35,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Route among three actions on recorded answers, within a budget of retrievals a question.

    One regression predicts the score of each action, and the one of highest score less price times
    retrievals is taken; the price is the lowest that keeps to the budget on held-out predictions.

    Args:
        train: To fit on.
        test: To judge on; without it the records are cross-fitted, as in `replay`.
        routers: Names out of `ROUTERS`.
        by: Field whose values make the groups.
        embedder: For questions and answers; an `NgramEmbedder` by default.
        seeds: Times the folds are drawn anew.
        budget: Retrievals a question, on average.
        assumed_steps: Retrievals of a multi-step answer where the records do not say.
        on_progress: Told after each fit.

    Returns:
        The same as a replay's row; each router also has ``retrievals`` and ``model_calls`` a
        question, and the groups the accuracy of always going several steps.

    Raises:
        InputError: There is no such router, or a record has no multi-step answer.
    """
    for name in routers:
        if name not in ROUTERS:
            raise InputError(f"no router {name!r} of three actions: give {', '.join(ROUTERS)}")
    embedder = embedder or NgramEmbedder()
    asked = train if test is None else test
    fitting = Training.of(train, embedder)
    judging = fitting if test is None else Training.of(asked, embedder)
    learnt = Outcomes.of(train, assumed_steps)
    real = learnt if test is None else Outcomes.of(asked, assumed_steps)
    runs = seeds if test is None else 1
    n, done, steps = len(asked), 0, len(routers) * runs * (FOLDS if test is None else 1)
    taken = {name: np.zeros((runs, n), dtype=np.int64) for name in routers}
    benefit = {name: np.zeros((runs, n)) for name in routers}
    for run in range(runs):
        for fit_on, judge_on in parted(fitting, judging, run):
            for name in routers:
                constant = {"never": DIRECT, "always": SINGLE, "multistep": MULTI}.get(name)
                if constant is not None:
                    taken[name][run, judge_on] = constant
                else:
                    actions, expected = _act(
                        fitting[fit_on],
                        judging[judge_on],
                        Outcomes(learnt.scores[fit_on], learnt.steps[fit_on], None),
                        budget,
                        drafts=name != "combined-question",
                    )
                    taken[name][run, judge_on] = actions
                    benefit[name][run, judge_on] = expected - expected.mean()
                done += 1
                if on_progress is not None:
                    on_progress(done, steps)

    def group(places: NDArray[np.int64]) -> dict[str, Any]:
        scores, costs = real.scores[places], real.costs()[places]
        return {
            "n": len(places),
            "never": float(scores[:, DIRECT].mean()),
            "always": float(scores[:, SINGLE].mean()),
            "multistep": float(scores[:, MULTI].mean()),
            "oracle": float(scores.max(axis=1).mean()),
            "routers": {
                name: _row(
                    taken[name][:, places],
                    benefit[name][:, places],
                    scores,
                    costs,
                    drafts=name in ("combined", "recommended"),
                )
                for name in routers
            },
        }

    found: dict[str, Any] = {"budget": budget}
    if real.assumed_steps is not None:
        found["assumed_multistep_steps"] = real.assumed_steps
    return found | {
        "overall": group(np.arange(n)),
        "groups": {name: group(places) for name, places in grouped(asked, by)},
    }


def best_actions(scores: Floats, costs: Floats, price: float) -> NDArray[np.int64]:
    """The action of highest expected score less price times cost, shape (n,).

    Example:
        >>> best_actions(np.array([[0.3, 0.5, 0.6]]), np.array([[0.0, 1.0, 3.0]]), 0.1).tolist()
        [1]
    """
    actions: NDArray[np.int64] = np.argmax(scores - price * costs, axis=1)
    return actions


def price_within(scores: Floats, costs: Floats, budget: float) -> float:
    """The lowest price per retrieval that keeps the mean cost within the budget.

    Example:
        >>> scores, costs = np.array([[0.3, 0.5], [0.3, 0.4]]), np.array([[0.0, 1.0]] * 2)
        >>> round(price_within(scores, costs, 0.5), 3)
        0.1
    """

    def spent(price: float) -> float:
        actions = best_actions(scores, costs, price)[:, None]
        return float(np.take_along_axis(costs, actions, axis=1).mean())

    low, high = 0.0, DEAREST
    if spent(low) <= budget:
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > budget else (low, middle)
    return high


def _act(
    fitting: Training, judging: Training, outcomes: Outcomes, budget: float, *, drafts: bool
) -> tuple[NDArray[np.int64], Floats]:
    """Actions for the questions to be judged, and the expected benefit of a single retrieval."""
    if not drafts:
        fitting, judging = fitting.without_drafts, judging.without_drafts
    # The steps are one more target: a question's cost is expected from those like it.
    targets = np.column_stack([outcomes.scores, outcomes.steps])
    ridge, _ = fit_ridge(fitting.signals, targets)
    unseen = held_out(ridge, fitting.signals, targets, fitting.groups)
    price = price_within(unseen[:, :3], _costs(unseen[:, 3]), KEPT * budget)
    expected = ridge.predict(judging.signals)
    actions = best_actions(expected[:, :3], _costs(expected[:, 3]), price)
    return actions, expected[:, SINGLE] - expected[:, DIRECT]


def _costs(steps: Floats) -> Floats:
    # An expectation may fall below one step, which no multi-step answer costs.
    return Outcomes(np.zeros((0, 3)), np.maximum(steps, 1.0), None).costs()


def _row(
    taken: NDArray[np.int64], benefit: Floats, scores: Floats, costs: Floats, *, drafts: bool
) -> dict[str, Any]:
    n = len(scores)
    achieved = scores[np.arange(n), taken].mean(axis=0)
    retrievals = costs[np.arange(n), taken].mean(axis=0)
    calls = np.maximum(costs, 1.0)
    if drafts:  # the direct answer is there already, and is served where nothing is retrieved
        calls = 1.0 + costs
    constants = scores.mean(axis=0)
    line = _random_line(float(retrievals.mean()), constants, costs.mean(axis=0))
    gain: Interval = interval(achieved)
    two = judged(benefit, taken != DIRECT, scores[:, DIRECT], scores[:, SINGLE])
    accuracy = float(achieved.mean())
    return {
        "accuracy": accuracy,
        "accuracy_ci": [gain.low, gain.high],
        "retrieval_rate": two.retrieval_rate,
        "random_line": line,
        "gain": accuracy - line,
        "gain_ci": [gain.low - line, gain.high - line],
        "regret": float(constants.max()) - accuracy,
        "area_gain": two.area_gain.mean,
        "saved_at_parity": two.saved_at_parity,
        "retrievals": float(retrievals.mean()),
        "model_calls": float(calls[np.arange(n), taken].mean()),
        "shares": {
            name: float((taken == action).mean())
            for action, name in enumerate(("direct", "single", "multistep"))
        },
    }


def _random_line(retrievals: float, accuracy: Floats, costs: Floats) -> float:
    """The best accuracy of drawing among the constant policies at as many retrievals."""
    mixed = float(np.interp(retrievals, costs, accuracy))
    never_or_multi = float(np.interp(retrievals, costs[[0, 2]], accuracy[[0, 2]]))
    return max(mixed, never_or_multi)
