"""Trees: gradient boosting that scikit-learn fits, kept as plain arrays that numpy alone reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import extra

Floats = NDArray[np.float64]

TREES = 40
DEPTH = 5
RATE = 0.15
LEAF = 20
"""Rows in a leaf at least."""
DRAWN = 5_000
"""Rows that a tree is fitted on at most; forty trees see all of many rows."""
SHARE = 0.1
"""Of the features that a split looks at: the trees differ, and their sum is steadier."""


@dataclass(frozen=True)
class Trees:
    """A sum of regression trees, each stored as the arrays of its nodes.

    Attributes:
        start: What the sum begins with.
        features: Index of the feature that a node reads, shape (trees, nodes); negative at leaves.
        thresholds: What it is compared with, shape as above.
        left: The node for values up to the threshold, shape as above.
        right: The node for values above it, shape as above.
        values: What a leaf adds, shape as above.

    Example:
        >>> rows = np.arange(200.0)[:, None]
        >>> trees = Trees.fit(rows, (rows[:, 0] >= 100).astype(float))
        >>> trees.predict(np.array([[10.0], [190.0]])).round(1).tolist()
        [0.0, 1.0]
    """

    start: float
    features: NDArray[np.int16]
    thresholds: NDArray[np.float32]
    left: NDArray[np.int16]
    right: NDArray[np.int16]
    values: NDArray[np.float32]

    @classmethod
    def fit(cls, rows: Floats, targets: Floats) -> Self:
        """Fit the trees; the same ones on the same rows.

        Args:
            rows: The features, shape (n, f), without NaN.
            targets: What is to be expected, shape (n,).
        """
        with extra("learning"):
            from sklearn import config_context
            from sklearn.ensemble import GradientBoostingRegressor
        boosted = GradientBoostingRegressor(
            n_estimators=TREES,
            learning_rate=RATE,
            max_depth=DEPTH,
            min_samples_leaf=LEAF,
            subsample=min(0.5, DRAWN / len(rows)) if len(rows) > 1 else 1.0,
            max_features=SHARE,
            random_state=0,
        )
        # Of a few hundred rows, checking its parameters takes a quarter of a tree's time.
        with config_context(skip_parameter_validation=True, assume_finite=True):
            boosted.fit(rows.astype(np.float32), targets)
        trees = [stage.tree_ for stage in boosted.estimators_[:, 0]]
        size = max(tree.node_count for tree in trees)

        def padded(name: str, dtype: Any) -> NDArray[Any]:
            found = np.zeros((len(trees), size), dtype=dtype)
            for place, tree in enumerate(trees):
                found[place, : tree.node_count] = getattr(tree, name).reshape(tree.node_count)
            return found

        # scikit-learn compares features of 32 bits with thresholds of 64: rounded down, they part
        # the same features.
        exact = padded("threshold", np.float64)
        thresholds = exact.astype(np.float32)
        above = thresholds > exact
        thresholds[above] = np.nextafter(thresholds[above], np.float32(-np.inf))
        return cls(
            float(targets.mean()),
            padded("feature", np.int16),
            thresholds,
            padded("children_left", np.int16),
            padded("children_right", np.int16),
            (RATE * padded("value", np.float64)).astype(np.float32),
        )

    def predict(self, rows: Floats) -> Floats:
        """Return what is expected of rows of shape (n, f), shape (n,)."""
        read = rows.astype(np.float32)
        trees = np.arange(len(self.features))[:, None]
        places = np.arange(len(read))[None, :]
        nodes = np.zeros((len(self.features), len(read)), dtype=np.int16)
        for _ in range(DEPTH):
            features = self.features[trees, nodes]
            lower = read[places, np.maximum(features, 0)] <= self.thresholds[trees, nodes]
            further = np.where(lower, self.left[trees, nodes], self.right[trees, nodes])
            nodes = np.where(features < 0, nodes, further)
        total: Floats = self.start + self.values[trees, nodes].sum(axis=0, dtype=np.float64)
        return total

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the trees as plain arrays, for a file."""
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
        """Make trees of what `arrays` returned.

        Raises:
            KeyError: An array is missing.
            ValueError: The arrays do not fit together, a node leads outside of its tree, or a
                value is not finite.
        """
        start = arrays["start"]
        given = {name: arrays[name] for name in cls.__annotations__ if name != "start"}
        shape = given["features"].shape
        if start.shape or len(shape) != 2 or not all(shape):
            raise ValueError("these are no trees")
        if any(array.shape != shape for array in given.values()):
            raise ValueError("the nodes of the trees differ in number")
        if not all(np.isfinite(array).all() for array in (start, *given.values())):
            raise ValueError("a tree holds what is no number")
        inner = given["features"] >= 0
        for name in ("left", "right"):
            leads = given[name][inner]
            if given[name].dtype.kind != "i" or (leads < 0).any() or (leads >= shape[1]).any():
                raise ValueError("a node leads outside of its tree")
        return cls(float(start), **given)
