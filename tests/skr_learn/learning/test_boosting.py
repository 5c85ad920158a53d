"""Trees that scikit-learn fits and that are kept as arrays."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

from skr_learn.learning.boosting import BAGS, DEPTH, LEAF, RATE, TREES, BoostedTrees

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(300, 12))
TARGETS = (ROWS[:, 0] + RANDOM.normal(size=300) > 0).astype(float)


def test_they_predict_as_scikit_learn_does():
    expected = np.mean(
        [
            GradientBoostingRegressor(
                n_estimators=TREES,
                learning_rate=RATE,
                max_depth=DEPTH,
                min_samples_leaf=LEAF,
                subsample=0.5,
                max_features=0.1,
                random_state=seed,
            )
            .fit(ROWS, TARGETS)
            .predict(ROWS)
            for seed in range(BAGS)
        ],
        axis=0,
    )
    assert np.allclose(BoostedTrees.fit(ROWS, TARGETS).predict(ROWS), expected)


def test_they_come_back_from_their_arrays():
    trees = BoostedTrees.fit(ROWS, TARGETS)
    again = BoostedTrees.from_arrays(trees.arrays())
    assert np.array_equal(again.predict(ROWS), trees.predict(ROWS))
    assert not any(array.dtype.hasobject for array in trees.arrays().values())


def test_a_target_that_never_varies_is_expected():
    assert np.allclose(BoostedTrees.fit(ROWS, np.ones(300)).predict(ROWS), 1.0)


def test_a_row_counts_as_much_as_its_weight():
    weights = np.where(np.arange(300) < 150, 1.0, 0.0)
    changed = np.where(weights > 0, TARGETS, 5.0)
    trees = BoostedTrees.fit(ROWS, TARGETS, weights, bags=1)
    assert np.allclose(
        trees.predict(ROWS), BoostedTrees.fit(ROWS, changed, weights, bags=1).predict(ROWS)
    )
    assert len(trees.features) == TREES
