"""W2R's rates and SKR's beneficial guidance on examples worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.errors import InputError
from skr_lab.metrics.certainty import CertaintyScores
from skr_learn.metrics.routing import beneficial_guidance


def test_rates_of_table_1():
    # N_cc = 4, N_cu = 1, N_ic = 3, N_iu = 2.
    certain = [True] * 4 + [False] + [True] * 3 + [False] * 2
    right = [True] * 5 + [False] * 5
    scores = CertaintyScores.of(certain, right)
    assert scores == CertaintyScores(4, 1, 3, 2)
    assert scores.n == 10
    assert scores.accuracy == 0.5
    assert scores.unc_rate == scores.ra_rate == 0.3
    assert scores.overconfidence == 0.3
    assert scores.conservativeness == 0.1
    assert scores.alignment == 0.6


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_alignment_is_what_the_two_faults_leave(pairs: list[tuple[bool, bool]]):
    scores = CertaintyScores.of(*zip(*pairs, strict=True))
    assert scores.alignment == pytest.approx(1 - scores.overconfidence - scores.conservativeness)
    assert scores.n == len(pairs)


def test_of_nothing_every_rate_is_zero():
    scores = CertaintyScores.of([], [])
    assert (scores.accuracy, scores.alignment, scores.unc_rate) == (0.0, 0.0, 0.0)


def test_lengths_must_agree():
    with pytest.raises(InputError):
        CertaintyScores.of([True], [])
    with pytest.raises(InputError):
        beneficial_guidance(np.zeros(0), [True])


@pytest.mark.parametrize(
    ("scores", "retrieve", "share"),
    [
        ([(0, 1), (1, 0), (1, 1), (0, 0)], [True, False, True, False], 1.0),
        ([(0, 1), (1, 0), (1, 1), (0, 0)], [False, True, False, False], 0.0),
        ([(0, 1), (0, 1), (1, 0), (1, 0)], [True, True, True, False], 0.75),
        ([(0.5, 0.75)], [True], 1.0),
        ([(1, 1), (0, 0)], [True, False], 0.5),
        ([], [], 0.5),
    ],
)
def test_guidance_counts_where_the_answers_differ(
    scores: list[tuple[float, float]], retrieve: list[bool], share: float
):
    benefit = np.array([after - before for before, after in scores], dtype=np.float64)
    assert beneficial_guidance(benefit, retrieve) == share
