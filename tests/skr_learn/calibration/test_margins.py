"""Arbiters that look at likelihoods, on records."""

from __future__ import annotations

import pytest

from skr_core.errors import InputError
from skr_learn import calibrate, replay
from tests.skr_learn.arbiters.test_margins import records


def test_replay_judges_the_rule_and_what_an_arbiter_makes_of_them():
    found = replay(records(), routers=["always", "arbiter", "margins"]).row()["overall"]["routers"]
    assert found["margins"]["accuracy"] == 1.0
    assert found["arbiter"]["accuracy"] > 0.9
    always = found["always"]["accuracy"]
    assert found["margins"]["gain_over_always"] == pytest.approx(1 - always)
    blind = replay(records(margins=False), routers=["arbiter"]).row()["overall"]["routers"]
    assert blind["arbiter"]["accuracy"] < 0.7


def test_what_was_judged_on_other_records_is_too():
    told = records()
    found = replay(told[:80], told[80:], routers=["arbiter", "margins"]).row()["overall"]["routers"]
    assert found["margins"]["accuracy"] == 1.0
    assert found["arbiter"]["accuracy"] > 0.9


def test_records_without_them_are_told():
    with pytest.raises(InputError, match="no record has likelihoods: collect them with --likel"):
        replay(records(margins=False), routers=["margins"])


def test_calibration_keeps_an_arbiter_that_asks_for_them():
    found = calibrate(records(), routers=["combined-question"])
    assert found.arbitration is not None
    assert found.arbitration.pays
    assert found.arbiter is not None
    assert found.arbiter.needs_likelihoods
