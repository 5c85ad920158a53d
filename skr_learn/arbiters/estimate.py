"""Estimate: is this answer right? Learnt from records, asked of every answer at hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.flow import Flow, call
from skr_core.types import Action
from skr_learn.arbiters.answers import Seen
from skr_learn.arbiters.views import Views, texts_seen
from skr_learn.learning.boosting import BAGS, HELD_OUT_BAGS, BoostedTrees
from skr_learn.learning.folds import Indices, folds
from skr_learn.learning.likelihood import learn_kernel
from skr_learn.learning.novelty import Novelty
from skr_learn.learning.regression import Ridge, fit_ridge, held_out, ridge_of
from skr_learn.learning.rows import Floats, aembed_texts, embed_texts
from skr_learn.learning.threads import side_by_side

if TYPE_CHECKING:
    from skr_core.ports import Embedder

BELIEVED, OF_NOVEL = 0.75, 0.25
"""Shares of what was learnt that are believed: the likeliest of several estimates is one that came
out too high, and of a question unlike all on record little was learnt."""
ALIKE = 0.3
"""Weight of a record whose answers are worth the same: it says what is right, not which one is."""


@dataclass(frozen=True)
class Estimate:
    """The chance that each of a answers is right, from what they show and how they agree.

    The mean of two regressions that see different things: a Gaussian process compares the question
    and its answers with those on record, in their words and their form; boosted trees read, of each
    answer, its form, how it agrees with the others and where else it stands. What they say is drawn
    towards each action's average, and most of all for a question that is unlike all on record.

    Attributes:
        ridge: The Gaussian process.
        trees: The boosted trees.
        novelty: Whether a question is unlike all on record.
    """

    ridge: Ridge
    trees: BoostedTrees
    novelty: Novelty

    @classmethod
    def fit(cls, views: Views, scores: Floats) -> Self:
        """Learn from records.

        Args:
            views: Of their questions and answers, n of them.
            scores: Of the answers, shape (n, a).
        """

        def compared() -> tuple[Ridge, Novelty]:
            kernel = learn_kernel(views.signals, scores)
            ridge, _ = fit_ridge(views.signals, scores, kernel)
            return ridge, Novelty.fit(ridge.kernel, ridge.signals)

        works: list[Callable[[], Any]] = [compared, partial(_fit_trees, views, scores)]
        (ridge, novelty), trees = side_by_side(works)
        return cls(ridge, trees, novelty)

    def chances(self, views: Views) -> Floats:
        """The estimated chance of each answer to be right, shape (n, a)."""
        return self._mean(self.ridge.predict(views.signals), _read(self.trees, views), views)

    async def achances(self, views: Views) -> Floats:
        """The same in a thread: work for the processor, which must not hold up an event loop."""
        return await asyncio.to_thread(self.chances, views)

    def chances_of(
        self,
        seen: Seen,
        actions: Sequence[Action],
        embedder: Embedder,
        *,
        margins: bool = False,
    ) -> Flow[Floats]:
        """The chances of one question's answers, which are embedded first, shape (a,).

        Args:
            seen: The question with its answers.
            actions: Their order.
            embedder: For questions and answers.
            margins: Look at the answers' likelihoods too, as when it was fitted.
        """
        vectors = yield from call(embed_texts, aembed_texts, embedder, texts_seen([seen], actions))
        views = Views.of_vectors([seen], actions, vectors, margins=margins)
        chances: Floats = yield from call(self.chances, self.achances, views)
        only: Floats = chances[0]
        return only

    def held_out(self, views: Views, scores: Floats, groups: NDArray[np.int64]) -> Floats:
        """The same of the records it was fitted on, each without itself, shape (n, a).

        Args:
            views: Of the records.
            scores: Of their answers, shape (n, a).
            groups: Records of equal numbers are left out together, shape (n,).
        """
        splits, read = list(folds(groups)), np.zeros_like(scores)

        def compared() -> Floats:
            return held_out(self.ridge, views.signals, scores, groups)

        def judged(fit: Indices, judge: Indices) -> Floats:
            some = _fit_trees(views[fit], scores[fit], HELD_OUT_BAGS) if len(fit) else self.trees
            return _read(some, views[judge])

        works: list[Callable[[], Floats]] = [compared]
        works += [partial(judged, *split) for split in splits]
        expected, *parts = side_by_side(works)
        for (_, judge), part in zip(splits, parts, strict=True):
            read[judge] = part
        return self._mean(expected, read, views)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The estimate as plain arrays, for a file."""
        trees = {f"tree_{name}": array for name, array in self.trees.arrays().items()}
        return {**self.ridge.arrays(), **trees}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], *, exact: bool) -> Self:
        """An estimate from what `arrays` returned."""
        ridge = ridge_of(arrays, exact=exact)
        trees = {
            name.removeprefix("tree_"): arrays[name] for name in arrays if name.startswith("tree_")
        }
        novelty = Novelty.fit(ridge.kernel, ridge.signals)
        return cls(ridge, BoostedTrees.from_arrays(trees), novelty)

    def _mean(self, expected: Floats, read: Floats, views: Views) -> Floats:
        novel = self.novelty.novel(views.signals)[:, None]
        learnt = (expected + read) / 2 - self.ridge.mean
        found = self.ridge.mean + np.where(novel, OF_NOVEL, BELIEVED) * learnt
        return np.clip(found, 0.0, 1.0)


def _fit_trees(views: Views, scores: Floats, bags: int = BAGS) -> BoostedTrees:
    """Trees on every answer of every record: much the same makes each of them right."""
    alike = scores.max(axis=1) == scores.min(axis=1)
    weights = np.tile(np.where(alike, ALIKE, 1.0), scores.shape[1])
    return BoostedTrees.fit(np.concatenate(list(views.rows)), scores.T.ravel(), weights, bags=bags)


def _read(trees: BoostedTrees, views: Views) -> Floats:
    return np.column_stack([trees.predict(rows) for rows in views.rows])
