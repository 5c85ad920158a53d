"""What the report takes: what calibrations and replays really print, results, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from skr_app.report.page import report_page
from skr_app.report.reading import read_section
from skr_app.report.sections import Section
from skr_core.errors import DataError, InputError
from skr_core.plain import to_plain
from skr_learn.calibration import calibrate, replay
from tests.skr_learn.routers.facts import KNOWN, UNKNOWN, known, records, unknown

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture
def read(tmp_path: Path):
    def written(data: Any) -> Section:
        path = tmp_path / "found.json"
        path.write_bytes(orjson.dumps(data))
        return read_section(path)

    return written


def titles(section: Section) -> list[str]:
    return [block.title for block in section.blocks]


def test_a_calibration(read):
    curve = calibrate(records(), routers=["paper", "benefit"]).curve
    gain = {"mean": 0.05, "low": 0.01, "high": 0.09, "n": 40}
    arbiter = {"sentence": "An arbiter pays.", "gain": gain}
    section = read({"sentence": curve.sentence, **to_plain(curve), "arbiter": arbiter})
    assert section.findings[0] == curve.sentence
    assert section.findings[-1] == "An arbiter pays."
    assert titles(section)[0] == f"Accuracy against cost, n {curve.chosen.n}"
    page = report_page([section])
    assert "+5.0 points (+1.0 to +9.0), n 40" in page
    best = curve.against_constant
    assert f"{100 * best.mean:+.1f} points" in page
    for router in ("paper", "benefit"):
        assert f">{router}<" in page


def test_a_replay_with_groups(read):
    asked = [known(each, dataset="rivers") for each in KNOWN[:25]]
    asked += [unknown(each, dataset="firms") for each in UNKNOWN[:25]]
    routers = ["always", "never", "paper", "arbiter"]
    found = replay(asked, routers=routers, by="extra.dataset")
    section = read(found.row())
    paper = found.overall.routers["paper"]
    assert section.findings[0].startswith("The router paper answers 100.0 % of")
    assert section.findings[1].startswith("An arbiter answers")
    assert f"{-100 * paper.regret.mean:+.1f} points" in section.findings[0]
    assert "Accuracy gained against the better constant policy, paired" in titles(section)
    assert "All figures: rivers" in titles(section)
    page = report_page([section])
    assert f"n {found.overall.n}" in page
    assert "oracle" in page


def test_a_replay_of_three_actions_says_what_was_assumed(read):
    group = replay(records(), routers=["always", "paper"]).row()
    section = read({**group, "budget": 2.0, "assumed_multistep_steps": 3.35})
    assert section.settings["budget"] == "2 retrievals a question"
    assert "3.35 are assumed" in section.notes[0]


CELL = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 90}


@pytest.mark.parametrize("wrap", [lambda each: each, lambda each: {"n": 2, "result": each}])
def test_a_result_of_ones_own(read, wrap):
    rows = [{"name": f"{n} references", "cells": {"recall": CELL}, "at": n} for n in (2, 5, 10)]
    section = read(wrap({"title": "what does noise cost?", "rows": rows, "over": "references"}))
    assert section.title == "What does noise cost?"
    assert section.findings == [
        "Recall goes from 0.500 (0.400 to 0.600) at 2 references to 0.500 (0.400 to 0.600) at 10, "
        "n 90."
    ]


@pytest.mark.parametrize(
    "data",
    [[], {}, {"rows": 7}, {"rows": [{"name": "a"}]}, {"costs": [], "constants": {}},
     {"overall": {"routers": {"a": {}}, "n": 1}, "groups": {}}, {"overall": {"routers": {}}}],
)  # fmt: skip
def test_what_is_no_result(read, data):
    with pytest.raises(DataError, match="no result"):
        read(data)


def test_files_that_cannot_be_read(tmp_path: Path):
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        read_section(tmp_path / "broken.json")
    with pytest.raises(InputError, match="there is no file"):
        read_section(tmp_path / "missing.json")
    with pytest.raises(InputError, match="no result"):
        read_section(tmp_path)
