"""Trees: extremely randomised ones that scikit-learn fits, plain arrays that numpy alone reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skr_core.errors import extra

Floats = NDArray[np.float64]

TREES = 30
DEPTH = 12
LEAF = 5
"""Rows in a leaf at least."""
DRAWN = 10_000
"""Rows that a tree is fitted on at most; thirty trees see all of many rows."""
SHARE = 0.2
"""Of the features that a split looks at: the trees differ, and their mean is steadier."""


@dataclass(frozen=True)
class Trees:
    """A mean of regression trees for k targets, stored as the arrays of their nodes.

    Attributes:
        features: Index of the feature that a node reads, shape (trees, nodes); negative at leaves.
        thresholds: What it is compared with, shape as above.
        left: The node for values up to the threshold, shape as above.
        right: The node for values above it, shape as above.
        values: What a leaf expects of each target, shape (trees, nodes, k).

    Example:
        >>> rows = np.arange(200.0)[:, None]
        >>> trees = Trees.fit(rows, (rows >= 100).astype(float))
        >>> trees.predict(np.array([[10.0], [190.0]])).round(1).tolist()
        [[0.0], [1.0]]
    """

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
            targets: What is to be expected, shape (n, k).
        """
        with extra("learning"):
            from sklearn import config_context
            from sklearn.tree import ExtraTreeRegressor
        read, k = rows.astype(np.float32), targets.shape[1]
        wanted = np.ascontiguousarray(targets, dtype=np.float64)
        draw = np.random.default_rng(0)
        trees = []
        # Of a few hundred rows, checking its parameters takes a quarter of a tree's time.
        with config_context(skip_parameter_validation=True, assume_finite=True):
            for place in range(TREES):
                grown = ExtraTreeRegressor(
                    max_depth=DEPTH, min_samples_leaf=LEAF, max_features=SHARE, random_state=place
                )
                some: Any = slice(None)
                if len(read) > DRAWN:
                    some = np.sort(draw.choice(len(read), DRAWN, replace=False))
                trees.append(grown.fit(read[some], wanted[some], check_input=False).tree_)
        size = max(tree.node_count for tree in trees)

        def padded(name: str, dtype: Any, shape: tuple[int, ...] = ()) -> NDArray[Any]:
            found = np.zeros((len(trees), size, *shape), dtype=dtype)
            for place, tree in enumerate(trees):
                found[place, : tree.node_count] = getattr(tree, name).reshape(-1, *shape)
            return found

        # scikit-learn compares features of 32 bits with thresholds of 64: rounded down, they part
        # the same features.
        exact = padded("threshold", np.float64)
        thresholds = exact.astype(np.float32)
        above = thresholds > exact
        thresholds[above] = np.nextafter(thresholds[above], np.float32(-np.inf))
        return cls(
            padded("feature", np.int16),
            thresholds,
            padded("children_left", np.int16),
            padded("children_right", np.int16),
            padded("value", np.float32, (k,)),
        )

    def predict(self, rows: Floats) -> Floats:
        """Return what is expected of rows of shape (n, f), shape (n, k)."""
        read = rows.astype(np.float32)
        trees = np.arange(len(self.features))[:, None]
        places = np.arange(len(read))[None, :]
        nodes = np.zeros((len(self.features), len(read)), dtype=np.int16)
        for _ in range(DEPTH):
            features = self.features[trees, nodes]
            lower = read[places, np.maximum(features, 0)] <= self.thresholds[trees, nodes]
            further = np.where(lower, self.left[trees, nodes], self.right[trees, nodes])
            nodes = np.where(features < 0, nodes, further)
        mean: Floats = self.values[trees, nodes].mean(axis=0, dtype=np.float64)
        return mean

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the trees as plain arrays, for a file."""
        return {
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
        given = {name: arrays[name] for name in cls.__annotations__}
        shape = given["features"].shape
        dimensions = [array.ndim for array in given.values()]
        if dimensions != [2, 2, 2, 2, 3] or not all(shape):
            raise ValueError("these are no trees")
        if any(array.shape[:2] != shape for array in given.values()):
            raise ValueError("the nodes of the trees differ in number")
        if not all(np.isfinite(array).all() for array in given.values()):
            raise ValueError("a tree holds what is no number")
        inner = given["features"] >= 0
        for name in ("left", "right"):
            leads = given[name][inner]
            if given[name].dtype.kind != "i" or (leads < 0).any() or (leads >= shape[1]).any():
                raise ValueError("a node leads outside of its tree")
        return cls(**given)
