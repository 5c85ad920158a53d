"""Guidance: the share sent the right way (SKR Figure 4), and right when known (SKR Table 2)."""

from __future__ import annotations

import numpy as np
import pytest

from skr_learn import SelfKnowledge, calibrate, read_self_knowledge, replay
from skr_learn.calibration.guidance import Guidance
from tests.skr_learn.routers.facts import records


def test_only_questions_on_which_the_answers_differ_count():
    scores = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    found = Guidance.of(scores, np.array([False, True, False, False, True])).row()
    assert found["beneficial_guidance"] == pytest.approx(2 / 3)
    assert found["beneficial_guidance_n"] == 3
    assert found["accuracy_when_known"] == pytest.approx(2 / 3)
    assert found["accuracy_when_known_n"] == 3
    low, high = found["accuracy_when_known_ci"]
    assert 0 <= low < 2 / 3 < high <= 1


def test_nothing_known_has_no_accuracy():
    found = Guidance.of(np.array([[1.0, 0.0]]), np.array([True])).row()
    assert found["accuracy_when_known"] is None
    assert found["accuracy_when_known_ci"] is None
    assert found["beneficial_guidance"] == 0.0


def test_several_runs_are_averaged():
    scores = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = Guidance.of(scores, np.array([[False, True], [True, True]]))
    assert found.beneficial_guidance.mean == 0.75
    assert found.accuracy_when_known.mean == 1.0


def test_replay_and_calibrate_say_it_of_every_router():
    known = records(20)
    routers = replay(known, routers=["always", "never", "paper"]).overall.row()["routers"]
    assert routers["always"]["beneficial_guidance"] == 0.5
    assert routers["always"]["accuracy_when_known"] is None
    assert routers["never"]["accuracy_when_known"] == 0.5
    assert routers["paper"]["beneficial_guidance"] == 1.0
    curve = calibrate(known, routers=["paper", "benefit"], arbiter=False).curve
    assert list(curve.guidance) == ["paper", "benefit"]
    assert curve.guidance["paper"].beneficial_guidance.mean == 1.0


def test_replay_groups_questions_by_their_type():
    typed = [
        SelfKnowledge.of(f"{kind} {n}?", direct=("", 1), single=("", 0), extra={"type": kind})
        for kind in ("Implicit", "Ordinal")
        for n in range(6)
    ]
    assert set(replay(typed, routers=["never"], by="type").groups) == {"Implicit", "Ordinal"}


@pytest.mark.data
def test_on_the_recording_of_temporal_questions(data_dir):
    recorded = read_self_knowledge(data_dir / "skr_temporalqa_instructgpt.jsonl.gz")
    found = replay(recorded, routers=["always", "paper"], by="type")
    assert {name: group.n for name, group in found.groups.items()} == {
        "Implicit": 173,
        "Explicit, Implicit": 1,
        "Implicit, Ordinal": 1,
    }
    always = found.overall.routers["always"].guidance.beneficial_guidance
    assert (always.n, always.mean) == (39, pytest.approx(22 / 39))
