"""Stages: what is estimated of a question with each answer that is there, and how far to go.

The estimate is the same at every stage, "is this answer right?", with more to see each time: the
question alone, then with the direct answer, then with that of one round, then with the loop's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.candidates import CandidateAnswer
from skr_core.errors import extra
from skr_learn.estimator import Estimator, held_out, part_of, side_by_side
from skr_learn.features.views import Seen, Shown, Views

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

Looks = Literal["question", "answers", "search", "nothing"]
"""What is looked at before the next answer is asked for: the question, the answers so far, beside
these what the first search found, or nothing, as who asks for all answers does."""

Serves = Literal["likeliest", "last"]
"""Which of the answers at hand is served."""

FURTHEST = 500.0
"""Of the logarithm of the odds that are reckoned with."""
STEEPEST = 12.0
"""Of the map from estimates to chances: a few records may seem to be parted without error."""


@dataclass(frozen=True)
class Stage:
    """What is estimated once the first few answers are there.

    Attributes:
        chances: Expects the score of each answer; None at the first stage, without answers.
        gains: Expects what each later stage adds to the score served here; None at the last.
        slope: Of the logistic map from expected scores to chances, fitted on held-out ones.
        intercept: The map's value at 0.
    """

    chances: Estimator | None
    gains: Estimator | None
    slope: float = 1.0
    intercept: float = 0.0

    def chances_of(self, views: Views, count: int) -> Floats:
        """Return the chance of each of the first few answers to be right, shape (n, count)."""
        if self.chances is None:
            return np.zeros((len(views), 0))
        expected = self.chances.predict(views.each(count))[:, 0]
        return self.as_chances(expected).reshape(count, len(views)).T

    def as_chances(self, expected: Floats) -> Floats:
        """Map expected scores to chances, which keeps their order."""
        # Without bounds an answer unlike any on record would overflow.
        logits = np.clip(self.intercept + self.slope * expected, -FURTHEST, FURTHEST)
        return 1 / (1 + np.exp(-logits))

    def try_out(self, count: int, further: int, *, searched: bool) -> None:
        """Look at an empty question with empty answers, as things are seen today.

        Args:
            count: How many answers there are at this stage.
            further: How many stages come after it.
            searched: Whether what the first search found is looked at.

        Raises:
            ValueError: What was learnt is not for such a stage.
            FloatingPointError: It is too large to be reckoned with.
        """
        views = Views([Seen("", (CandidateAnswer(""),) * count)], searched=searched)
        for part, wanted in ((self.chances, min(1, count)), (self.gains, further)):
            if (0 if part is None else len(part.start)) != wanted:
                raise ValueError("a stage does not expect what is to be expected there")
        with np.errstate(over="raise", invalid="raise"):
            self.chances_of(views, count)
            if self.gains is not None:
                self.gains.predict(views.whole(count))

    def parameters(self) -> dict[str, Any]:
        """Return what a file holds beside `arrays`."""
        return {
            "map": [self.slope, self.intercept],
            "chances": self.chances and self.chances.parameters(),
            "gains": self.gains and self.gains.parameters(),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the stage as plain arrays, for a file."""
        parts = {"chances": self.chances, "gains": self.gains}
        return {
            f"{name}.{key}": array
            for name, part in parts.items()
            if part is not None
            for key, array in part.arrays().items()
        }

    @classmethod
    def from_arrays(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make a stage of what `parameters` and `arrays` returned."""
        chances, gains = (
            Estimator.from_arrays(parameters[name], part_of(arrays, name))
            if parameters[name]
            else None
            for name in ("chances", "gains")
        )
        slope, intercept = parameters["map"]
        return cls(chances, gains, float(slope), float(intercept))


@dataclass(frozen=True)
class Outlook:
    """What stages expect of n questions whose answers are all there.

    Attributes:
        gains: At each stage, what each later one adds, shape (n, later stages) each.
        chances: At each stage, the chance of each answer to be right, shape (n, answers) each.
        costs: The mean cost of ending at each stage, shape (stages,).
        answers: How many answers there are at the first stage.
        stand_ins: At each stage, which answer is served for each of them, shape (n, answers) each;
            by default itself. See `skr_learn.features.Views.stand_ins`.
    """

    gains: Sequence[Floats]
    chances: Sequence[Floats]
    costs: Floats
    answers: int = 1
    stand_ins: Sequence[Indices] = ()

    def ends(self, weight: float) -> Indices:
        """Return the index of the stage at which each question ends, shape (n,).

        A stage is left where ending at some later one is expected to be worth more than its cost;
        from a stage without answers the question goes straight to the later one.

        Args:
            weight: The score that a unit of cost is worth.
        """
        n, last = len(self.gains[0]), len(self.costs) - 1
        found = np.full(n, last, dtype=np.int64)
        going = np.ones(n, dtype=bool)
        for stage in range(last):
            worth = self.gains[stage] - weight * (self.costs[stage + 1 :] - self.costs[stage])
            goes = worth.max(axis=1) > 0
            found[going & ~goes] = stage
            if not self.answers:
                found[goes] = 1 + np.argmax(worth[goes], axis=1)
                break
            going &= goes
        return found

    def served(self, ends: Indices, serves: Serves) -> Indices:
        """Return the index of the answer that each question is served, shape (n,).

        Args:
            ends: The stage at which each ends, shape (n,).
            serves: Whether the likeliest answer is served or the last.
        """
        if serves == "last" or not self.answers:
            return ends
        found = np.zeros_like(ends)
        for stage, chances in enumerate(self.chances):
            rows = np.flatnonzero(ends == stage)
            best = likeliest(chances[rows])
            found[rows] = self.stand_ins[stage][rows, best] if self.stand_ins else best
        return found

    def served_chances(self, ends: Indices, served: Indices) -> Floats:
        """Return the chance of each answer served to be right, shape (n,); NaN without answers.

        Args:
            ends: The stage at which each question ends, shape (n,).
            served: The index of the answer that it is served, shape (n,).
        """
        found = np.full(len(ends), np.nan)
        for stage, chances in enumerate(self.chances):
            rows = np.flatnonzero(ends == stage)
            found[rows] = chances[rows, served[rows]]
        return found

    def weights(self, points: int) -> Floats:
        """Return ascending weights of cost, from 0, between which decisions change.

        Args:
            points: How many at most; between two of them equally many decisions change.
        """
        found = [np.zeros(1)]
        for stage, gains in enumerate(self.gains):
            further = self.costs[stage + 1 :] - self.costs[stage]
            dearer = further > 0
            found.append((gains[:, dearer] / further[dearer]).ravel())
            if not self.answers:
                break
        changes = np.unique(np.concatenate(found))
        changes = changes[changes >= 0]
        middles = (changes[1:] + changes[:-1]) / 2
        if len(middles) > points:
            middles = middles[np.linspace(0, len(middles) - 1, points).round().astype(int)]
        return np.concatenate([[0.0], middles, [changes[-1] * 2 + 1.0]])


def likeliest(chances: Floats) -> Indices:
    """Return the index of the likeliest answer of each question; of equals the dearest.

    A refusal is an answer like any other: the records say how often refusing was right.

    Example:
        >>> likeliest(np.array([[0.2, 0.6], [0.5, 0.5]])).tolist()
        [1, 1]
    """
    last = chances.shape[1] - 1
    found: Indices = last - np.argmax(chances[:, ::-1], axis=1)
    return found


def fit_stages(
    views: Views, scores: Floats, costs: Floats, groups: Indices, serves: Serves
) -> tuple[tuple[Stage, ...], Outlook]:
    """Learn what to expect at each stage, from the direct answer on.

    Stages are learnt from the last to the first: what a later stage is worth is the score of the
    answer that would have been served there, chosen without having seen the record.

    Args:
        views: What n questions show with all of their a answers.
        scores: The scores of the answers, shape (n, a).
        costs: The mean cost of ending at each stage, shape (a,).
        groups: Records of equal numbers are left out together, shape (n,).
        serves: Which of the answers at hand is served.

    Returns:
        The stages, and what they expect of each record without having seen it.
    """
    n, count = scores.shape
    shown = [views.each(stage + 1) for stage in range(count)]
    targets = [scores[:, : stage + 1].T.reshape(-1, 1) for stage in range(count)]
    expected = [
        held_out(shown[stage], targets[stage], groups, each=stage + 1)[:, 0]
        for stage in range(count)
    ]
    maps = [logistic_map(each, right[:, 0]) for each, right in zip(expected, targets, strict=True)]
    chances = [each.reshape(stage + 1, n).T for stage, each in enumerate(expected)]
    chosen = [
        likeliest(each) if serves == "likeliest" else np.full(n, stage)
        for stage, each in enumerate(chances)
    ]
    served = np.column_stack([scores[np.arange(n), each] for each in chosen])
    wholes = [views.whole(stage + 1) for stage in range(count - 1)]
    gained = [served[:, stage + 1 :] - served[:, [stage]] for stage in range(count - 1)]
    gains = [held_out(whole, gain, groups) for whole, gain in zip(wholes, gained, strict=True)]
    fitted: list[Estimator] = side_by_side(
        [partial(Estimator.fit, *each) for each in zip(shown, targets, strict=True)]
        + [partial(Estimator.fit, *each) for each in zip(wholes, gained, strict=True)]
    )
    stages = [
        Stage(fitted[stage], fitted[count + stage] if stage < count - 1 else None, *maps[stage])
        for stage in range(count)
    ]
    mapped = [stage.as_chances(each) for stage, each in zip(stages, chances, strict=True)]
    stand_ins = [views.stand_ins(stage + 1) for stage in range(count)]
    return tuple(stages), Outlook(gains, mapped, costs, stand_ins=stand_ins)


def fit_question_stage(
    shown: Shown, scores: Floats, costs: Floats, groups: Indices
) -> tuple[tuple[Stage, ...], Outlook]:
    """Learn what each action's answer is worth beside the direct one, from the question alone.

    Args:
        shown: What n questions show by themselves.
        scores: The scores of the actions' answers, shape (n, a).
        costs: The mean cost of each action, shape (a,).
        groups: Records of equal numbers are left out together, shape (n,).
    """
    gained = scores[:, 1:] - scores[:, :1]
    gains = held_out(shown, gained, groups)
    stage = Stage(None, Estimator.fit(shown, gained))
    return (stage,), Outlook([gains], [], costs, answers=0)


def logistic_map(expected: Floats, right: Floats) -> tuple[float, float]:
    """Fit the slope and intercept of a logistic map from expected scores to chances.

    Args:
        expected: Scores expected of answers that were not learnt from, shape (n,).
        right: Their scores in fact, from 0 to 1, shape (n,).

    Example:
        >>> slope, intercept = logistic_map(np.array([0.1, 0.9] * 50), np.array([0.0, 1.0] * 50))
        >>> slope > 0
        True
    """
    with extra("learning"):
        from sklearn.linear_model import LogisticRegression
    labels = np.repeat([1, 0], len(right))
    weights = np.concatenate([right, 1 - right])
    if weights[: len(right)].sum() in (0.0, len(right)):  # all are right, or none
        return 0.0, 4.0 if right.all() else -4.0
    rows = np.concatenate([expected, expected])[:, None]
    fitted = LogisticRegression().fit(rows, labels, sample_weight=weights)
    slope, intercept = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    if slope <= 0:  # nothing was learnt, but the order has to stay
        slope, intercept = 1e-3, float(np.log(right.mean() / (1 - right.mean())))
    if slope > STEEPEST:
        slope, intercept = STEEPEST, intercept * STEEPEST / slope
    return slope, intercept
