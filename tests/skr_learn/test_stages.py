"""Stages: chances that mean what they say, and how far each question goes at a weight of cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skr_learn.candidates import Training
from skr_learn.costs import ActionTable
from skr_learn.stages import STEEPEST, Outlook, Stage, likeliest, logistic_map
from tests.skr_learn.made import WORLDS, made

pytestmark = pytest.mark.usefixtures("few_trees")

COSTS = np.array([0.0, 1.0, 3.0])


def outlook(*gains: list[list[float]], answers: int = 1) -> Outlook:
    chances = [np.full((len(gains[0]), stage + 1), 0.5) for stage in range(3)]
    return Outlook([np.array(each) for each in gains], chances, COSTS, answers)


def test_a_question_goes_from_stage_to_stage_while_more_is_worth_its_cost():
    found = outlook([[0.0, -0.1], [0.3, 0.2], [0.1, 0.9]], [[0.9], [0.1], [0.9]])
    assert found.ends(0.0).tolist() == [0, 2, 2]
    assert found.ends(0.1).tolist() == [0, 1, 2]
    assert found.ends(0.5).tolist() == [0, 0, 0]


def test_from_the_question_alone_it_goes_straight_to_the_best():
    found = outlook([[0.0, -0.1], [0.3, 0.2], [0.1, 0.9]], answers=0)
    assert found.ends(0.0).tolist() == [0, 1, 2]
    assert found.ends(0.35).tolist() == [0, 0, 0]


def test_what_is_served_is_the_last_or_the_likeliest_of_those_at_hand():
    found = Outlook(
        [np.zeros((3, 2)), np.zeros((3, 1))],
        [np.ones((3, 1)), np.array([[0.9, 0.1]] * 3), np.array([[0.1, 0.9, 0.2]] * 3)],
        COSTS,
    )
    ends = np.array([0, 1, 2])
    assert found.served(ends, "last").tolist() == [0, 1, 2]
    assert found.served(ends, "likeliest").tolist() == [0, 0, 1]


@given(st.lists(st.tuples(*[st.floats(-1, 1)] * 3), min_size=1, max_size=30))
def test_a_higher_weight_goes_no_further(rows: list[tuple[float, float, float]]):
    found = outlook([[a, b] for a, b, _ in rows], [[c] for *_, c in rows])
    weights = found.weights(10_000)
    assert weights[0] == 0
    ends = [found.ends(float(weight)).sum() for weight in weights]
    assert ends == sorted(ends, reverse=True)
    assert (found.ends(float(weights[-1])) == 0).all()


def test_of_equally_likely_answers_the_dearest_is_served():
    assert likeliest(np.array([[0.5, 0.5, 0.2], [0.2, 0.2, 0.2]])).tolist() == [1, 2]


class TestChances:
    @settings(max_examples=30)
    @given(st.lists(st.floats(-2, 2), min_size=2, max_size=40), st.integers(0, 99))
    def test_the_map_keeps_the_order_and_stays_within_its_steepness(
        self, expected: list[float], seed: int
    ):
        right = np.random.default_rng(seed).random(len(expected))
        slope, intercept = logistic_map(np.array(expected), right)
        assert 0 < slope <= STEEPEST
        chances = Stage(None, None, slope, intercept).as_chances(np.sort(expected))
        assert (np.diff(chances) >= 0).all()
        assert ((chances >= 0) & (chances <= 1)).all()

    @pytest.mark.parametrize(("score", "chance"), [(0.0, 0.018), (1.0, 0.982)])
    def test_where_all_are_alike_they_stay_short_of_certainty(self, score: float, chance: float):
        slope, intercept = logistic_map(np.linspace(0, 1, 20), np.full(20, score))
        found = Stage(None, None, slope, intercept).as_chances(np.array([0.0, 1.0]))
        assert found == pytest.approx([chance] * 2, abs=0.001)

    def test_they_do_not_overflow(self):
        found = Stage(None, None, 12.0, 0.0).as_chances(np.array([-1e6, 1e6, 1e300]))
        assert np.isfinite(found).all()

    def test_on_records_not_seen_they_are_as_often_right_as_they_say(self):
        records = made(WORLDS["words"], 300, actions=3)
        training = Training(records, ActionTable.of(records))
        _, found = training.stages("answers", "likeliest")
        chances, right = found.chances[2], training.table.scores
        assert chances.mean(axis=0) == pytest.approx(right.mean(axis=0), abs=0.05)
        likely = chances > 0.5
        assert right[likely].mean() == pytest.approx(chances[likely].mean(), abs=0.07)
        assert right[~likely].mean() == pytest.approx(chances[~likely].mean(), abs=0.07)

    def test_of_noise_nothing_is_expected(self):
        records = made(WORLDS["noise"], 300, telling=False)
        training = Training(records, ActionTable.of(records))
        for looks in ("question", "answers"):
            _, found = training.stages(looks, "last")
            gained = training.table.scores[:, 1] - training.table.scores[:, 0]
            assert abs(np.corrcoef(found.gains[0][:, 0], gained)[0, 1]) < 0.2
