"""Summaries: one verdict with counts, in words that the figures bear out."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skr_learn.aims import Served
from skr_learn.costs import ActionTable
from skr_learn.summary import Summary, what_is_broken

ACTIONS = ("direct", "single", "loop")


def table_of(seed: int, n: int, costs: tuple[float, ...], unit: str = "tokens") -> ActionTable:
    draws = np.random.default_rng(seed)
    scores = (draws.random((n, 3)) < draws.random(3)).astype(float)
    return ActionTable(ACTIONS, scores, np.tile(costs, (n, 1)), np.ones((n, 3)), unit)


COSTS = st.tuples(st.sampled_from([0.0, 0.1, 1.0]), st.floats(0.1, 2), st.floats(2, 60))


@settings(max_examples=60)
@given(st.integers(0, 999), st.integers(10, 150), COSTS, st.booleans(), st.booleans())
def test_the_verdict_says_what_the_figures_say(
    seed: int, n: int, costs: tuple[float, ...], streams: bool, pays: bool
):
    table = table_of(seed, n, costs)
    taken = np.random.default_rng(seed + 1).integers(0, 3, n)
    summary = Summary.of("ladder", Served.of(table, taken), table, streams=streams, pays=pays)
    verdict = summary.verdict
    right, before = re.findall(r"(\d+) of \d+ right instead of (\d+)", verdict)[0]
    assert int(right) == round(table.scores[np.arange(n), taken].sum())
    assert int(before) == round(table.scores.mean(axis=0).max() * n)
    low, high = map(int, re.findall(r"likely ([+-]\d+) to ([+-]\d+)", verdict)[0])
    assert low <= int(right) - int(before) <= high
    spent, usual = summary.promised.cost.mean, summary.constants[summary.baseline].cost.mean
    assert ("fewer tokens" in verdict) <= (spent < usual)
    assert ("more tokens" in verdict or "times as much" in verdict) <= (spent > usual)
    assert ("answers still stream" in verdict) is streams
    assert verdict.startswith("Routing does not pay") is not pays
    assert sum(summary.shares.values()) == pytest.approx(1.0)
    assert str(summary).startswith(verdict)


@given(st.integers(0, 999), st.sampled_from(ACTIONS))
def test_a_constant_is_named_as_what_it_is(seed: int, action: str):
    table = table_of(seed, 40, (0.0, 1.0, 3.0))
    column = ACTIONS.index(action)
    served = Served.of(table, np.full(40, column))
    summary = Summary.of(f"always {action}", served, table, streams=True, constant=action)
    assert summary.state == "does not pay"
    words = {"direct": "answer every", "single": "retrieve once", "loop": "run the loop"}
    assert [word for word in words.values() if word in summary.verdict] == [words[action]]
    assert f"gets {round(table.scores[:, column].sum())} of 40 right" in summary.verdict
    assert ("more than is aimed at" in summary.verdict) is (summary.baseline != action)


def test_what_costs_many_times_as_much_is_told_as_a_multiple():
    table = table_of(0, 100, (0.1, 4.6, 9.0))
    table.scores[:] = 0
    table.scores[:, 0] = np.arange(100) < 60
    table.scores[:, 1] = np.arange(100) >= 60
    taken = np.where(np.arange(100) < 60, 0, 1)
    summary = Summary.of("question", Served.of(table, taken), table, streams=True)
    assert "100 of 100 right instead of 60 with never retrieving" in summary.verdict
    assert "and costs 19 times as much, for +40.0 points" in summary.verdict


@pytest.mark.parametrize("unit", ["retrievals", "calls", "tokens", "usd", "cost"])
def test_every_unit_has_its_words(unit: str):
    table = table_of(1, 100, (1.0, 1.5, 1.8), unit)
    for column in range(3):
        taken = np.where(np.arange(100) < 50, column, 0)
        summary = Summary.of("question", Served.of(table, taken), table, streams=True)
        assert "calls a question" in summary.verdict
        counted = "thousand tokens" if unit == "tokens" else unit
        assert f"(cost in {counted})" in str(summary)


class TestBroken:
    answers = [["Ada", "Ben", "Eve"]] * 20

    def test_what_can_be_learnt_from_is_not(self):
        assert what_is_broken(table_of(0, 20, (0.0, 1.0, 3.0)), self.answers) == ""

    def test_a_few_long_answers_are_none(self):
        some = [["word " * 1_000, "Ben", "Eve"], *self.answers[1:]]
        assert what_is_broken(table_of(0, 20, (0.0, 1.0, 3.0)), some) == ""

    def test_refusing_where_others_answer_is_none(self):
        some = [["I do not know.", "Ben", "Eve"]] * 20
        assert what_is_broken(table_of(0, 20, (0.0, 1.0, 3.0)), some) == ""


def test_it_tells_how_often_the_surest_answers_are_right():
    table, taken = table_of(0, 100, (0.0, 1.0, 3.0)), np.zeros(100, dtype=np.int64)
    chances = np.where(table.scores[:, 0] > 0, 0.9, 0.1)
    served = Served.of(table, taken, taken, chances)
    told = Summary.of("ladder", served, table, streams=False).sentences[-1]
    right = table.scores[:, 0].mean()
    assert told.startswith("Each answer has a chance, off by 9 points in the mean: the surest half")
    assert f"the surest quarter in {min(1.0, right / 0.25):.0%}" in told
    assert "chance" not in str(Summary.of("ladder", Served.of(table, taken), table, streams=False))
