"""BoostedTrees: gradient boosting that is fitted by scikit-learn and kept as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import extra
from skr_learn.learning.rows import Floats
from skr_learn.learning.threads import side_by_side

TREES = 100
DEPTH = 4
RATE = 0.12
"""Many small steps, each on a random half of the rows, if these are not too many, and on a tenth of
the features. Three times as many of a third of the size take three times as long and are hardly
more often right."""
LEAF = 20
"""Rows in a leaf at least."""
DRAWN = 5_000
"""Rows that a tree is fitted on at most: it takes time in proportion to them, and a hundred
trees see all of many rows."""
BAGS = 4
"""Sums that are averaged, each of other random halves: one alone changes with its seed."""
HELD_OUT_BAGS = 2
"""As many where each record is judged by trees without it, which takes five fits more."""


@dataclass(frozen=True)
class BoostedTrees:
    """The mean of a few sums of regression trees, each tree stored as the arrays of its nodes.

    Attributes:
        start: What the sum begins with.
        features: Index of the feature that a node reads, shape (trees, nodes); negative at leaves.
        thresholds: What it is compared with, shape as above.
        left: The node for values up to the threshold, shape as above.
        right: The node for values above it, shape as above.
        values: What a leaf adds, shape as above.

    Example:
        >>> rows = np.arange(200.0)[:, None]
        >>> trees = BoostedTrees.fit(rows, (rows[:, 0] >= 100).astype(float))
        >>> trees.predict(np.array([[10.0], [190.0]])).round(1).tolist()
        [0.0, 1.0]
    """

    start: float
    features: NDArray[np.int32]
    thresholds: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    values: Floats

    @classmethod
    def fit(
        cls, rows: Floats, targets: Floats, weights: Floats | None = None, *, bags: int = BAGS
    ) -> Self:
        """Fit the trees; the same ones on the same rows.

        Args:
            rows: Shape (n, f), without NaN.
            targets: Shape (n,).
            weights: How much each row counts, shape (n,); by default all count the same.
            bags: Sums that are averaged.
        """
        with extra("learning"):
            from sklearn import config_context
            from sklearn.ensemble import GradientBoostingRegressor
        read = rows.astype(np.float32)  # as scikit-learn does, for every sum anew

        def fitted(seed: int) -> list[Any]:
            boosted = GradientBoostingRegressor(
                n_estimators=TREES,
                learning_rate=RATE,
                max_depth=DEPTH,
                min_samples_leaf=LEAF,
                subsample=min(0.5, DRAWN / len(read)),
                max_features=0.1,
                random_state=seed,
            )
            # Of a few hundred rows, checking its parameters takes a quarter of a tree's time.
            with config_context(skip_parameter_validation=True, assume_finite=True):
                boosted.fit(read, targets, sample_weight=weights)
            return [stage.tree_ for stage in boosted.estimators_[:, 0]]

        sums = side_by_side([partial(fitted, seed) for seed in range(bags)])
        trees = [tree for some in sums for tree in some]
        size = max(tree.node_count for tree in trees)

        def padded(name: str, dtype: Any) -> NDArray[Any]:
            found = np.zeros((len(trees), size), dtype=dtype)
            for place, tree in enumerate(trees):
                values = np.asarray(getattr(tree, name)).reshape(tree.node_count)
                found[place, : tree.node_count] = values
            return found

        return cls(
            float(np.average(targets, weights=weights)),
            padded("feature", np.int32),
            padded("threshold", np.float64),
            padded("children_left", np.int32),
            padded("children_right", np.int32),
            RATE / bags * padded("value", np.float64),
        )

    def predict(self, rows: Floats) -> Floats:
        """What is expected of rows of shape (n, f), shape (n,)."""
        read = rows.astype(np.float32)  # as scikit-learn compares them
        trees = np.arange(len(self.features))[:, None]
        places = np.arange(len(read))[None, :]
        nodes = np.zeros((len(self.features), len(read)), dtype=np.int32)
        for _ in range(DEPTH):
            features = self.features[trees, nodes]
            lower = read[places, np.maximum(features, 0)] <= self.thresholds[trees, nodes]
            further = np.where(lower, self.left[trees, nodes], self.right[trees, nodes])
            nodes = np.where(features < 0, nodes, further)
        total: Floats = self.start + self.values[trees, nodes].sum(axis=0)
        return total

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The trees as plain arrays, for a file."""
        return {
            "start": np.array(self.start),
            "features": self.features,
            "thresholds": self.thresholds,
            "left": self.left,
            "right": self.right,
            "values": self.values,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Trees from what `arrays` returned."""
        given = {name: arrays[name] for name in arrays if name != "start"}
        return cls(float(arrays["start"]), **given)
