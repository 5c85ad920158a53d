"""A hundred thousand records: bounded time and memory."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from skr_core.routers import ClassifierRouter, CombinedRouter, KNNRouter
from skr_core.self_knowledge import SelfKnowledge
from tests.skr_core.routers.facts import answered

MANY = 100_000
MOST_MEMORY = 4_000_000  # KiB; 0.8 GB were measured alone, the rest is for what ran before


@pytest.fixture(scope="module")
def many() -> list[SelfKnowledge]:
    rng = np.random.default_rng(0)
    topics = ("river", "invoice")
    chosen = rng.integers(0, 2, MANY)
    right = rng.random((MANY, 2)) < np.array([[0.8, 0.6], [0.2, 0.6]])[chosen]
    words = rng.integers(0, 5000, (MANY, 4))
    return [
        answered(
            f"which {topics[topic]} {' '.join(f'w{word}' for word in drawn)}?",
            float(direct),
            float(augmented),
        )
        for topic, drawn, (direct, augmented) in zip(chosen, words, right, strict=True)
    ]


@pytest.mark.integration
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "fit",
    [
        lambda some: KNNRouter.fit(some, rule="benefit"),
        ClassifierRouter.fit,
        lambda some: CombinedRouter.fit(some, drafts=False),
    ],
    ids=["benefit", "classifier", "combined"],
)
def test_they_are_learnt_from(many: list[SelfKnowledge], fit):
    router = fit(many)
    assert router.decide("which invoice w4010 w512 w2031 w377?").retrieve
    assert not router.decide("which river w4010 w512 w2031 w377?").retrieve
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < MOST_MEMORY
