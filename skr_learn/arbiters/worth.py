"""Worth: the score that a ladder is expected to serve at a rung, and at each later one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_learn.learning.boosting import BAGS, HELD_OUT_BAGS, BoostedTrees
from skr_learn.learning.folds import Indices, folds
from skr_learn.learning.likelihood import learn_kernel
from skr_learn.learning.regression import Ridge, fit_ridge, held_out, ridge_of
from skr_learn.learning.rows import Floats
from skr_learn.learning.signals import Signals
from skr_learn.learning.threads import side_by_side

TINY = 1e-12
"""Added up, so that two regressions that expect the same divide nothing by zero."""


@dataclass(frozen=True)
class Worth:
    """What going on gains, expected by two regressions, each as far as it helps.

    A Gaussian process compares what is seen with what is on record; boosted trees read the features
    alone. How much the trees count is learnt from what either expected of records it had not seen:
    nothing where a few records follow a simple rule, about half on thousands that follow none.

    Attributes:
        ridge: The Gaussian process, of the score at the rung and at each later one.
        trees: Of what each later one adds to the rung's.
        shares: By how much these count, from 0 to 1, shape (rungs left - 1,).
    """

    ridge: Ridge
    trees: tuple[BoostedTrees, ...]
    shares: Floats

    @classmethod
    def with_held_out(
        cls, signals: Signals, scores: Floats, groups: NDArray[np.int64]
    ) -> tuple[Self, Floats]:
        """Learn from records.

        Args:
            signals: What is seen at the rung, of n records.
            scores: What was served there and at each later rung, shape (n, rungs left).
            groups: Records of equal numbers are left out together, shape (n,).

        Returns:
            The regressions, and what they expect of each record without having seen it.

        Example:
            >>> from skr_learn.learning import Observed
            >>> from skr_core.models.embedders import HashingEmbedder
            >>> texts = [f"Who is number {n}?" if n % 2 else f"When was {n}?" for n in range(60)]
            >>> signals = Signals.of([Observed(text, "Ada") for text in texts], HashingEmbedder())
            >>> served = np.column_stack([np.zeros(60), np.arange(60) % 2.0])
            >>> worth, held_out = Worth.with_held_out(signals, served, np.arange(60))
            >>> (held_out[:2, 1] - held_out[:2, 0]).round(1).tolist()
            [0.0, 1.0]
        """
        splits = list(folds(groups)) if scores.shape[1] > 1 else []

        def compared() -> tuple[Ridge, Floats]:
            ridge, _ = fit_ridge(signals, scores, learn_kernel(signals, scores))
            return ridge, held_out(ridge, signals, scores, groups)

        def judged(fit: Indices, judge: Indices) -> Floats | None:
            if not len(fit):
                return None
            return _read(_fit_trees(signals[fit], scores[fit], HELD_OUT_BAGS), signals[judge])

        works: list[Callable[[], Any]] = [compared, partial(_fit_trees, signals, scores, BAGS)]
        works += [partial(judged, *split) for split in splits]
        (ridge, expected), trees, *parts = side_by_side(works)
        read = np.zeros((len(signals), len(trees)))
        for (_, judge), part in zip(splits, parts, strict=True):
            read[judge] = _read(trees, signals[judge]) if part is None else part
        further = read - _gains(expected)
        missing = _gains(scores) - _gains(expected)
        shares = (missing * further).sum(axis=0) / np.maximum((further**2).sum(axis=0), TINY)
        worth = cls(ridge, trees, np.clip(shares, 0.0, 1.0))
        return worth, worth._mean(expected, read)

    def expected(self, signals: Signals) -> Floats:
        """The score served at the rung and at each later one, shape (n, rungs left)."""
        return self._mean(self.ridge.predict(signals), _read(self.trees, signals))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The regressions as plain arrays, for a file."""
        found = {**self.ridge.arrays(), "tree_shares": self.shares}
        for place, trees in enumerate(self.trees):
            found |= {f"tree{place}_{name}": array for name, array in trees.arrays().items()}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], *, exact: bool) -> Self:
        """The regressions from what `arrays` returned."""
        shares, trees = arrays["tree_shares"], []
        for start in (f"tree{place}_" for place in range(len(shares))):
            own = {
                name.removeprefix(start): arrays[name] for name in arrays if name.startswith(start)
            }
            trees.append(BoostedTrees.from_arrays(own))
        return cls(ridge_of(arrays, exact=exact), tuple(trees), shares)

    def _mean(self, expected: Floats, read: Floats) -> Floats:
        gains = (1 - self.shares) * _gains(expected) + self.shares * read
        return np.hstack([expected[:, :1], expected[:, :1] + gains])


def _gains(scores: Floats) -> Floats:
    """What each later rung adds, shape (n, rungs left - 1)."""
    gains: Floats = scores[:, 1:] - scores[:, :1]
    return gains


def _fit_trees(signals: Signals, scores: Floats, bags: int) -> tuple[BoostedTrees, ...]:
    return tuple(BoostedTrees.fit(signals.features, gain, bags=bags) for gain in _gains(scores).T)


def _read(trees: tuple[BoostedTrees, ...], signals: Signals) -> Floats:
    gains = [each.predict(signals.features) for each in trees]
    return np.array(gains, dtype=np.float64).reshape(len(trees), len(signals)).T
