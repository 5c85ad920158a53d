"""The estimate: scikit-learn's own, left out by groups, and back from plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.tree import ExtraTreeRegressor

from skr_core.routers.saving import SavedRouter
from skr_learn.estimator import PENALTY, PENALTY_OF_VECTORS, Estimator, folds, held_out
from skr_learn.features import Shown
from skr_learn.trees import DEPTH, LEAF, SHARE, TREES, Trees

RANDOM = np.random.default_rng(0)
WORDS = np.array("who what when led wrote team river song of the a in 1999 ada".split())


def things(n: int, *, vectors: int = 0, seed: int = 0) -> Shown:
    draws = np.random.default_rng(seed)
    tokens = [draws.choice(WORDS, int(draws.integers(0, 9))).tolist() for _ in range(n)]
    features = draws.normal(size=(n, 12)) * np.arange(12)  # the first never varies
    return Shown(
        tokens, features, draws.normal(size=(n, vectors)).astype(np.float32) if vectors else None
    )


def targets_of(shown: Shown) -> np.ndarray:
    said = np.array([float("ada" in text) for text in shown.tokens])
    return np.column_stack([said, shown.features[:, 3] > 0, shown.features[:, 4] * said])


SHOWN, OTHERS = things(300), things(100, seed=1)
TARGETS = targets_of(SHOWN)
ESTIMATOR = Estimator.fit(SHOWN, TARGETS)


def forest(rows: np.ndarray, targets: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """scikit-learn's extremely randomised trees, one after the other."""
    trees = [
        ExtraTreeRegressor(
            max_depth=DEPTH, min_samples_leaf=LEAF, max_features=SHARE, random_state=place
        ).fit(rows.astype(np.float32), targets)
        for place in range(TREES)
    ]
    return lambda some: np.mean([tree.predict(some.astype(np.float32)) for tree in trees], axis=0)


def linear(shown: Shown, targets: np.ndarray) -> Callable[[Shown], np.ndarray]:
    """TF-IDF and numbers of variance 9 / f each in scikit-learn's ridge regression."""
    tfidf = TfidfVectorizer(analyzer=list, min_df=2, sublinear_tf=True).fit(shown.tokens)
    varies = shown.features.std(axis=0) > 0
    mean, spread = shown.features.mean(axis=0)[varies], shown.features.std(axis=0)[varies]

    def columns(some: Shown):
        numbers = 3 * (some.features[:, varies] - mean) / spread / np.sqrt(varies.sum())
        return sparse.hstack([tfidf.transform(some.tokens), sparse.csr_matrix(numbers)]).tocsr()

    ridge = Ridge(alpha=PENALTY, solver="lsqr").fit(columns(shown), targets)
    return lambda some: ridge.predict(columns(some))


@pytest.mark.parametrize("some", [SHOWN, OTHERS], ids=["fitted on", "others"])
def test_it_is_the_mean_of_scikit_learns_own(some: Shown):
    trees = forest(SHOWN.features, TARGETS)(some.features)
    expected = (linear(SHOWN, TARGETS)(some) + trees) / 2
    assert np.abs(ESTIMATOR.predict(some) - expected).max() < 1e-6


def test_vectors_are_a_third_voice():
    shown, others = things(120, vectors=7), things(20, vectors=7, seed=1)
    targets = targets_of(shown)
    ridge = Ridge(alpha=PENALTY_OF_VECTORS).fit(shown.vectors, targets)
    without = Estimator.fit(replace(shown, vectors=None), targets).predict(others)
    expected = (2 * without + ridge.predict(others.vectors)) / 3
    found = Estimator.fit(shown, targets).predict(others)
    assert np.abs(found - expected).max() < 1e-5


def test_trees_part_rows_at_their_very_thresholds():
    rows = RANDOM.integers(0, 4, (300, 5)) / 3  # thresholds lie between few values
    targets = np.column_stack([rows[:, 0] + (rows[:, 1] > 0.5), rows[:, 2]])
    expected = forest(rows, targets)(rows)
    assert np.abs(Trees.fit(rows, targets).predict(rows) - expected).max() < 1e-6


@pytest.mark.parametrize("n", [1, 2, 3, 25])
def test_few_things_are_enough(n: int):
    some = things(n)
    assert np.isfinite(Estimator.fit(some, targets_of(some)).predict(OTHERS)).all()


def test_what_never_varies_is_expected():
    assert np.allclose(Estimator.fit(SHOWN, np.ones((300, 1))).predict(OTHERS), 1.0)


def test_a_number_that_never_varied_says_nothing_when_it_does():
    shown = Shown([[]] * 60, np.column_stack([np.full(60, 0.1), np.arange(60) % 2]))
    targets = shown.features[:, 1:] + 0.1 * RANDOM.normal(size=(60, 1))
    estimator = Estimator.fit(shown, targets)
    other = replace(shown, features=shown.features + np.array([5.0, 0.0]))
    assert np.allclose(estimator.predict(other), estimator.predict(shown))


def test_texts_without_known_words_are_told_by_their_numbers():
    some = replace(OTHERS, tokens=[["unheard"]] * len(OTHERS))
    none = replace(OTHERS, tokens=[[]] * len(OTHERS))
    assert np.array_equal(ESTIMATOR.predict(some), ESTIMATOR.predict(none))


def test_each_row_is_judged_by_itself():
    whole = ESTIMATOR.predict(OTHERS)
    one_by_one = [ESTIMATOR.predict(OTHERS[np.array([row])])[0] for row in range(10)]
    assert np.allclose(whole[:10], one_by_one, atol=1e-12)


class TestHeldOut:
    @pytest.mark.parametrize("count", [1, 2, 3, 17])
    def test_groups_are_left_out_together_and_all_are_judged_once(self, count: int):
        groups = RANDOM.integers(0, count, 40)
        judged = np.zeros(40)
        for fit, judge in folds(groups):
            assert not set(groups[fit]) & set(groups[judge])
            judged[judge] += 1
        assert (judged == 1).all()

    def test_what_was_seen_of_a_group_does_not_help(self):
        """Each name stands four times, always with one target: its group alone tells it."""
        groups = np.repeat(np.arange(40), 4)
        targets = RANDOM.integers(0, 2, 40)[groups][:, None].astype(float)
        shown = Shown([[f"name{group}"] for group in groups], np.zeros((160, 1)))
        left_out = held_out(shown, targets, groups)
        seen = held_out(shown, targets, np.arange(160))
        assert np.corrcoef(left_out[:, 0], targets[:, 0])[0, 1] < 0.3
        assert np.corrcoef(seen[:, 0], targets[:, 0])[0, 1] > 0.7

    def test_several_things_of_a_record_are_left_out_together(self):
        """The second half repeats the words of the first, so that one would tell the other."""
        names = [[f"name{number}", f"name{number}"] for number in range(60)]
        shown = Shown(names * 2, np.zeros((120, 1)))
        targets = np.tile(RANDOM.integers(0, 2, 60), 2)[:, None].astype(float)
        found = held_out(shown, targets, np.arange(60), each=2)
        assert np.corrcoef(found[:, 0], targets[:, 0])[0, 1] < 0.3

    def test_a_single_group_is_expected_nothing_of(self):
        assert (held_out(SHOWN, TARGETS, np.zeros(300, dtype=int)) == 0).all()


def test_it_comes_back_from_a_file(tmp_path: Path):
    for shown in (SHOWN, things(60, vectors=5), Shown([[]] * 30, SHOWN.features[:30])):
        estimator = Estimator.fit(shown, targets_of(shown))
        SavedRouter("policy", estimator.parameters(), estimator.arrays()).write(tmp_path / "saved")
        saved = SavedRouter.read(tmp_path / "saved")
        again = Estimator.from_arrays(saved.parameters, saved.arrays)
        assert np.array_equal(again.predict(shown), estimator.predict(shown))


WRONG: dict[str, Callable[[np.ndarray], np.ndarray | None]] = {
    "missing": lambda array: None,
    "empty": lambda array: array.reshape(-1)[:0],
    "scalar": lambda array: np.zeros((), array.dtype),
    "deeper": lambda array: array[..., None],
    "longer": lambda array: np.concatenate([array.reshape(-1), array.reshape(-1)]),
    "nan": lambda array: np.full(array.shape, np.nan),
    "infinite": lambda array: np.full(array.shape, np.inf),
    "texts": lambda array: np.full(array.shape, "x"),
}


# A start may be a single number, and the vectors of no embedder are empty.
HOSTILE = sorted({*product({*ESTIMATOR.arrays()} - {"of_vectors"}, WRONG)} - {("start", "scalar")})


@pytest.mark.parametrize(("name", "wrong"), HOSTILE)
def test_hostile_arrays_are_refused(name: str, wrong: str):
    arrays = ESTIMATOR.arrays()
    changed = WRONG[wrong](arrays.pop(name))
    if changed is not None:
        arrays[name] = changed
    with pytest.raises((KeyError, ValueError, TypeError)):
        Estimator.from_arrays(ESTIMATOR.parameters(), arrays)


@pytest.mark.parametrize("lead", [-1, -99, 10_000, 0.5])
@pytest.mark.parametrize("name", ["left", "right"])
def test_a_node_leads_to_one_of_its_tree(name: str, lead: float):
    arrays = Trees.fit(SHOWN.features, TARGETS).arrays()
    arrays[name] = np.full_like(arrays[name], lead, dtype=type(lead))
    with pytest.raises(ValueError, match="outside"):
        Trees.from_arrays(arrays)


def test_trees_that_lead_back_to_their_root_end():
    arrays = Trees.fit(SHOWN.features, TARGETS).arrays()
    looping = {**arrays, "left": np.zeros_like(arrays["left"])}
    looping["right"] = looping["left"]
    looping["features"] = np.zeros_like(arrays["features"])
    assert np.isfinite(Trees.from_arrays(looping).predict(OTHERS.features)).all()


@pytest.mark.parametrize(
    "change",
    [{"words": ["a"]}, {"words": ["a"] * len(ESTIMATOR.words)}],
)
def test_hostile_parameters_are_refused(change: dict[str, object]):
    with pytest.raises((KeyError, ValueError)):
        Estimator.from_arrays({**ESTIMATOR.parameters(), **change}, ESTIMATOR.arrays())


def test_a_tree_reads_what_there_is():
    arrays = ESTIMATOR.arrays()
    arrays["trees.features"] = np.full_like(arrays["trees.features"], 12)
    arrays["trees.left"] = arrays["trees.right"] = np.zeros_like(arrays["trees.left"])
    with pytest.raises(ValueError, match="reads more"):
        Estimator.from_arrays(ESTIMATOR.parameters(), arrays)
