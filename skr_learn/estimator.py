"""Estimator: what is to be expected of something, by words, numbers and vectors.

The mean of two or three voices that err in different ways: a linear model on words (TF-IDF) and
numbers, a forest of trees on the numbers, and, with an embedder, a linear model on its vectors. On
recorded answers of six question sets the mean is as good as Gaussian processes, and fits in
seconds. scikit-learn fits; numpy alone predicts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import extra
from skr_learn.features.views import Shown
from skr_learn.features.words import WordCounts
from skr_learn.trees import Trees

Floats = NDArray[np.float64]
Made = TypeVar("Made")

FOLDS = 5
PENALTY = 6.0
"""Of the linear model on words and numbers; a fourth or a double of it does as well."""
WEIGHT_OF_NUMBERS = 3.0
"""How large all numbers together are beside all words, which have length 1."""
SMALLEST = 1e-9
"""Spread of a number, beside its mean, below which it is always the same but for rounding."""
PENALTY_OF_VECTORS = 20.0
THREADS = 2


@dataclass(frozen=True)
class Estimator:
    """An estimate of k numbers; make one with `fit`.

    Attributes:
        words: Index of each word.
        frequencies: The inverse document frequency of each word, shape (w,).
        of_words: The weights of the words, shape (w, k).
        means: The mean of each number, shape (f,).
        scales: What each number is multiplied with, shape (f,).
        of_numbers: The weights of the numbers, shape (f, k).
        start: The linear model's intercepts, shape (k,).
        trees: The trees, which expect all of the k.
        of_vectors: The weights of the vectors and, last, the intercepts, shape (d + 1, k); empty
            without an embedder.

    Example:
        >>> shown = Shown([[str(n % 2)] for n in range(60)], np.arange(60.0)[:, None] % 2)
        >>> estimator = Estimator.fit(shown, (np.arange(60) % 2)[:, None])
        >>> estimator.predict(shown)[:2, 0].round().tolist()
        [0.0, 1.0]
    """

    words: Mapping[str, int]
    frequencies: Floats
    of_words: Floats
    means: Floats
    scales: Floats
    of_numbers: Floats
    start: Floats
    trees: Trees
    of_vectors: Floats

    @classmethod
    def fit(cls, shown: Shown, targets: Floats, counted: WordCounts | None = None) -> Self:
        """Fit the voices.

        Args:
            shown: What is seen of n things.
            targets: What is to be expected, shape (n, k).
            counted: The words of the n things, where they have been counted.
        """
        with extra("learning"):
            from scipy import sparse
            from sklearn.linear_model import Ridge
        targets = np.asarray(targets, dtype=np.float64)
        means, spread = shown.features.mean(axis=0), shown.features.std(axis=0)
        varies = spread > SMALLEST * (1 + np.abs(means))
        scales = np.where(varies, WEIGHT_OF_NUMBERS / np.where(varies, spread, 1.0), 0.0)
        scales /= math.sqrt(max(1, int(varies.sum())))
        words, frequencies, weighed = (counted or shown.counted).weighed()
        columns = sparse.hstack([weighed, sparse.csr_matrix((shown.features - means) * scales)])
        linear = Ridge(alpha=PENALTY, solver="lsqr").fit(columns.tocsr(), targets)
        weights = linear.coef_.reshape(targets.shape[1], -1).T
        return cls(
            {word: place for place, word in enumerate(words)},
            frequencies,
            weights[: len(words)],
            means,
            scales,
            weights[len(words) :],
            np.asarray(linear.intercept_, dtype=np.float64).reshape(-1),
            Trees.fit(shown.features, targets),
            np.zeros((0, targets.shape[1]))
            if shown.vectors is None
            else _fit_vectors(shown.vectors, targets),
        )

    def predict(self, shown: Shown) -> Floats:
        """Return what is expected of n things, shape (n, k)."""
        voices = [
            self._read_words(shown.tokens)
            + ((shown.features - self.means) * self.scales) @ self.of_numbers
            + self.start,
            self.trees.predict(shown.features),
        ]
        if len(self.of_vectors) and shown.vectors is not None:
            voices.append(shown.vectors @ self.of_vectors[:-1] + self.of_vectors[-1])
        total: Floats = np.mean(voices, axis=0)
        return total

    def _read_words(self, tokens: Sequence[Sequence[str]]) -> Floats:
        """Add up the weights of each text's words, as scikit-learn's TF-IDF weighs them."""
        found = np.zeros((len(tokens), len(self.start)))
        known = [
            (row, self.words[word])
            for row, text in enumerate(tokens)
            for word in text
            if word in self.words
        ]
        if known:
            cells, times = np.unique(np.array(known), axis=0, return_counts=True)
            rows, places = cells.T
            values = (1 + np.log(times)) * self.frequencies[places]
            values /= np.sqrt(np.bincount(rows, values**2))[rows]
            np.add.at(found, rows, values[:, None] * self.of_words[places])
        return found

    def parameters(self) -> dict[str, Any]:
        """Return what a file holds beside `arrays`: the words, in the order of their indices."""
        return {"words": sorted(self.words, key=self.words.__getitem__)}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the weights as plain arrays, for a file."""
        found = {name: getattr(self, name) for name in _ARRAYS}
        return found | {f"trees.{name}": array for name, array in self.trees.arrays().items()}

    @classmethod
    def from_arrays(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make an estimator of what `parameters` and `arrays` returned.

        Raises:
            KeyError: Something is missing.
            ValueError: The arrays do not fit together, or a value is not finite.
        """
        words = {str(word): place for place, word in enumerate(parameters["words"])}
        trees = Trees.from_arrays(part_of(arrays, "trees"))
        made = cls(words=words, trees=trees, **{name: arrays[name] for name in _ARRAYS})
        w, f, d, k = len(words), len(made.means), len(made.of_vectors), trees.values.shape[2]
        shapes = ((w,), (w, k), (f,), (f,), (f, k), (k,), (d, k))
        for name, shape in zip(_ARRAYS, shapes, strict=True):
            if not k or arrays[name].shape != shape:
                raise ValueError(f"{name} has the shape {arrays[name].shape}, not {shape}")
            if not np.isfinite(arrays[name]).all():
                raise ValueError(f"{name} holds what is no number")
        if trees.features.max() >= f:
            raise ValueError("a tree reads more numbers than there are")
        return made


def held_out(shown: Shown, targets: Floats, groups: NDArray[np.int64], *, each: int = 1) -> Floats:
    """Return what is expected of each thing by an estimator that has seen none of its group.

    Args:
        shown: What is seen of n * each things: n of the first kind, then of the next.
        targets: What is to be expected, shape (n * each, k).
        groups: Things of equal numbers are left out together, shape (n,).
        each: How many things there are of each of the n.

    Returns:
        Shape (n * each, k).
    """
    n = len(groups)

    def judged(fit: NDArray[np.int64], judge: NDArray[np.int64]) -> tuple[Any, Floats]:
        fit, judge = (np.concatenate([rows + n * part for part in range(each)])
                      for rows in (fit, judge))  # fmt: skip
        if not len(fit):
            return judge, np.zeros((len(judge), targets.shape[1]))
        estimator = Estimator.fit(shown[fit], targets[fit], counted[fit])
        return judge, estimator.predict(shown[judge])

    counted = shown.counted  # once for all folds
    found = np.zeros(targets.shape)
    works = [lambda fit=fit, judge=judge: judged(fit, judge) for fit, judge in folds(groups)]
    for judge, expected in side_by_side(works):
        found[judge] = expected
    return found


def folds(
    groups: NDArray[np.int64],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield indices to fit on and indices to judge; each is judged once, with all of its group.

    Example:
        >>> [(fit.tolist(), judge.tolist()) for fit, judge in folds(np.array([0, 0, 1]))]
        [([0, 1], [2]), ([2], [0, 1])]
    """
    parts = min(FOLDS, len(np.unique(groups)))
    if parts < 2:  # nothing to fit on
        yield np.arange(0), np.arange(len(groups))
        return
    with extra("learning"):
        from sklearn.model_selection import GroupKFold

    yield from GroupKFold(parts, shuffle=True, random_state=0).split(groups, groups=groups)


def side_by_side(works: Sequence[Callable[[], Made]]) -> list[Made]:
    """Do a few things in threads; scikit-learn lets go of the interpreter while it counts."""
    with extra("learning"):
        from threadpoolctl import threadpool_limits

    # Threads of linear algebra below these only wait for each other.
    with threadpool_limits(1), ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda work: work(), works))


def part_of(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the entries of a part, whose names begin with the part's and a point.

    Example:
        >>> part_of({"a.x": 1, "b.x": 2}, "a")
        {'x': 1}
    """
    return {
        key.removeprefix(f"{name}."): value
        for key, value in given.items()
        if key.startswith(f"{name}.")
    }


_ARRAYS = ("frequencies", "of_words", "means", "scales", "of_numbers", "start", "of_vectors")


def _fit_vectors(vectors: NDArray[np.float32], targets: Floats) -> Floats:
    with extra("learning"):
        from sklearn.linear_model import Ridge
    linear = Ridge(alpha=PENALTY_OF_VECTORS).fit(vectors, targets)
    weights = np.asarray(linear.coef_, dtype=np.float64).reshape(targets.shape[1], -1).T
    return np.vstack([weights, np.asarray(linear.intercept_).reshape(1, -1)])
