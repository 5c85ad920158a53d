"""Estimate: is this answer right? Learnt from records, asked of every answer at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.arbiters.views import Views
from skr_core.learning.boosting import BoostedTrees
from skr_core.learning.folds import folds
from skr_core.learning.landmarks import LandmarkRidge
from skr_core.learning.likelihood import learn_kernel
from skr_core.learning.novelty import Novelty
from skr_core.learning.ridge import ExactRidge
from skr_core.learning.rows import Floats
from skr_core.routers.combined import fit_ridge


@dataclass(frozen=True)
class Estimate:
    """The chance that each of a answers is right, from what they show and how they agree.

    The mean of two regressions that see different things: a Gaussian process compares the question
    and its answers with those on record, in their words and their form; boosted trees read, of each
    answer, its form, how it agrees with the others and how it stands in the references. A question
    that is unlike all on record gets each action's average.

    Attributes:
        ridge: The Gaussian process.
        trees: The boosted trees.
        novelty: Whether a question is unlike all on record.
    """

    ridge: ExactRidge | LandmarkRidge
    trees: BoostedTrees
    novelty: Novelty

    @classmethod
    def fit(cls, views: Views, scores: Floats) -> Self:
        """Learn from records.

        Args:
            views: Of their questions and answers, n of them.
            scores: Of the answers, shape (n, a).
        """
        kernel = learn_kernel(views.signals, scores)
        ridge, _ = fit_ridge(views.signals, scores, kernel)
        trees = _fit_trees(views, scores)
        return cls(ridge, trees, Novelty.fit(ridge.kernel, ridge.signals))

    def chances(self, views: Views) -> Floats:
        """The estimated chance of each answer to be right, shape (n, a)."""
        return self._mean(self.ridge.predict(views.signals), _read(self.trees, views), views)

    def held_out(self, views: Views, scores: Floats, groups: NDArray[np.int64]) -> Floats:
        """The same of the records it was fitted on, each without itself, shape (n, a).

        Args:
            views: Of the records.
            scores: Of their answers, shape (n, a).
            groups: Records of equal numbers are left out together, shape (n,).
        """
        if isinstance(self.ridge, ExactRidge):
            expected = self.ridge.held_out(groups)
        else:
            expected = self.ridge.held_out(views.signals, scores, groups)
        read = np.zeros_like(scores)
        for fit, judge in folds(groups):
            trees = _fit_trees(views[fit], scores[fit]) if len(fit) else self.trees
            read[judge] = _read(trees, views[judge])
        return self._mean(expected, read, views)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The estimate as plain arrays, for a file."""
        trees = {f"tree_{name}": array for name, array in self.trees.arrays().items()}
        return {**self.ridge.arrays(), **trees}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], *, exact: bool) -> Self:
        """An estimate from what `arrays` returned."""
        ridge = (ExactRidge if exact else LandmarkRidge).from_arrays(arrays)
        trees = {
            name.removeprefix("tree_"): arrays[name] for name in arrays if name.startswith("tree_")
        }
        novelty = Novelty.fit(ridge.kernel, ridge.signals)
        return cls(ridge, BoostedTrees.from_arrays(trees), novelty)

    def _mean(self, expected: Floats, read: Floats, views: Views) -> Floats:
        novel = self.novelty.novel(views.signals)[:, None]
        found = np.where(novel, self.ridge.mean, (expected + read) / 2)
        return np.clip(found, 0.0, 1.0)


def _fit_trees(views: Views, scores: Floats) -> BoostedTrees:
    """Trees on every answer of every record: much the same makes each of them right."""
    return BoostedTrees.fit(np.concatenate(list(views.rows)), scores.T.ravel())


def _read(trees: BoostedTrees, views: Views) -> Floats:
    return np.column_stack([trees.predict(rows) for rows in views.rows])
