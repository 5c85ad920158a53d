"""Fifty thousand records: bounded memory, where all pairs of them would take 10 GB."""

from __future__ import annotations

import resource
from functools import partial

import numpy as np
import pytest

from skr_core import HashingEmbedder
from skr_learn.learning import Training
from skr_learn.learning.rule import parity_rule
from skr_learn.routers import ClassifierRouter, CombinedRouter, KNNRouter
from tests.skr_learn.routers.facts import answered

MANY = 50_000
MOST_MEMORY = 4_000_000  # KiB; 1 GB was measured alone, the rest is for what ran before


@pytest.fixture(scope="module")
def many() -> Training:
    rng = np.random.default_rng(0)
    topics = ("river", "invoice")
    chosen = rng.integers(0, 2, MANY)
    right = rng.random((MANY, 2)) < np.array([[0.8, 0.6], [0.2, 0.6]])[chosen]
    words = rng.integers(0, 5000, (MANY, 4))
    records = [
        answered(
            f"which {topics[topic]} {' '.join(f'w{word}' for word in drawn)}?",
            float(direct),
            float(augmented),
        )
        for topic, drawn, (direct, augmented) in zip(chosen, words, right, strict=True)
    ]
    return Training.of(records, HashingEmbedder(), drafts=False)


def combined(many: Training, embedder: HashingEmbedder) -> CombinedRouter:
    """With its price, which is chosen on what is expected of each record without itself."""
    router = CombinedRouter.of_training(many, embedder, drafts=False)
    router.price = parity_rule(router.held_out(many)).price
    return router


@pytest.mark.integration
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "fit",
    [partial(KNNRouter.of_training, rule="benefit"), ClassifierRouter.of_training, combined],
    ids=["benefit", "classifier", "combined"],
)
def test_they_are_learnt_from(many: Training, fit):
    router = fit(many, HashingEmbedder())
    assert router.decide("which invoice w4010 w512 w2031 w377?").retrieve
    assert not router.decide("which river w4010 w512 w2031 w377?").retrieve
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < MOST_MEMORY
