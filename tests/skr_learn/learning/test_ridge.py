"""The regression: leave-one-out, growth and landmarks against doing it the long way."""

from __future__ import annotations

import numpy as np
import pytest

from skr_core import HashingEmbedder
from skr_learn.learning import Training, landmarks
from skr_learn.learning.kernel import Kernel
from skr_learn.learning.landmarks import LandmarkRidge
from skr_learn.learning.ridge import ExactRidge
from tests.skr_learn.routers.facts import records


@pytest.fixture(scope="module")
def training() -> Training:
    some = records(12)
    return Training.of([*some, some[0], some[0], some[5]], HashingEmbedder())


@pytest.fixture(scope="module")
def targets(training: Training) -> np.ndarray:
    noise = np.random.default_rng(0).normal(size=len(training))
    return np.column_stack([training.benefit + noise, training.direct])


@pytest.fixture(scope="module")
def kernel(training: Training) -> Kernel:
    return Kernel.fit(training.signals)


def test_leaving_out_is_exact(training, targets, kernel):
    found = ExactRidge(kernel, training.signals, targets).held_out(training.groups)
    matrix, mean = kernel.between(training.signals, training.signals), targets.mean(axis=0)
    for place in range(len(training)):
        others = np.flatnonzero(training.groups != training.groups[place])
        among = matrix[np.ix_(others, others)] + np.eye(len(others))
        weights = np.linalg.solve(among, targets[others] - mean)
        assert found[place] == pytest.approx(matrix[place, others] @ weights + mean)


def test_growing_is_the_same_as_fitting_on_all(training, targets, kernel):
    grown = ExactRidge(kernel, training.signals[:15], targets[:15]).extended(
        training.signals[15:], targets[15:]
    )
    whole = ExactRidge(kernel, training.signals, targets)
    assert grown.predict(training.signals) == pytest.approx(whole.predict(training.signals))
    assert grown.held_out(training.groups) == pytest.approx(whole.held_out(training.groups))


def test_with_every_record_a_landmark_it_is_exact(training, targets, kernel):
    exact = ExactRidge(kernel, training.signals, targets)
    sparse = LandmarkRidge.fit(kernel, training.signals, targets)
    near = {"abs": 1e-5}
    assert sparse.predict(training.signals) == pytest.approx(
        exact.predict(training.signals), **near
    )
    held_out = sparse.held_out(training.signals, targets, training.groups)
    assert held_out == pytest.approx(exact.held_out(training.groups), **near)


def test_landmarks_leave_out_exactly(training, targets, kernel, monkeypatch):
    monkeypatch.setattr(landmarks, "LANDMARKS", 2)  # fewer than the largest group has records
    monkeypatch.setattr(landmarks, "BLOCK", 4)
    model = LandmarkRidge.fit(kernel, training.signals, targets)
    found = model.held_out(training.signals, targets, training.groups)
    between = kernel.between(training.signals, model.signals)
    among = kernel.between(model.signals, model.signals)
    mean = targets.mean(axis=0)
    for place in range(len(training)):
        others = np.flatnonzero(training.groups != training.groups[place])
        left = between[others].T @ between[others] + among
        weights = np.linalg.solve(left, between[others].T @ (targets[others] - mean))
        assert found[place] == pytest.approx(between[place] @ weights + mean, abs=1e-5)


def test_landmarks_grow(training, targets, kernel):
    part = LandmarkRidge.fit(kernel, training.signals[:15], targets[:15])
    grown = part.extended(training.signals[15:], targets[15:])
    again = LandmarkRidge.from_arrays(grown.arrays())
    assert again.predict(training.signals) == pytest.approx(grown.predict(training.signals))
    assert not np.allclose(part.predict(training.signals), grown.predict(training.signals))


def test_columns_that_never_vary_are_left_out(kernel):
    assert len(kernel.columns) < 60
