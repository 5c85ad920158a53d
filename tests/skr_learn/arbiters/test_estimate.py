"""What two regressions say together of an answer, and how far it is believed."""

from __future__ import annotations

import numpy as np
import pytest

from skr_core import CandidateAnswer, HashingEmbedder
from skr_learn.arbiters import Seen
from skr_learn.arbiters.estimate import ALIKE, BELIEVED, OF_NOVEL, Estimate
from skr_learn.arbiters.views import Views
from tests.skr_learn.arbiters.test_arbiter import records

ACTIONS = ("direct", "single")


@pytest.fixture(scope="module")
def known() -> tuple[Views, np.ndarray]:
    given = records(40)
    views = Views.of([Seen.in_record(each, ACTIONS) for each in given], ACTIONS, HashingEmbedder())
    scores = np.array([[each.outcomes[action].score for action in ACTIONS] for each in given])
    return views, scores


def test_little_is_believed_of_what_is_unlike_all_on_record(known):
    views, scores = known
    estimate = Estimate.fit(views, scores)
    said = {"direct": CandidateAnswer("Ein Vertrag."), "single": CandidateAnswer("Ein Haus.")}
    strange = Seen("Welches Wort steht in § 433 BGB, und warum so spät?", said)
    seen = Views.of([strange], ACTIONS, HashingEmbedder())
    assert estimate.novelty.novel(seen.signals).tolist() == [True]
    read = [estimate.trees.predict(rows)[0] for rows in seen.rows]
    learnt = (estimate.ridge.predict(seen.signals)[0] + read) / 2 - 0.5
    assert np.allclose(estimate.chances(seen)[0] - 0.5, OF_NOVEL * learnt)
    assert 0 < OF_NOVEL < BELIEVED < 1


def test_estimates_are_drawn_towards_the_averages(known):
    views, scores = known
    found = Estimate.fit(views, scores).chances(views)
    assert found[:40, 0].min() > 0.5 > found[40:, 0].max()
    assert np.abs(found - scores.mean(axis=0)).max() <= 1.1 * BELIEVED / 2


def test_records_whose_answers_are_worth_the_same_count_less(known):
    """Half the sums are answered right both ways, so that being right says nothing by itself."""
    views, scores = known
    alike = scores.copy()
    alike[:20] = 1.0
    start = Estimate.fit(views, alike).trees.start
    plain = alike.mean()
    assert start == pytest.approx((20 * 2 * ALIKE + 60) / (2 * (20 * ALIKE + 60)))
    assert start < plain
